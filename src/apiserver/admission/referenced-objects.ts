/** What of the API a pod refers to: pods that kubelets make may refer to nothing. */
import type { V1PodSpec, V1Volume } from '#api/core/v1/types.gen.ts'

/** By name, wherever they stand. */
export function secretReferences(spec: V1PodSpec): Set<string> {
  const names = new Set<string | undefined>(spec.imagePullSecrets?.map(({ name }) => name))
  for (const { env, envFrom } of containersOf(spec)) {
    for (const { secretRef } of envFrom ?? []) names.add(secretRef?.name)
    for (const { valueFrom } of env ?? []) names.add(valueFrom?.secretKeyRef?.name)
  }
  for (const volume of spec.volumes ?? []) for (const name of secretsOfVolume(volume)) names.add(name)
  return withoutNone(names)
}

function configMapReferences(spec: V1PodSpec): Set<string> {
  const names = new Set<string | undefined>()
  for (const { env, envFrom } of containersOf(spec)) {
    for (const { configMapRef } of envFrom ?? []) names.add(configMapRef?.name)
    for (const { valueFrom } of env ?? []) names.add(valueFrom?.configMapKeyRef?.name)
  }
  for (const { configMap, projected } of spec.volumes ?? []) {
    names.add(configMap?.name)
    for (const source of projected?.sources ?? []) names.add(source.configMap?.name)
  }
  return withoutNone(names)
}

const containersOf = ({ initContainers = [], containers, ephemeralContainers = [] }: V1PodSpec) => [
  ...initContainers,
  ...(containers ?? []),
  ...ephemeralContainers,
]

function secretsOfVolume(volume: V1Volume): (string | undefined)[] {
  const { azureFile, cephfs, cinder, flexVolume, projected, rbd, secret, scaleIO, iscsi, storageos, csi } = volume
  return [
    azureFile?.secretName,
    secret?.secretName,
    csi?.nodePublishSecretRef?.name,
    ...[cephfs, cinder, flexVolume, rbd, scaleIO, iscsi, storageos].map((source) => source?.secretRef?.name),
    ...(projected?.sources ?? []).map((source) => source.secret?.name),
  ]
}

function withoutNone(names: Set<string | undefined>): Set<string> {
  names.delete(undefined)
  names.delete('')
  return names as Set<string>
}

/** Volumes that need nothing of the API. */
const selfContained: readonly (keyof V1Volume)[] = [
  ...(['awsElasticBlockStore', 'azureDisk', 'cephfs', 'cinder', 'downwardAPI', 'emptyDir', 'fc', 'flexVolume', 'flocker'] as const),
  ...(['gcePersistentDisk', 'gitRepo', 'hostPath', 'image', 'iscsi', 'nfs', 'photonPersistentDisk', 'portworxVolume'] as const),
  ...(['quobyte', 'rbd', 'scaleIO', 'storageos', 'vsphereVolume'] as const),
]

const ofVolumes: Partial<Record<keyof V1Volume, string>> = {
  configMap: 'configmaps (via configmap volumes)',
  secret: 'secrets (via secret volumes)',
  csi: 'csidrivers (via CSI volumes)',
  glusterfs: 'endpoints (via glusterFS volumes)',
  persistentVolumeClaim: 'persistentvolumeclaims',
  ephemeral: 'persistentvolumeclaims (via ephemeral volumes)',
  azureFile: 'secrets (via azureFile volumes)',
}

const ofProjections: Record<string, string> = {
  configMap: 'configmaps (via projected volumes)',
  secret: 'secrets (via projected volumes)',
  serviceAccountToken: 'serviceaccounts (via projected volumes)',
  clusterTrustBundle: 'clustertrustbundles',
  podCertificate: 'podcertificates',
}

/** The first kind of object the spec refers to, as messages name it; undefined if there is none. Throws for volumes nobody knows. */
export function referencedObjects(spec: V1PodSpec): string | undefined {
  if (spec.serviceAccountName) return 'serviceaccounts'
  if (secretReferences(spec).size > 0) return 'secrets'
  if (configMapReferences(spec).size > 0) return 'configmaps'
  if (spec.resourceClaims?.length) return 'resourceclaims'
  for (const volume of spec.volumes ?? []) {
    const found = referencedByVolume(volume)
    if (found !== undefined) return found
  }
  return undefined
}

function referencedByVolume(volume: V1Volume): string | undefined {
  if (selfContained.some((source) => volume[source] !== undefined)) return undefined
  for (const [source, objects] of Object.entries(ofVolumes)) if (volume[source as keyof V1Volume] !== undefined) return objects
  if (volume.projected === undefined) throw new Error(`unknown volume type for volume  "${volume.name}"`)
  for (const source of volume.projected.sources ?? []) {
    const projected = Object.keys(ofProjections).find((name) => name in source)
    if (projected !== undefined) return ofProjections[projected]
    if (source.downwardAPI === undefined) throw new Error(`unknown source for projected volume "${volume.name}"`)
  }
  return undefined
}
