import type { V1ConfigMap, V1Container, V1EnvFromSource, V1EnvVarSource, V1Pod, V1Secret, V1Service } from '#api/core/v1/types.gen.ts'
import { quoted } from '#api/meta/check.ts'
import { isNotFound } from '#api/meta/server-response.ts'
import { expandVariables, TextLimit } from '#kubelet/environment/expand-variables.ts'
import { podVariable } from '#kubelet/environment/pod-fields.ts'
import { containerResource, podDefaultLimits, type Resources } from '#kubelet/environment/resource-fields.ts'
import { serviceVariables } from '#kubelet/environment/service-variables.ts'

/** What variables are made from besides the pod's own text. */
export type VariableSources = {
  services: Iterable<V1Service>
  configMap(namespace: string, name: string): Promise<V1ConfigMap>
  secret(namespace: string, name: string): Promise<V1Secret>
  /** The value of a key in a file of a volume, empty when it is not there. */
  fileKey(volume: string, path: string, key: string): Promise<string>
  podIps: readonly string[]
  hostIps: readonly string[]
  allocatable: Resources
}

/**
 * All variables of a container, in the order in which they are declared, services last. Later ones see earlier ones.
 * Rejects with upstream's words.
 */
export async function containerVariables(pod: V1Pod, container: V1Container, sources: VariableSources): Promise<Map<string, string>> {
  const services = serviceVariables(sources.services, pod.metadata.namespace ?? '', pod.spec.enableServiceLinks ?? true)
  const objects = new ReferredObjects(pod.metadata.namespace ?? '', sources)
  const variables = new Map<string, string>()
  const limit = new TextLimit()
  const lookUp = limit.counting((other) => variables.get(other) ?? services.get(other))
  for (const source of container.envFrom ?? []) {
    for (const [key, value] of await objects.allOf(source)) variables.set(`${source.prefix ?? ''}${key}`, limit.take(value))
  }
  for (const { name, value = '', valueFrom } of container.env ?? []) {
    if (value !== '' || valueFrom === undefined) {
      variables.set(name, limit.take(expandVariables(value, lookUp)))
      continue
    }
    const found = await resolved(valueFrom, pod, container, sources, objects)
    if (found !== undefined) variables.set(name, limit.take(found))
  }
  for (const [name, value] of services) if (!variables.has(name)) variables.set(name, value)
  return variables
}

/** Undefined where it is optional, and is not there. */
async function resolved(
  { fieldRef, resourceFieldRef, configMapKeyRef, secretKeyRef, fileKeyRef }: V1EnvVarSource,
  pod: V1Pod,
  container: V1Container,
  sources: VariableSources,
  objects: ReferredObjects,
): Promise<string | undefined> {
  const { namespace = '' } = pod.metadata
  if (fieldRef !== undefined) return podVariable(fieldRef, pod, sources)
  if (resourceFieldRef !== undefined) {
    return containerResource(resourceFieldRef, pod, resourceFieldRef.containerName || container, podDefaultLimits(pod, sources.allocatable))
  }
  if (configMapKeyRef !== undefined) {
    const { name = '', key, optional = false } = configMapKeyRef
    const value = (await objects.configMap(name, optional))?.get(key)
    if (value === undefined && !optional) throw new Error(`couldn't find key ${key} in ConfigMap ${namespace}/${name}`)
    return value
  }
  if (secretKeyRef !== undefined) {
    const { name = '', key, optional = false } = secretKeyRef
    const value = (await objects.secret(name, optional))?.get(key)
    if (value === undefined && !optional) throw new Error(`couldn't find key ${key} in Secret ${namespace}/${name}`)
    return value
  }
  if (fileKeyRef !== undefined) {
    const { volumeName, path, key, optional = false } = fileKeyRef
    const value = await sources.fileKey(volumeName, path, key)
    if (value !== '') return value
    if (optional) return undefined
    throw new Error(`environment variable key ${quoted(key)} not found in file ${quoted(path)}`)
  }
  return ''
}

/** Each object is asked for once, so that all variables of a container come from the same state of it. */
class ReferredObjects {
  readonly #namespace: string
  readonly #sources: VariableSources
  readonly #found = new Map<string, Map<string, string>>()

  constructor(namespace: string, sources: VariableSources) {
    this.#namespace = namespace
    this.#sources = sources
  }

  async allOf({ configMapRef, secretRef }: V1EnvFromSource): Promise<Map<string, string>> {
    const found =
      configMapRef !== undefined
        ? await this.configMap(configMapRef.name ?? '', configMapRef.optional ?? false)
        : secretRef !== undefined
          ? await this.secret(secretRef.name ?? '', secretRef.optional ?? false)
          : undefined
    return found ?? new Map()
  }

  configMap(name: string, isOptional: boolean): Promise<Map<string, string> | undefined> {
    return this.#once(`configmap/${name}`, isOptional, async () => {
      const { data = {} } = await this.#sources.configMap(this.#namespace, name)
      return new Map(Object.entries(data))
    })
  }

  secret(name: string, isOptional: boolean): Promise<Map<string, string> | undefined> {
    return this.#once(`secret/${name}`, isOptional, async () => {
      const { data = {} } = await this.#sources.secret(this.#namespace, name)
      return new Map(Object.entries(data).map(([key, value]) => [key, Buffer.from(value, 'base64').toString()]))
    })
  }

  async #once(key: string, isOptional: boolean, ask: () => Promise<Map<string, string>>): Promise<Map<string, string> | undefined> {
    const known = this.#found.get(key)
    if (known !== undefined) return known
    try {
      const found = await ask()
      this.#found.set(key, found)
      return found
    } catch (error) {
      if (isOptional && isNotFound(error)) return undefined
      throw error
    }
  }
}
