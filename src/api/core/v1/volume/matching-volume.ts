/** Which volume a claim may have: the same rules for the binder, and for the scheduler that chooses the node as well. */

import { nodeSelectorMatcher } from '#api/core/v1/node/node-selector.ts'
import { storageClassAnnotation } from '#api/core/v1/persistent-volume-claim/storage-class-annotation.ts'
import type { V1Node, V1ObjectReference, V1PersistentVolume, V1PersistentVolumeClaim } from '#api/core/v1/types.gen.ts'
import { boundByController } from '#api/core/v1/volume/volume-annotations.ts'
import { wholeValueOf } from '#api/meta/quantity.ts'
import { labelSelectorFrom } from '#api/meta/selector.ts'
import { defined } from '#base/defined.ts'

export function isReachableFrom(volume: V1PersistentVolume, node: V1Node): boolean {
  const required = volume.spec?.nodeAffinity?.required
  return !required || nodeSelectorMatcher(required)(node)
}

export const sizeOf = ({ spec }: V1PersistentVolumeClaim): number => wholeValueOf(spec?.resources?.requests?.['storage'])

export const capacityOf = ({ spec }: V1PersistentVolume): number => wholeValueOf(spec?.capacity?.['storage'])

/** Of claims, volumes alike: the annotation of old goes before the field. */
export const classNameOf = ({ metadata, spec }: V1PersistentVolumeClaim | V1PersistentVolume): string =>
  metadata?.annotations?.[storageClassAnnotation] ?? spec?.storageClassName ?? ''

/** The volume names the claim, and no other of that name. */
export function isBoundTo({ spec }: V1PersistentVolume, { metadata }: V1PersistentVolumeClaim): boolean {
  const ref = spec?.claimRef
  return ref?.name === metadata?.name && ref?.namespace === metadata?.namespace && (!ref?.uid || ref.uid === metadata?.uid)
}

export const hasSameMode = (volume: V1PersistentVolume, claim: V1PersistentVolumeClaim): boolean =>
  (volume.spec?.volumeMode ?? 'Filesystem') === (claim.spec?.volumeMode ?? 'Filesystem')

export const hasSameAttributes = (volume: V1PersistentVolume, claim: V1PersistentVolumeClaim): boolean =>
  (volume.spec?.volumeAttributesClassName ?? '') === (claim.spec?.volumeAttributesClassName ?? '')

export const allowsAccess = (volume: V1PersistentVolume, claim: V1PersistentVolumeClaim): boolean =>
  (claim.spec?.accessModes ?? []).every((mode) => volume.spec?.accessModes?.includes(mode))

export type MatchOptions = {
  /** Volumes must be reachable from it. */
  readonly node?: V1Node
  /** Names of volumes that others have been promised. */
  readonly taken?: ReadonlySet<string>
  /** Only what was made or reserved for the claim counts: the rest is for the scheduler to choose. */
  readonly reservedOnly?: boolean
}

/** One that was reserved for the claim, else the smallest that is large enough. Nothing when the reserved one is out of reach. */
export function matchingVolume(
  claim: V1PersistentVolumeClaim,
  volumes: Iterable<V1PersistentVolume>,
  { node, taken, reservedOnly = false }: MatchOptions = {},
): V1PersistentVolume | undefined {
  const wanted = sizeOf(claim)
  const className = classNameOf(claim)
  const selector = claim.spec?.selector ? labelSelectorFrom(claim.spec.selector) : undefined
  let smallest: V1PersistentVolume | undefined
  for (const volume of volumes) {
    const { metadata, spec, status } = volume
    const isReserved = Boolean(spec?.claimRef)
    if (taken?.has(metadata?.name ?? '') || metadata?.deletionTimestamp) continue
    if (isReserved && !isBoundTo(volume, claim)) continue
    if (capacityOf(volume) < wanted || !hasSameMode(volume, claim) || !hasSameAttributes(volume, claim)) continue
    const isReachable = node === undefined || isReachableFrom(volume, node)
    if (isReserved) return isReachable ? volume : undefined
    if (reservedOnly || !isReachable || status?.phase !== 'Available' || classNameOf(volume) !== className) continue
    if (selector !== undefined && !selector.matches(metadata?.labels)) continue
    if (!allowsAccess(volume, claim)) continue
    if (smallest === undefined || capacityOf(volume) < capacityOf(smallest)) smallest = volume
  }
  return smallest
}

export const referenceToClaim = ({ metadata }: V1PersistentVolumeClaim): V1ObjectReference => ({
  kind: 'PersistentVolumeClaim',
  apiVersion: 'v1',
  ...defined({
    namespace: metadata?.namespace,
    name: metadata?.name,
    uid: metadata?.uid,
    resourceVersion: metadata?.resourceVersion,
  }),
})

/** The volume, promised to the claim; the same volume where it names the claim already. */
export function boundTo(volume: V1PersistentVolume, claim: V1PersistentVolumeClaim): V1PersistentVolume {
  const isNamed = volume.spec?.claimRef?.uid === claim.metadata.uid && isBoundTo(volume, claim)
  const isMarked = isBoundTo(volume, claim) || volume.metadata.annotations?.[boundByController] !== undefined
  if (isNamed && isMarked) return volume
  const annotations = isMarked ? volume.metadata.annotations : { ...volume.metadata.annotations, [boundByController]: 'yes' }
  return {
    ...volume,
    metadata: { ...volume.metadata, ...defined({ annotations }) },
    spec: { ...volume.spec, ...defined({ claimRef: isNamed ? undefined : referenceToClaim(claim) }) },
  }
}
