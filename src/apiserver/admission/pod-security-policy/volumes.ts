import { checkAtContainer, eachContainer } from '#api/core/v1/pod-spec/all-containers.ts'
import type { V1Pod, V1PodSpec, V1ProjectedVolumeSource, V1Volume } from '#api/core/v1/types.gen.ts'
import type { Check } from '#api/meta/check.ts'
import type { V1beta1PodSecurityPolicy } from '#api/policy/v1beta1/pod-security-policy-types.ts'

/** Types as policies name them, in the order in which a volume's type is found. */
const types: readonly [keyof V1Volume, string][] = [
  ...(['hostPath', 'emptyDir', 'gcePersistentDisk', 'awsElasticBlockStore', 'gitRepo', 'secret', 'nfs', 'iscsi', 'glusterfs'] as const),
  ...(['persistentVolumeClaim', 'rbd', 'flexVolume', 'cinder'] as const),
  ...(['cephfs', 'flocker', 'downwardAPI', 'fc', 'azureFile', 'configMap', 'vsphereVolume', 'quobyte', 'azureDisk'] as const),
  ...(['photonPersistentDisk', 'storageos', 'projected', 'portworxVolume', 'scaleIO', 'csi', 'ephemeral', 'image'] as const),
].map((field) => [field, field === 'cephfs' ? 'cephFS' : field])

/** `check` stands at the spec. */
export function checkVolumes(pod: V1Pod, { spec: rules }: V1beta1PodSecurityPolicy, check: Check<V1PodSpec>): void {
  const { volumes: allowed = [], allowedFlexVolumes = [], allowedCSIDrivers = [] } = rules
  for (const [index, volume] of (pod.spec.volumes ?? []).entries()) {
    const place = check.at('volumes').at(index).with(volume)
    const type = types.find(([field]) => volume[field] !== undefined)?.[1] ?? ''
    if (type === '') place.invalid(`unknown volume type for volume: ${volume.name}`, '')
    else if (!allowed.includes('*') && !allowed.includes(type) && !(allowed.includes('secret') && isTokenOnly(volume.projected))) {
      place.invalid(`${type} volumes are not allowed to be used`, type)
    } else if (type === 'hostPath') checkHostPath(pod, volume, rules.allowedHostPaths ?? [], place, check)
    else if (volume.flexVolume && allowedFlexVolumes.length > 0) {
      const { driver } = volume.flexVolume
      if (!allowedFlexVolumes.some((each) => each.driver === driver)) {
        place.dynamic('driver').invalid('Flexvolume driver is not allowed to be used', driver)
      }
    } else if (volume.csi && allowedCSIDrivers.length > 0) {
      const { driver } = volume.csi
      if (!allowedCSIDrivers.some(({ name }) => name === driver)) {
        place.at('csi').at('driver').invalid('Inline CSI driver is not allowed to be used', driver)
      }
    }
  }
}

type AllowedPaths = readonly { pathPrefix?: string; readOnly?: boolean }[]

function checkHostPath(
  pod: V1Pod,
  { name, hostPath }: V1Volume,
  allowed: AllowedPaths,
  place: Check<V1Volume>,
  check: Check<V1PodSpec>,
): void {
  if (allowed.length === 0) return
  const path = hostPath?.path ?? ''
  const matching = allowed.filter(({ pathPrefix = '' }) => isBelow(path, pathPrefix))
  if (matching.length === 0) {
    place.at('hostPath').dynamic('pathPrefix').invalid('is not allowed to be used', path)
    return
  }
  if (matching.some(({ readOnly }) => !readOnly)) return
  eachContainer(pod.spec, ({ volumeMounts = [] }, list, index) => {
    for (const [mountIndex, mount] of volumeMounts.entries()) {
      if (mount.name !== name || mount.readOnly) continue
      checkAtContainer(check, list, index).at('volumeMounts').at(mountIndex).at('readOnly').invalid('must be read-only', false)
    }
  })
}

/** By whole names: `/foo` is above `/foo/bar`, not above `/foobar`. */
function isBelow(path: string, prefix: string): boolean {
  const [below, above] = [path.replace(/\/$/, ''), prefix.replace(/\/$/, '')]
  return below === above || below.startsWith(`${above}/`)
}

/** The volume every pod gets with the token of its account counts as a secret. */
function isTokenOnly(projected: V1ProjectedVolumeSource | undefined): boolean {
  if (projected === undefined) return false
  return (projected.sources ?? []).every(({ serviceAccountToken, configMap, downwardAPI }) => {
    if (serviceAccountToken) return serviceAccountToken.path === 'token' && !serviceAccountToken.audience
    if (configMap) return configMap.name === 'kube-root-ca.crt'
    return downwardAPI?.items?.every(
      ({ path, fieldRef }) => path === 'namespace' && fieldRef?.apiVersion === 'v1' && fieldRef.fieldPath === 'metadata.namespace',
    )
  })
}
