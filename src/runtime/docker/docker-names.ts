/** How pods' containers are named and labelled in Docker: as dockershim did, so that tools which know its names find them. */
import type { DockerLabels } from '#runtime/docker/docker-types.ts'
import type { ContainerMetadata, Labels, SandboxMetadata } from '#wire/cri/cri-types.ts'

export const dockerLabel = {
  type: 'io.kubernetes.docker.type',
  sandboxId: 'io.kubernetes.sandbox.id',
  logPath: 'io.kubernetes.container.logpath',
  /** Whose it is: several agents may use one Docker. */
  owner: 'node.typernetes.dev/runtime-directory',
  userSpecifiedImage: 'node.typernetes.dev/user-specified-image',
} as const

export const dockerTypes = { sandbox: 'podsandbox', container: 'container' } as const

const own = new Set<string>(Object.values(dockerLabel))
const annotationPrefix = 'annotation.'
const prefix = 'k8s'
const sandboxContainer = 'POD'

export const sandboxName = ({ name, namespace, uid, attempt }: SandboxMetadata): string =>
  [prefix, sandboxContainer, name, namespace, uid, attempt].join('_')

export const containerName = (container: ContainerMetadata, pod: SandboxMetadata): string =>
  [prefix, container.name, pod.name, pod.namespace, pod.uid, container.attempt].join('_')

/** Undefined for names that are nobody's pod's. */
export function metadataIn(dockerName: string): { container: ContainerMetadata; pod: Omit<SandboxMetadata, 'attempt'> } | undefined {
  const [first, container = '', name = '', namespace = '', uid = '', attempt = ''] = dockerName.replace(/^\//, '').split('_')
  if (first !== prefix || !/^\d+$/.test(attempt)) return undefined
  return { container: { name: container, attempt: Number(attempt) }, pod: { name, namespace, uid } }
}

/** Docker has no annotations. */
export function labelsOf(labels: Labels, annotations: Labels, others: DockerLabels): DockerLabels {
  const noted = Object.entries(annotations).map(([key, value]) => [`${annotationPrefix}${key}`, value] as const)
  return { ...labels, ...Object.fromEntries(noted), ...others }
}

export function labelsIn(docker: DockerLabels): { labels: Labels; annotations: Labels } {
  const labels: Labels = {}
  const annotations: Labels = {}
  for (const [key, value] of Object.entries(docker)) {
    if (key.startsWith(annotationPrefix)) annotations[key.slice(annotationPrefix.length)] = value
    else if (!own.has(key)) labels[key] = value
  }
  return { labels, annotations }
}

/** `2026-01-02T03:04:05.123456789Z` in nanoseconds since the epoch; 0 for Go's zero time. */
export function nanosOf(text: string): bigint {
  const found = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d)$/.exec(text)
  if (found === null) return 0n
  const [, seconds = '', fraction = '', zone = ''] = found
  const nanos = BigInt(Date.parse(`${seconds}${zone}`)) * 1_000_000n + BigInt(fraction.padEnd(9, '0'))
  return nanos > 0n ? nanos : 0n
}
