/** References from a container or volume to fields of its own pod. */
import type { V1ObjectFieldSelector, V1ResourceFieldSelector } from '#api/core/v1/types.gen.ts'
import type { Check } from '#api/meta/check.ts'
import { mustBe, qualifiedName } from '#api/meta/names.ts'
import { parseQuantity } from '#api/meta/quantity.ts'

export const envFieldPaths: readonly string[] = [
  'metadata.name',
  'metadata.namespace',
  'metadata.uid',
  'spec.nodeName',
  'spec.serviceAccountName',
  'status.hostIP',
  'status.hostIPs',
  'status.podIP',
  'status.podIPs',
]

export const volumeFieldPaths: readonly string[] = [
  'metadata.annotations',
  'metadata.labels',
  'metadata.name',
  'metadata.namespace',
  'metadata.uid',
]

const knownFieldPaths = new Set([...envFieldPaths, ...volumeFieldPaths, 'spec.restartPolicy', 'spec.schedulerName', 'status.phase'])

/** `check` stands at the fieldRef; `allowed` is sorted. */
export function validateFieldRef(check: Check<V1ObjectFieldSelector>, allowed: readonly string[]): void {
  const ref = check.value
  if (!ref.apiVersion) {
    check.at('apiVersion').required()
    return
  }
  if (!ref.fieldPath) {
    check.at('fieldPath').required()
    return
  }
  const conversion = conversionError(ref.apiVersion, ref.fieldPath)
  if (conversion !== undefined) {
    check.at('fieldPath').invalid(`error converting fieldPath: ${conversion}`)
    return
  }
  const path = ref.fieldPath === 'spec.host' ? 'spec.nodeName' : ref.fieldPath
  const subscripted = splitSubscript(path)
  if (subscripted === undefined) {
    if (!allowed.includes(path)) check.at('fieldPath').notSupported(allowed, path)
  } else if (subscripted.path === 'metadata.annotations') {
    mustBe(qualifiedName, check.with(subscripted.subscript.toLowerCase()))
  } else {
    mustBe(qualifiedName, check.with(subscripted.subscript))
  }
}

function conversionError(version: string, path: string): string | undefined {
  if (version !== 'v1') return `unsupported pod version: ${version}`
  const subscripted = splitSubscript(path)
  if (subscripted !== undefined) {
    const takesSubscript = subscripted.path === 'metadata.annotations' || subscripted.path === 'metadata.labels'
    return takesSubscript ? undefined : `field label does not support subscript: ${path}`
  }
  return knownFieldPaths.has(path) || path === 'spec.host' ? undefined : `field label not supported: ${path}`
}

/** `metadata.labels['app']` is the path `metadata.labels` and the subscript `app`. */
function splitSubscript(path: string): { path: string; subscript: string } | undefined {
  if (!path.endsWith("']")) return undefined
  const open = path.slice(0, -2).indexOf("['")
  return open <= 0 ? undefined : { path: path.slice(0, open), subscript: path.slice(open + 2, -2) }
}

const resourcePaths: readonly string[] = [
  'limits.cpu',
  'limits.ephemeral-storage',
  'limits.memory',
  'requests.cpu',
  'requests.ephemeral-storage',
  'requests.memory',
]

const isHugePagesPath = (path: string): boolean => path.startsWith('requests.hugepages-') || path.startsWith('limits.hugepages-')

/** `check` stands at the resourceFieldRef; a volume has no container of its own, so it must name one. */
export function validateResourceFieldRef(check: Check<V1ResourceFieldSelector>, inVolume: boolean): void {
  const ref = check.value
  const resource = ref.resource ?? ''
  if (inVolume && !ref.containerName) check.at('containerName').required()
  else if (resource === '') check.at('resource').required()
  else if (!resourcePaths.includes(resource) && !isHugePagesPath(resource)) check.at('resource').or('').notSupported(resourcePaths)
  if (ref.divisor !== undefined) validateDivisor(resource, ref.divisor, check)
}

const byteDivisors = ['1', '1k', '1M', '1G', '1T', '1P', '1E', '1Ki', '1Mi', '1Gi', '1Ti', '1Pi', '1Ei']

function validateDivisor(resource: string, divisor: string, check: Check<V1ResourceFieldSelector>): void {
  const quantity = parseQuantity(divisor)
  if (quantity.isZero) return
  const name = resource.slice(resource.indexOf('.') + 1)
  const isHugePages = isHugePagesPath(resource)
  if (!isHugePages && !resourcePaths.includes(resource)) return
  const allowed = name === 'cpu' ? ['1m', '1'] : byteDivisors
  if (allowed.includes(quantity.toString())) return
  const shown = name === 'cpu' ? '1m and 1' : byteDivisors.join(', ')
  const kind = isHugePages ? 'hugepages' : name === 'ephemeral-storage' ? 'local ephemeral storage' : name
  check.at('divisor').invalid(`only divisor's values ${shown} are supported with the ${kind} resource`, resource)
}
