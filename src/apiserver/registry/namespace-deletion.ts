/** A namespace is not deleted but terminated: it stays, as Terminating, until its contents are gone and its finalizers with them. */
import type { V1Namespace } from '#api/core/v1/types.gen.ts'
import { deepCopy } from '#api/meta/deep-copy.ts'
import { conflict } from '#api/meta/status-error.ts'
import { formatTime } from '#api/meta/time.ts'
import type { RegistryHooks } from '#apiserver/registry/resource-registry.ts'

export const namespaceHooks: RegistryHooks = {
  insteadOfDelete(object, { preconditions }, nowMs) {
    const namespace = object as V1Namespace
    const { name = '', uid, resourceVersion, deletionTimestamp } = namespace.metadata ?? {}
    const refuse = (what: string, asked: string, actual: string | undefined) =>
      conflict(
        { group: '', resource: 'namespaces' },
        name,
        `Precondition failed: ${what} in precondition: ${asked}, ${what} in object meta: ${actual}`,
      )
    if (preconditions?.uid && preconditions.uid !== uid) throw refuse('UID', preconditions.uid, uid)
    if (preconditions?.resourceVersion && preconditions.resourceVersion !== resourceVersion) {
      throw refuse('ResourceVersion', preconditions.resourceVersion, resourceVersion)
    }
    if (deletionTimestamp === undefined) {
      const next = deepCopy(namespace)
      next.metadata = { ...next.metadata, deletionTimestamp: formatTime(nowMs) }
      next.status = { ...next.status, phase: 'Terminating' }
      return next
    }
    return hasFinalizers(namespace) ? object : undefined
  },
  mayDeleteOnUpdate: (next) => !hasFinalizers(next as V1Namespace),
}

/** Of its spec, beside those every object may have. */
function hasFinalizers({ spec }: V1Namespace): boolean {
  return (spec?.finalizers ?? []).length > 0
}
