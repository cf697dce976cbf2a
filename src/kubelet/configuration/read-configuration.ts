/** A node agent's configuration file. */
import { defaultKubeletConfiguration, ignoredFields, type KubeletConfiguration } from '#kubelet/configuration/kubelet-configuration.ts'

const apiVersion = 'kubelet.config.k8s.io/v1beta1'

export type ReadConfiguration = {
  configuration: KubeletConfiguration
  /** Fields of the file that change nothing. */
  ignored: string[]
}

/** YAML or JSON. Throws with what is wrong, and where. */
export async function readKubeletConfiguration(text: string, path: string): Promise<ReadConfiguration> {
  const { load } = await import('js-yaml')
  return kubeletConfigurationFrom(load(text), path)
}

function kubeletConfigurationFrom(document: unknown, path: string): ReadConfiguration {
  if (!isMap(document)) throw new Error(`${path}: the document is not a map`)
  const { kind, apiVersion: version, ...given } = document
  if (kind !== 'KubeletConfiguration' || version !== apiVersion) {
    throw new Error(`${path}: expected KubeletConfiguration of ${apiVersion}, found ${kind} of ${version}`)
  }
  const defaults = defaultKubeletConfiguration()
  const ignored = Object.keys(given).filter((field) => ignoredFields.includes(field))
  const heeded = Object.fromEntries(Object.entries(given).filter(([field]) => !ignored.includes(field)))
  const configuration = merged(defaults, heeded, path, '') as KubeletConfiguration
  check(configuration, path)
  return { configuration, ignored }
}

/** Maps of free keys are taken whole; all others are laid over the defaults, field by field. */
const wholeMaps = new Set(['staticPodURLHeader', 'systemReserved', 'kubeReserved', 'authentication.x509'])

function merged(defaults: object, given: Record<string, unknown>, path: string, at: string): object {
  const result: Record<string, unknown> = { ...defaults }
  for (const [field, value] of Object.entries(given)) {
    const place = at === '' ? field : `${at}.${field}`
    const standard = result[field]
    if (standard === undefined) throw new Error(`${path}: unknown field "${place}"`)
    if (value === null || value === undefined) continue
    if (kindOf(value) !== kindOf(standard)) throw new Error(`${path}: ${place} is not a ${kindOf(standard)}`)
    result[field] = isMap(value) && isMap(standard) && !wholeMaps.has(place) ? merged(standard, value, path, place) : value
  }
  return result
}

function check({ port, readOnlyPort, healthzPort, maxPods, authorization }: KubeletConfiguration, path: string): void {
  for (const [field, value] of Object.entries({ port, readOnlyPort, healthzPort })) {
    if (!Number.isInteger(value) || value < 0 || value > 65_535) throw new Error(`${path}: ${field} is not a port: ${value}`)
  }
  if (maxPods < 0) throw new Error(`${path}: maxPods must not be a negative number: ${maxPods}`)
  if (!['AlwaysAllow', 'Webhook'].includes(authorization.mode)) {
    throw new Error(`${path}: authorization.mode must be AlwaysAllow or Webhook, not ${authorization.mode}`)
  }
}

function kindOf(value: unknown): string {
  if (Array.isArray(value)) return 'list'
  return isMap(value) ? 'map' : typeof value
}

const isMap = (value: unknown): value is Record<string, unknown> => value !== null && typeof value === 'object' && !Array.isArray(value)
