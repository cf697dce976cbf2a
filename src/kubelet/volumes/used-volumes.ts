/** Which volumes of a pod anybody wants, and which objects they show. */
import type { V1Pod, V1Volume } from '#api/core/v1/types.gen.ts'

/** What no container mounts is not set up. */
export function usedVolumes({ spec }: V1Pod): V1Volume[] {
  const names = new Set<string>()
  for (const container of [...(spec.initContainers ?? []), ...spec.containers, ...(spec.ephemeralContainers ?? [])]) {
    for (const { name } of container.volumeMounts ?? []) names.add(name)
    for (const { name } of container.volumeDevices ?? []) names.add(name)
    for (const { valueFrom } of container.env ?? []) if (valueFrom?.fileKeyRef !== undefined) names.add(valueFrom.fileKeyRef.volumeName)
  }
  // Images are fetched, and failures told of, as those of containers are.
  return (spec.volumes ?? []).filter(({ name, image }) => names.has(name) && image === undefined)
}

export function shownConfigMaps(volumes: readonly V1Volume[]): Set<string> {
  return new Set(
    volumes
      .flatMap(({ configMap, projected }) => [configMap?.name, ...(projected?.sources ?? []).map((source) => source.configMap?.name)])
      .filter((name) => name !== undefined),
  )
}

export function shownSecrets(volumes: readonly V1Volume[]): Set<string> {
  return new Set(
    volumes
      .flatMap(({ secret, projected }) => [secret?.secretName, ...(projected?.sources ?? []).map((source) => source.secret?.name)])
      .filter((name) => name !== undefined),
  )
}

export const showsTrustBundles = (volumes: readonly V1Volume[]): boolean =>
  volumes.some(({ projected }) => projected?.sources?.some(({ clusterTrustBundle }) => clusterTrustBundle !== undefined))
