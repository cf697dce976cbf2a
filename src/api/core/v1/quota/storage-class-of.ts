import { storageClassAnnotation } from '#api/core/v1/persistent-volume-claim/storage-class-annotation.ts'
import type { V1PersistentVolumeClaim } from '#api/core/v1/types.gen.ts'

/** The name of the class the claim asks for; the old annotation goes before the field. Empty for none. */
export function storageClassOf({ metadata, spec }: V1PersistentVolumeClaim): string {
  return metadata?.annotations?.[storageClassAnnotation] ?? spec?.storageClassName ?? ''
}
