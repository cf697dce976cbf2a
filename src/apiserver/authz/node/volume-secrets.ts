import type { V1PersistentVolume } from '#api/core/v1/types.gen.ts'

export type NamespacedName = { readonly namespace: string; readonly name: string }

/** The secrets a kubelet needs for a volume; those that only controllers need are not its business. */
export function volumeSecrets({ spec }: V1PersistentVolume): NamespacedName[] {
  const claimNamespace = spec.claimRef?.namespace ?? ''
  const found: NamespacedName[] = []
  const add = (ref: { name?: string; namespace?: string } | undefined, fallback: string) => {
    if (ref?.name) found.push({ namespace: ref.namespace || fallback, name: ref.name })
  }
  const { azureFile, cephfs, cinder, flexVolume, rbd, scaleIO, iscsi, storageos, csi } = spec
  if (azureFile !== undefined) add({ name: azureFile.secretName, namespace: azureFile.secretNamespace ?? '' }, claimNamespace)
  for (const source of [cephfs, flexVolume, rbd, scaleIO, iscsi]) add(source?.secretRef, claimNamespace)
  for (const source of [cinder, storageos]) add(source?.secretRef, '')
  for (const ref of [csi?.nodePublishSecretRef, csi?.nodeStageSecretRef, csi?.nodeExpandSecretRef]) add(ref, '')
  return found
}
