/** Fields of pods as the downward API gives them to containers. */
import type { V1ObjectFieldSelector, V1Pod } from '#api/core/v1/types.gen.ts'
import { quoted } from '#api/meta/check.ts'
import { qualifiedName } from '#api/meta/names.ts'

/** What files can show: metadata alone. */
export function podField({ metadata }: V1Pod, path: string): string {
  const subscripted = withSubscript(path)
  if (subscripted !== undefined) {
    const { field, key } = subscripted
    if (field !== 'metadata.annotations' && field !== 'metadata.labels')
      throw new Error(`fieldPath ${quoted(path)} does not support subscript`)
    const problems = qualifiedName(field === 'metadata.labels' ? key : key.toLowerCase())
    if (problems.length > 0) throw new Error(`invalid key subscript in ${path}: ${problems.join(';')}`)
    return (field === 'metadata.labels' ? metadata.labels : metadata.annotations)?.[key] ?? ''
  }
  switch (path) {
    case 'metadata.annotations':
      return mapText(metadata.annotations)
    case 'metadata.labels':
      return mapText(metadata.labels)
    case 'metadata.name':
      return metadata.name ?? ''
    case 'metadata.namespace':
      return metadata.namespace ?? ''
    case 'metadata.uid':
      return metadata.uid ?? ''
  }
  throw new Error(`unsupported fieldPath: ${path}`)
}

export type PodPlace = { podIps: readonly string[]; hostIps: readonly string[] }

/** What variables can show: where the pod is, as well. */
export function podVariable({ apiVersion = 'v1', fieldPath }: V1ObjectFieldSelector, pod: V1Pod, { podIps, hostIps }: PodPlace): string {
  if (apiVersion !== 'v1') throw new Error(`unsupported pod version: ${apiVersion}`)
  const subscripted = withSubscript(fieldPath)
  if (subscripted !== undefined && !['metadata.annotations', 'metadata.labels'].includes(subscripted.field)) {
    throw new Error(`field label does not support subscript: ${fieldPath}`)
  }
  switch (fieldPath) {
    case 'spec.nodeName':
    case 'spec.host':
      return pod.spec.nodeName ?? ''
    case 'spec.serviceAccountName':
      return pod.spec.serviceAccountName ?? ''
    case 'status.hostIP':
      return hostIps[0] ?? ''
    case 'status.hostIPs':
      return hostIps.join(',')
    case 'status.podIP':
      return podIps[0] ?? ''
    case 'status.podIPs':
      return podIps.join(',')
  }
  return podField(pod, fieldPath)
}

/** `metadata.labels['key']` */
function withSubscript(path: string): { field: string; key: string } | undefined {
  const open = path.indexOf("['", 1)
  if (open < 0 || !path.endsWith("']") || path.length < open + 4) return undefined
  return { field: path.slice(0, open), key: path.slice(open + 2, -2) }
}

/** `key="value"` a line, sorted. */
function mapText(map: { [key: string]: string } = {}): string {
  const keys = Object.keys(map).sort()
  return keys.map((key) => `${key}=${quoted(map[key] ?? '')}`).join('\n')
}
