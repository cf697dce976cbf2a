import type { V1PodSpec, V1ProjectedVolumeSource } from '#api/core/v1/types.gen.ts'
import { nameSuffix, type Random } from '#base/random.ts'

const volumePrefix = 'kube-api-access-'
const mountPath = '/var/run/secrets/kubernetes.io/serviceaccount'

/** An hour and a little more: tokens live this long, but only warn for a year when they are used longer. */
const expirationSeconds = 60 * 60 + 7

/** Mounts the token, the cluster's authority and the namespace into every container that has nothing else in that place. */
export function mountToken(spec: V1PodSpec, random: Random): void {
  const own = spec.volumes?.find(({ name }) => name.startsWith(volumePrefix))?.name
  const name = own ?? volumePrefix + nameSuffix(random)
  let isNeeded = false
  for (const list of [spec.initContainers, spec.containers]) {
    for (const container of list ?? []) {
      const mounts = container.volumeMounts ?? []
      if (mounts.some((mount) => mount.mountPath === mountPath)) continue
      container.volumeMounts = [...mounts, { name, readOnly: true, mountPath }]
      isNeeded = true
    }
  }
  if (isNeeded && own === undefined) spec.volumes = [...(spec.volumes ?? []), { name, projected: tokenSources() }]
}

function tokenSources(): V1ProjectedVolumeSource {
  return {
    sources: [
      { serviceAccountToken: { expirationSeconds, path: 'token' } },
      { configMap: { name: 'kube-root-ca.crt', items: [{ key: 'ca.crt', path: 'ca.crt' }] } },
      { downwardAPI: { items: [{ path: 'namespace', fieldRef: { apiVersion: 'v1', fieldPath: 'metadata.namespace' } }] } },
    ],
    defaultMode: 0o644,
  }
}
