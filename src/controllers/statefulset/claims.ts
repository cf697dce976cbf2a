/** The volume claims of a stateful set's pods. */

import { StatefulSet } from '#api/apps/v1/kinds.gen.ts'
import type { V1StatefulSet } from '#api/apps/v1/types.gen.ts'
import { PersistentVolumeClaim, Pod } from '#api/core/v1/kinds.gen.ts'
import type { V1PersistentVolumeClaim, V1Pod } from '#api/core/v1/types.gen.ts'
import { controllerReference } from '#api/meta/owner-references.ts'
import { isAlreadyExists } from '#api/meta/server-response.ts'
import type { V1OwnerReference } from '#api/meta/v1/types.gen.ts'
import { errorMessage } from '#base/error-message.ts'
import type { ReconcileContext } from '#controllers/runtime/define-controller.ts'
import { claimsOf } from '#controllers/statefulset/identity.ts'
import { isDeleting } from '#controllers/workload/pods.ts'

/** Makes those that are missing. False when one is going away: its pod must wait for the next one of that name. */
export async function ensureClaims(
  set: V1StatefulSet,
  ordinal: number,
  pod: V1Pod | undefined,
  { cache, client, events }: ReconcileContext,
): Promise<boolean> {
  for (const claim of claimsOf(set, ordinal)) {
    const { namespace = '', name = '' } = claim.metadata
    const existing = cache.get(PersistentVolumeClaim, namespace, name)
    if (existing !== undefined) {
      if (isDeleting(existing) || isStale(existing, set, ordinal, pod?.metadata.uid)) return false
      continue
    }
    const reference = wantedOwner(set, undefined)
    const draft = reference === undefined ? claim : { ...claim, metadata: { ...claim.metadata, ownerReferences: [reference] } }
    const whose = `Pod ${set.metadata.name}-${ordinal} in StatefulSet ${set.metadata.name}`
    try {
      await client.create(PersistentVolumeClaim, draft)
      events.normal(StatefulSet, set, 'SuccessfulCreate', `Create Claim ${name} ${whose} success`)
    } catch (error) {
      if (isAlreadyExists(error)) continue
      events.warning(StatefulSet, set, 'FailedCreate', `Create Claim ${name} for ${whose} failed error: ${errorMessage(error)}`)
      throw error
    }
  }
  return true
}

/** Sees to it that claims go when the retention policy says so: with the set, or with the pod that is scaled away. */
export async function retainClaims(
  set: V1StatefulSet,
  ordinal: number,
  condemned: V1Pod | undefined,
  context: ReconcileContext,
): Promise<void> {
  const { cache, client, events } = context
  for (const { metadata } of claimsOf(set, ordinal)) {
    const claim = cache.get(PersistentVolumeClaim, metadata.namespace ?? '', metadata.name ?? '')
    if (claim === undefined || isDeleting(claim)) continue
    const wanted = wantedOwner(set, condemned)
    const others = otherOwners(claim, set, ordinal)
    const isForeign = hasRetentionPolicy(set) && others.some(({ controller }) => controller)
    if (isForeign) {
      const message =
        `PersistentVolumeClaim ${metadata.name} has a conflicting OwnerReference that acts as a manging controller, ` +
        'the retention policy is ignored for this claim'
      events.warning(StatefulSet, set, 'ConflictingController', message)
    }
    const next = wanted === undefined || isForeign ? others : [...others, wanted]
    const present = claim.metadata.ownerReferences ?? []
    const presentUids = new Set(present.map(({ uid }) => uid))
    const isSame = next.length === present.length && next.every(({ uid }) => presentUids.has(uid))
    if (!isSame) await client.update(PersistentVolumeClaim, { ...claim, metadata: { ...claim.metadata, ownerReferences: next } })
  }
}

function hasRetentionPolicy({ spec }: V1StatefulSet): boolean {
  const { whenDeleted, whenScaled } = spec?.persistentVolumeClaimRetentionPolicy ?? {}
  return whenDeleted === 'Delete' || whenScaled === 'Delete'
}

/** It goes with a pod that was scaled away, and must not become the storage of the next one of that name. */
function isStale(
  { metadata }: V1PersistentVolumeClaim,
  { spec, metadata: { name } }: V1StatefulSet,
  ordinal: number,
  uid: string | undefined,
) {
  if (spec?.persistentVolumeClaimRetentionPolicy?.whenScaled !== 'Delete') return false
  return (metadata.ownerReferences ?? []).some((owner) => owner.kind === 'Pod' && owner.name === `${name}-${ordinal}` && owner.uid !== uid)
}

function wantedOwner(set: V1StatefulSet, condemned: V1Pod | undefined): V1OwnerReference | undefined {
  const { whenDeleted = 'Retain', whenScaled = 'Retain' } = set.spec?.persistentVolumeClaimRetentionPolicy ?? {}
  if (whenScaled === 'Delete' && condemned !== undefined) return controllerReference(condemned, Pod)
  return whenDeleted === 'Delete' ? controllerReference(set, StatefulSet) : undefined
}

function otherOwners({ metadata }: V1PersistentVolumeClaim, set: V1StatefulSet, ordinal: number): V1OwnerReference[] {
  const isOurs = ({ kind, name, uid }: V1OwnerReference) =>
    uid === set.metadata.uid || (kind === 'Pod' && name === `${set.metadata.name}-${ordinal}`)
  return (metadata.ownerReferences ?? []).filter((reference) => !isOurs(reference))
}
