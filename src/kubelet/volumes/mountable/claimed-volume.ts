/** From a pod's volume to what the cluster has bound to its claim. */
import { PersistentVolume, PersistentVolumeClaim } from '#api/core/v1/kinds.gen.ts'
import type { V1PersistentVolumeClaim, V1Pod, V1Volume } from '#api/core/v1/types.gen.ts'
import { quoted } from '#api/meta/check.ts'
import { errorMessage } from '#base/error-message.ts'
import type { Client } from '#client/client.ts'
import { specOfClaimed, specOfInline, type VolumeSpec } from '#kubelet/volumes/mountable/volume-spec.ts'
import { podUid } from '#kubelet/volumes/volume-plugin.ts'

/** The volume cannot be known yet; the words are upstream's. */
export class VolumeNotReady extends Error {
  override name = 'VolumeNotReady'
}

/** Undefined for volumes that are neither claimed nor mounted. */
export async function volumeSpecOf(volume: V1Volume, pod: V1Pod, client: Pick<Client, 'get'>): Promise<VolumeSpec | undefined> {
  const claimName = claimNameOf(volume, pod)
  if (claimName === undefined) return specOfInline(volume, pod)
  const { namespace = '' } = pod.metadata
  try {
    const claim = await boundClaim(namespace, claimName, client)
    if (volume.ephemeral !== undefined) mustBelongTo(pod, claim)
    const isReadOnly = volume.persistentVolumeClaim?.readOnly ?? false
    const spec = specOfClaimed(volume.name, isReadOnly, claim, await volumeOf(claim, client))
    mustBeUsedAs(spec, pod)
    return spec
  } catch (error) {
    // As they are: who retries wants to know whether it was refused.
    throw new VolumeNotReady(`error processing PVC ${namespace}/${claimName}: ${errorMessage(error)}`, { cause: error })
  }
}

export function claimNameOf({ name, persistentVolumeClaim, ephemeral }: V1Volume, pod: V1Pod): string | undefined {
  if (persistentVolumeClaim !== undefined) return persistentVolumeClaim.claimName
  return ephemeral === undefined ? undefined : `${pod.metadata.name}-${name}`
}

async function boundClaim(namespace: string, name: string, client: Pick<Client, 'get'>): Promise<V1PersistentVolumeClaim> {
  const claim = await client.get(PersistentVolumeClaim, namespace, name).catch((error: unknown) => {
    throw new Error(`failed to fetch PVC from API server: ${errorMessage(error)}`, { cause: error })
  })
  if (claim.metadata?.deletionTimestamp !== undefined) throw new Error('PVC is being deleted')
  if (claim.status?.phase !== 'Bound') throw new Error('PVC is not bound')
  if (!claim.spec?.volumeName) throw new Error('PVC has empty pvc.Spec.VolumeName')
  return claim
}

async function volumeOf(claim: V1PersistentVolumeClaim, client: Pick<Client, 'get'>) {
  const name = claim.spec?.volumeName ?? ''
  const uid = claim.metadata?.uid ?? ''
  const volume = await client.get(PersistentVolume, '', name).catch((error: unknown) => {
    throw new Error(`failed to get PV ${name}: ${errorMessage(error)}`, { cause: error })
  })
  const reference = volume.spec?.claimRef
  if (reference === undefined) {
    throw new Error(`found PV object ${quoted(name)} but it has a nil pv.Spec.ClaimRef indicating it is not yet bound to the claim`)
  }
  if (reference.uid !== uid) {
    throw new Error(
      `found PV object ${quoted(name)} but its pv.Spec.ClaimRef.UID ${quoted(reference.uid ?? '')} does not point to claim.UID ${quoted(uid)}`,
    )
  }
  return volume
}

function mustBelongTo(pod: V1Pod, { metadata }: V1PersistentVolumeClaim): void {
  const owner = metadata?.ownerReferences?.find(({ controller }) => controller)
  if (owner?.uid === podUid(pod)) return
  const which = `${metadata?.namespace}/${metadata?.name}`
  throw new Error(`PVC ${which} was not created for pod ${pod.metadata.namespace}/${pod.metadata.name} (pod is not owner)`)
}

function mustBeUsedAs({ podVolume, isBlock }: VolumeSpec, { spec }: V1Pod): void {
  const containers = [...(spec.initContainers ?? []), ...spec.containers, ...(spec.ephemeralContainers ?? [])]
  const isMounted = containers.some(({ volumeMounts = [] }) => volumeMounts.some(({ name }) => name === podVolume))
  const isDevice = containers.some(({ volumeDevices = [] }) => volumeDevices.some(({ name }) => name === podVolume))
  if (isBlock && isMounted) throw new Error(`volume ${podVolume} has volumeMode Block, but is specified in volumeMounts`)
  if (!isBlock && isDevice) throw new Error(`volume ${podVolume} has volumeMode Filesystem, but is specified in volumeDevices`)
}
