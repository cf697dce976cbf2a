import type { GroupResource } from '#api/meta/gvk.ts'
import { conflict } from '#api/meta/status-error.ts'
import type { V1DeleteOptions } from '#api/meta/v1/types.gen.ts'
import type { KubernetesObject } from '#api/resource.ts'

/** Throws a conflict where the object is not the one the deleter means; for kinds that are not simply deleted. */
export function checkDeletePreconditions(
  subject: GroupResource,
  { metadata = {} }: KubernetesObject,
  { preconditions }: V1DeleteOptions,
): void {
  const { name = '', uid, resourceVersion } = metadata
  const refuse = (what: string, asked: string, actual: string | undefined) =>
    conflict(subject, name, `Precondition failed: ${what} in precondition: ${asked}, ${what} in object meta: ${actual}`)
  if (preconditions?.uid && preconditions.uid !== uid) throw refuse('UID', preconditions.uid, uid)
  if (preconditions?.resourceVersion && preconditions.resourceVersion !== resourceVersion) {
    throw refuse('ResourceVersion', preconditions.resourceVersion, resourceVersion)
  }
}
