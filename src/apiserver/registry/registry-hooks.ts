/** What single resources do beside storing their objects. */
import type { V1DeleteOptions } from '#api/meta/v1/types.gen.ts'
import type { KubernetesObject } from '#api/resource.ts'
import { namespaceHooks } from '#apiserver/registry/namespace-deletion.ts'
import type { Finish, WriteContext } from '#apiserver/registry/write-context.ts'

/** What a resource does beside storing its objects: services take addresses, for instance. */
export type RegistryHooks<T extends KubernetesObject = KubernetesObject> = {
  /** Runs before the rules; the returned function learns whether the object was written. */
  beginCreate?(object: T, context: WriteContext): Promise<Finish | undefined>
  beginUpdate?(next: T, prev: T, context: WriteContext): Promise<Finish | undefined>
  /** Runs once the rules have found nothing wrong; throws to refuse. `prev` is undefined on create. */
  afterRules?(next: T, prev: T | undefined, context: WriteContext): Promise<void> | undefined
  /** What a delete makes of the object instead of deleting it (the same object: nothing); undefined lets the delete go on. */
  insteadOfDelete?(object: T, options: V1DeleteOptions, nowMs: number): T | undefined
  afterDelete?(object: T, context: WriteContext): Promise<void>
  /** Whether an update that leaves no finalizer on a deleted object may end it: namespaces have a second list. */
  mayDeleteOnUpdate?(next: T): boolean
  /** Adds what is not stored to what is read. */
  decorate?(object: T): void
}

/** By `group/plural`. */
export function registryHooks(services: RegistryHooks): ReadonlyMap<string, RegistryHooks> {
  return new Map<string, RegistryHooks>([
    ['/services', services],
    ['/namespaces', namespaceHooks],
  ])
}
