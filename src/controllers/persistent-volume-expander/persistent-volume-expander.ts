import { PersistentVolume, PersistentVolumeClaim } from '#api/core/v1/kinds.gen.ts'
import type { V1PersistentVolumeClaim } from '#api/core/v1/types.gen.ts'
import { migratedDriver, provisionerOfOldSource } from '#api/core/v1/volume/migrated-volume.ts'
import { wholeValueOf } from '#api/meta/quantity.ts'
import { errorMessage } from '#base/error-message.ts'
import { defineController } from '#controllers/runtime/define-controller.ts'

const resizerAnnotation = 'volume.kubernetes.io/storage-resizer'

/** Says of claims that ask for more who is to enlarge the volume: since drivers left Kubernetes it is always somebody else. */
export const persistentVolumeExpander = defineController({
  name: 'persistentvolume-expander-controller',
  alias: 'persistentvolume-expander',
  queueName: 'volume_expand',
  serviceAccount: 'expand-controller',
  eventComponent: 'volume_expand',
  for: PersistentVolumeClaim,
  ignores: (claim, prev) =>
    claim.status?.phase !== 'Bound' || (prev !== undefined && wantedOf(claim) <= wantedOf(prev) && sizeOf(claim) <= sizeOf(prev)),

  async reconcile(claim, { client, events, key }) {
    const { volumeName } = claim.spec
    if (!volumeName || wantedOf(claim) <= sizeOf(claim)) return
    const volume = await client.get(PersistentVolume, '', volumeName)
    if (volume.spec.claimRef?.uid !== claim.metadata.uid) {
      throw new Error(`persistent Volume is not bound to PVC being updated : ${key}`)
    }
    const provisioner = provisionerOfOldSource(volume.spec)
    const driver = provisioner === undefined ? undefined : migratedDriver(provisioner)
    if (driver === undefined) {
      const type = volume.spec.csi ? 'Normal' : 'Warning'
      events.record(PersistentVolumeClaim, claim, type, 'ExternalExpanding', 'waiting for an external controller to expand this PVC')
      return
    }
    const message = `CSI migration enabled for ${provisioner}; waiting for external resizer to expand the pvc`
    events.normal(PersistentVolumeClaim, claim, 'ExternalExpanding', message)
    if (claim.metadata.annotations?.[resizerAnnotation] === driver) return
    try {
      await client.patch(
        PersistentVolumeClaim,
        claim.metadata,
        { metadata: { annotations: { [resizerAnnotation]: driver } } },
        { subresource: 'status' },
      )
    } catch (error) {
      const why = `error setting resizer annotation to pvc ${key}, with error ${errorMessage(error)}`
      events.warning(PersistentVolumeClaim, claim, 'ExternalExpanding', why)
      throw error
    }
  },
})

const wantedOf = ({ spec }: V1PersistentVolumeClaim): number => wholeValueOf(spec.resources?.requests?.['storage'])
const sizeOf = ({ status }: V1PersistentVolumeClaim): number => wholeValueOf(status?.capacity?.['storage'])
