import type { V1Container, V1Pod, V1Volume } from '#api/core/v1/types.gen.ts'

/** What a pod makes its node's business, by name in the pod's namespace. */
export type PodReferences = {
  secrets: Set<string>
  configMaps: Set<string>
  claims: Set<string>
  resourceClaims: Set<string>
}

export const mirrorPodAnnotation = 'kubernetes.io/config.mirror'

export function podReferences(pod: V1Pod): PodReferences {
  const references: PodReferences = { secrets: new Set(), configMaps: new Set(), claims: new Set(), resourceClaims: new Set() }
  const { spec } = pod
  for (const { name } of spec.imagePullSecrets ?? []) add(references.secrets, name)
  for (const container of [...(spec.initContainers ?? []), ...spec.containers, ...(spec.ephemeralContainers ?? [])]) {
    addOfContainer(container, references)
  }
  for (const volume of spec.volumes ?? []) addOfVolume(volume, pod.metadata.name ?? '', references)
  for (const name of resourceClaimNames(pod)) references.resourceClaims.add(name)
  return references
}

/** Claims named by the pod, and those made for it. */
export function resourceClaimNames({ spec, status }: V1Pod): string[] {
  const names: (string | undefined)[] = (spec.resourceClaims ?? []).map(
    ({ name, resourceClaimName }) =>
      resourceClaimName ?? status?.resourceClaimStatuses?.find((made) => made.name === name)?.resourceClaimName,
  )
  names.push(status?.extendedResourceClaimStatus?.resourceClaimName)
  return names.filter((name) => name !== undefined && name !== '') as string[]
}

function addOfContainer({ env = [], envFrom = [] }: Pick<V1Container, 'env' | 'envFrom'>, { secrets, configMaps }: PodReferences): void {
  for (const { secretRef, configMapRef } of envFrom) {
    add(secrets, secretRef?.name)
    add(configMaps, configMapRef?.name)
  }
  for (const { valueFrom } of env) {
    add(secrets, valueFrom?.secretKeyRef?.name)
    add(configMaps, valueFrom?.configMapKeyRef?.name)
  }
}

function addOfVolume(volume: V1Volume, podName: string, { secrets, configMaps, claims }: PodReferences): void {
  add(secrets, volume.secret?.secretName)
  add(configMaps, volume.configMap?.name)
  for (const source of volume.projected?.sources ?? []) {
    add(secrets, source.secret?.name)
    add(configMaps, source.configMap?.name)
  }
  add(secrets, volume.azureFile?.secretName)
  add(secrets, volume.csi?.nodePublishSecretRef?.name)
  const { cephfs, cinder, flexVolume, rbd, scaleIO, iscsi, storageos } = volume
  for (const source of [cephfs, cinder, flexVolume, rbd, scaleIO, iscsi, storageos]) add(secrets, source?.secretRef?.name)
  add(claims, volume.persistentVolumeClaim?.claimName)
  if (volume.ephemeral !== undefined) add(claims, `${podName}-${volume.name}`)
}

function add(set: Set<string>, name: string | undefined): void {
  if (name !== undefined && name !== '') set.add(name)
}
