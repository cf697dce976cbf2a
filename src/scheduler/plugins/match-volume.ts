/** Which volume a claim gets when it may be chosen together with the node. */

import { nodeSelectorMatcher } from '#api/core/v1/node/node-selector.ts'
import type { V1Node, V1PersistentVolume, V1PersistentVolumeClaim } from '#api/core/v1/types.gen.ts'
import { wholeValueOf } from '#api/meta/quantity.ts'
import { labelSelectorFrom } from '#api/meta/selector.ts'
import { classNameOf } from '#scheduler/plugins/pod-claims.ts'

export function isReachableFrom(volume: V1PersistentVolume, node: V1Node): boolean {
  const required = volume.spec?.nodeAffinity?.required
  return !required || nodeSelectorMatcher(required)(node)
}

export const sizeOf = ({ spec }: V1PersistentVolumeClaim): number => wholeValueOf(spec?.resources?.requests?.['storage'])

const capacityOf = ({ spec }: V1PersistentVolume): number => wholeValueOf(spec?.capacity?.['storage'])

const isReservedFor = ({ spec }: V1PersistentVolume, { metadata }: V1PersistentVolumeClaim): boolean => {
  const ref = spec?.claimRef
  return ref?.name === metadata?.name && ref?.namespace === metadata?.namespace && (!ref?.uid || ref.uid === metadata?.uid)
}

/** One that was reserved for the claim, else the smallest that is large enough. */
export function matchingVolume(
  claim: V1PersistentVolumeClaim,
  volumes: Iterable<V1PersistentVolume>,
  node: V1Node,
  taken: ReadonlySet<string>,
): V1PersistentVolume | undefined {
  const wanted = sizeOf(claim)
  const className = classNameOf(claim)
  const selector = claim.spec?.selector ? labelSelectorFrom(claim.spec.selector) : undefined
  let smallest: V1PersistentVolume | undefined
  for (const volume of volumes) {
    const { metadata, spec, status } = volume
    if (taken.has(metadata?.name ?? '') || metadata?.deletionTimestamp) continue
    if ((spec?.volumeMode ?? 'Filesystem') !== (claim.spec?.volumeMode ?? 'Filesystem') || !isReachableFrom(volume, node)) continue
    if (spec?.claimRef) {
      if (isReservedFor(volume, claim) && capacityOf(volume) >= wanted) return volume
      continue
    }
    if (status?.phase !== 'Available' || (spec?.storageClassName ?? '') !== className) continue
    if ((spec?.volumeAttributesClassName ?? '') !== (claim.spec?.volumeAttributesClassName ?? '')) continue
    if (selector !== undefined && !selector.matches(metadata?.labels)) continue
    if (!(claim.spec?.accessModes ?? []).every((mode) => spec?.accessModes?.includes(mode))) continue
    if (capacityOf(volume) >= wanted && (smallest === undefined || capacityOf(volume) < capacityOf(smallest))) smallest = volume
  }
  return smallest
}

/** The volume, promised to the claim. */
export function boundTo(volume: V1PersistentVolume, { metadata }: V1PersistentVolumeClaim): V1PersistentVolume {
  const annotations = { ...volume.metadata?.annotations }
  if (!volume.spec?.claimRef) annotations['pv.kubernetes.io/bound-by-controller'] = 'yes'
  const claimRef = {
    kind: 'PersistentVolumeClaim',
    apiVersion: 'v1',
    ...(metadata?.namespace ? { namespace: metadata.namespace } : {}),
    ...(metadata?.name ? { name: metadata.name } : {}),
    ...(metadata?.uid ? { uid: metadata.uid } : {}),
    ...(metadata?.resourceVersion ? { resourceVersion: metadata.resourceVersion } : {}),
  }
  return { ...volume, metadata: { ...volume.metadata, annotations }, spec: { ...volume.spec, claimRef } }
}
