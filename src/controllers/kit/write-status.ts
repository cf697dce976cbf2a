import type { Kind } from '#api/kind.ts'
import { equalityOf } from '#api/meta/equality.ts'
import type { KubernetesObject } from '#api/resource.ts'
import type { Client } from '#client/client.ts'

/**
 * Writes the whole status, unless it is there already: a controller that writes nothing new is not woken by its own write.
 * A Conflict where the object has changed meanwhile; the next look sees it.
 */
export async function writeStatus<T extends KubernetesObject & { status?: unknown }>(
  client: Client,
  kind: Kind<T>,
  object: T,
  status: NonNullable<T['status']>,
): Promise<T> {
  const same: (one: unknown, other: unknown) => boolean = equalityOf<KubernetesObject & { status?: unknown }>(kind).at('status')
  if (same(object.status, status)) return object
  return client.updateStatus(kind, { ...object, status })
}
