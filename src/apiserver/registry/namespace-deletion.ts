/** A namespace is not deleted but terminated: it stays, as Terminating, until its contents are gone and its finalizers with them. */
import type { V1Namespace } from '#api/core/v1/types.gen.ts'
import { deepCopy } from '#api/meta/deep-copy.ts'
import { conflict } from '#api/meta/status-error.ts'
import { formatTime } from '#api/meta/time.ts'
import type { V1DeleteOptions } from '#api/meta/v1/types.gen.ts'
import type { RegistryHooks } from '#apiserver/registry/registry-hooks.ts'

export const namespaceHooks: RegistryHooks = {
  insteadOfDelete(object, options, nowMs) {
    const { preconditions } = options
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
      const finalizers = finalizersOf(namespace, options)
      next.metadata = { ...next.metadata, deletionTimestamp: formatTime(nowMs), ...(finalizers.length > 0 ? { finalizers } : {}) }
      if (finalizers.length === 0) delete next.metadata.finalizers
      next.status = { ...next.status, phase: 'Terminating' }
      return next
    }
    return hasFinalizers(namespace) ? object : undefined
  },
  mayDeleteOnUpdate: (next) => !hasFinalizers(next as V1Namespace),
}

/** With the mark for orphaning the contents where that is asked for. */
function finalizersOf({ metadata }: V1Namespace, { orphanDependents, propagationPolicy }: V1DeleteOptions): string[] {
  const current = metadata?.finalizers ?? []
  const orphans = orphanDependents ?? (propagationPolicy === undefined ? current.includes('orphan') : propagationPolicy === 'Orphan')
  return [...current.filter((each) => each !== 'orphan'), ...(orphans ? ['orphan'] : [])]
}

/** Of its spec, beside those every object may have. */
function hasFinalizers({ spec }: V1Namespace): boolean {
  return (spec?.finalizers ?? []).length > 0
}
