import { PersistentVolume } from '#api/core/v1/kinds.gen.ts'
import { defineController } from '#controllers/runtime/define-controller.ts'
import { protect } from '#controllers/storage-protection/protect.ts'

const finalizer = 'kubernetes.io/pv-protection'

/** Keeps volumes that are bound. */
export const volumeProtectionController = defineController({
  name: 'persistentvolume-protection-controller',
  alias: 'pv-protection',
  queueName: 'pvprotection',
  serviceAccount: 'pv-protection-controller',
  for: PersistentVolume,
  reconcile: (volume, context) => protect(PersistentVolume, volume, finalizer, () => volume.status?.phase === 'Bound', context),
})
