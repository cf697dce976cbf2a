import { PersistentVolume, PersistentVolumeClaim } from '#api/core/v1/kinds.gen.ts'
import type { V1PersistentVolume, V1PersistentVolumeClaim } from '#api/core/v1/types.gen.ts'
import { VolumeAttributesClass } from '#api/storage/v1/kinds.gen.ts'
import { defineController } from '#controllers/runtime/define-controller.ts'
import { on } from '#controllers/runtime/triggers.ts'
import { whereServed } from '#controllers/runtime/where-served.ts'
import { protect } from '#controllers/storage-protection/protect.ts'

const finalizer = 'kubernetes.io/vac-protection'
const index = 'attributes class'

/** Keeps attributes classes that claims ask for or volumes have. */
export const attributesClassProtectionController = whereServed(
  VolumeAttributesClass,
  defineController({
    name: 'volumeattributesclass-protection-controller',
    queueName: 'vacprotection',
    serviceAccount: 'volumeattributesclass-protection-controller',
    isNeeded: ({ isEnabled }) => isEnabled('VolumeAttributesClass'),
    for: VolumeAttributesClass,
    indexes(cache) {
      cache.addIndex(PersistentVolume, index, ofVolume)
      cache.addIndex(PersistentVolumeClaim, index, ofClaim)
    },
    watches: [
      on(PersistentVolume, (volume, _cache, { prev, isGone }) => noLonger(prev && ofVolume(prev), ofVolume(volume), isGone)),
      on(PersistentVolumeClaim, (claim, _cache, { prev, isGone }) => noLonger(prev && ofClaim(prev), ofClaim(claim), isGone)),
    ],
    async reconcile(attributesClass, context) {
      const { name = '' } = attributesClass.metadata
      const isUsed = () =>
        [PersistentVolume, PersistentVolumeClaim].some(
          (kind) => context.cache.byIndex<V1PersistentVolume | V1PersistentVolumeClaim>(kind, index, name).length > 0,
        )
      await protect(VolumeAttributesClass, attributesClass, finalizer, isUsed, context)
    },
  }),
)

const ofVolume = ({ spec }: V1PersistentVolume): string[] => (spec.volumeAttributesClassName ? [spec.volumeAttributesClassName] : [])

function ofClaim({ spec, status }: V1PersistentVolumeClaim): string[] {
  const { currentVolumeAttributesClassName, modifyVolumeStatus } = status ?? {}
  const names = [spec.volumeAttributesClassName, currentVolumeAttributesClassName, modifyVolumeStatus?.targetVolumeAttributesClassName]
  return [...new Set(names.filter((name) => name !== undefined).filter((name) => name !== ''))]
}

/** Only somebody less can set a class free. */
function noLonger(before: readonly string[] | undefined, now: readonly string[], isGone = false): readonly string[] {
  return isGone ? now : (before ?? []).filter((name) => !now.includes(name))
}
