/** What a claim's volume is filled with: an old field that knows two kinds of sources, and a newer one that knows all. */
import type { V1PersistentVolumeClaimSpec } from '#api/core/v1/types.gen.ts'
import type { RuleContext } from '#api/resource.ts'

export function dropDisabledClaimFields(
  spec: V1PersistentVolumeClaimSpec,
  prev: V1PersistentVolumeClaimSpec | undefined,
  { isEnabled }: Pick<RuleContext, 'isEnabled'>,
): void {
  if (spec.dataSourceRef?.namespace && !prev?.dataSourceRef && !isEnabled('CrossNamespaceVolumeDataSource')) delete spec.dataSourceRef
}

/** Alone, the old field takes only what it always took; anything else was ignored once, and still is. */
export function keepKnownDataSources(spec: V1PersistentVolumeClaimSpec, prev: V1PersistentVolumeClaimSpec | undefined): void {
  if (spec.dataSource === undefined || spec.dataSourceRef || prev?.dataSource || prev?.dataSourceRef) return
  const { kind } = spec.dataSource
  const group = spec.dataSource.apiGroup ?? ''
  const isClaim = kind === 'PersistentVolumeClaim' && group === ''
  const isSnapshot = kind === 'VolumeSnapshot' && group === 'snapshot.storage.k8s.io'
  if (!isClaim && !isSnapshot) delete spec.dataSource
}

/** Each of the two fields is filled in from the other. */
export function mirrorDataSources(spec: V1PersistentVolumeClaimSpec): void {
  const { dataSource, dataSourceRef } = spec
  if (dataSource && !dataSourceRef) spec.dataSourceRef = { ...dataSource }
  else if (dataSourceRef && !dataSource && !dataSourceRef.namespace) {
    const { namespace: _, ...local } = dataSourceRef
    spec.dataSource = local
  }
}
