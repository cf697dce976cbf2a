/** A namespace is not deleted but terminated: it stays, as Terminating, until its contents are gone and its finalizers with them. */

import type { V1Namespace } from '#api/core/v1/types.gen.ts'
import { deepCopy } from '#api/meta/deep-copy.ts'
import { formatTime } from '#api/meta/time.ts'
import type { V1DeleteOptions } from '#api/meta/v1/types.gen.ts'
import { checkDeletePreconditions } from '#apiserver/registry/delete-preconditions.ts'
import type { RegistryHooks } from '#apiserver/registry/registry-hooks.ts'
import { omitEmpty } from '#base/omit-empty.ts'

export const namespaceHooks: RegistryHooks<V1Namespace> = {
  insteadOfDelete(namespace, options, nowMs) {
    checkDeletePreconditions({ group: '', resource: 'namespaces' }, namespace, options)
    if (namespace.metadata?.deletionTimestamp === undefined) {
      const next = deepCopy(namespace)
      const finalizers = finalizersOf(namespace, options)
      next.metadata = { ...next.metadata, deletionTimestamp: formatTime(nowMs), ...omitEmpty({ finalizers }) }
      if (finalizers.length === 0) delete next.metadata.finalizers
      next.status = { ...next.status, phase: 'Terminating' }
      return next
    }
    return hasFinalizers(namespace) ? namespace : undefined
  },
  mayDeleteOnUpdate: (next) => !hasFinalizers(next),
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
