import type { V1Pod, V1Volume, V1VolumeProjection } from '#api/core/v1/types.gen.ts'
import { aggregateMessages } from '#api/meta/aggregate.ts'
import { defined } from '#base/defined.ts'
import { errorMessage } from '#base/error-message.ts'
import type { ProjectedFiles } from '#kubelet/volumes/atomic-directory.ts'
import { configMapFiles } from '#kubelet/volumes/config-map.ts'
import { downwardApiFiles } from '#kubelet/volumes/downward-api.ts'
import { commonUser } from '#kubelet/volumes/fs-group.ts'
import { mirroredVolume } from '#kubelet/volumes/mirrored-volume.ts'
import { secretFiles } from '#kubelet/volumes/secret.ts'
import type { VolumeTools } from '#kubelet/volumes/volume-plugin.ts'

/** Several sources in one directory; of files with one name the last source's is seen. */
export const projectedVolume = mirroredVolume({
  source: 'projected',
  name: 'kubernetes.io/projected',
  medium: 'memory',
  async content({ projected: { sources, defaultMode = 0o644 } = {} }: V1Volume, pod, tools) {
    const all: ProjectedFiles = new Map()
    const failures: unknown[] = []
    for (const source of sources ?? []) {
      try {
        for (const [path, file] of await sourceFiles(source, pod, defaultMode, tools)) all.set(path, file)
      } catch (error) {
        failures.push(error)
      }
    }
    // One failure is handed on as it is, so that who retries can tell what it was.
    if (failures.length === 1) throw failures[0]
    if (failures.length > 0) throw new Error(aggregateMessages(failures.map((error) => errorMessage(error))))
    return all
  },
})

async function sourceFiles(source: V1VolumeProjection, pod: V1Pod, defaultMode: number, tools: VolumeTools): Promise<ProjectedFiles> {
  const { namespace = '' } = pod.metadata
  const { secret, configMap, downwardAPI, serviceAccountToken, clusterTrustBundle, podCertificate } = source
  if (secret !== undefined) return secretFiles(secret, namespace, defaultMode, tools)
  if (configMap !== undefined) return configMapFiles(configMap, namespace, defaultMode, tools)
  if (downwardAPI !== undefined) return downwardApiFiles(downwardAPI.items ?? [], pod, defaultMode, tools)
  if (serviceAccountToken !== undefined) {
    return credential(serviceAccountToken.path, await tools.tokens.get(pod, serviceAccountToken), pod, defaultMode)
  }
  if (clusterTrustBundle !== undefined) {
    return credential(clusterTrustBundle.path, await tools.trustBundles.anchors(clusterTrustBundle), pod, defaultMode)
  }
  if (podCertificate !== undefined) throw new Error('podCertificate projections are not supported by this node')
  return new Map()
}

/** Only the pod's own user or group may read it, where it has said which. */
function credential(path: string, text: string, pod: V1Pod, defaultMode: number): ProjectedFiles {
  const owner = commonUser(pod)
  const isPrivate = owner !== undefined || pod.spec.securityContext?.fsGroup !== undefined
  const file = { content: Buffer.from(text), mode: isPrivate ? 0o600 : defaultMode, ...defined({ owner }) }
  return new Map([[path, file]])
}
