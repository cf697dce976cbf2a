/** Configuration files of components: KubeletConfiguration, KubeProxyConfiguration. */
import { jsYaml } from '#api/codec/js-yaml.ts'

export type ComponentConfigurationOptions<T> = {
  readonly kind: string
  readonly apiVersion: string
  readonly defaults: T
  /** Fields that are taken, and change nothing. */
  readonly ignoredFields: readonly string[]
  /** Maps of free keys, by their path: they are taken whole, all others are laid over the defaults field by field. */
  readonly wholeMaps?: readonly string[]
}

/** YAML or JSON. Throws with what is wrong, and where. */
export async function readComponentConfiguration<T extends object>(
  text: string,
  path: string,
  { kind, apiVersion, defaults, ignoredFields, wholeMaps = [] }: ComponentConfigurationOptions<T>,
): Promise<{ configuration: T; ignored: string[] }> {
  const { load } = jsYaml()
  const document = load(text)
  if (!isMap(document)) throw new Error(`${path}: the document is not a map`)
  const { kind: foundKind, apiVersion: foundVersion, ...given } = document
  if (foundKind !== kind || foundVersion !== apiVersion) {
    throw new Error(`${path}: expected ${kind} of ${apiVersion}, found ${foundKind} of ${foundVersion}`)
  }
  const ignored = Object.keys(given).filter((field) => ignoredFields.includes(field))
  for (const field of ignored) delete given[field]
  return { configuration: merged(defaults, given, { path, wholeMaps }, '') as T, ignored }
}

type Reading = { readonly path: string; readonly wholeMaps: readonly string[] }

function merged(defaults: object, given: Record<string, unknown>, reading: Reading, at: string): object {
  const { path, wholeMaps } = reading
  const result: Record<string, unknown> = { ...defaults }
  for (const [field, value] of Object.entries(given)) {
    const place = at === '' ? field : `${at}.${field}`
    const standard = result[field]
    if (standard === undefined) throw new Error(`${path}: unknown field "${place}"`)
    if (value === null || value === undefined) continue
    if (typeName(value) !== typeName(standard)) throw new Error(`${path}: ${place} is not a ${typeName(standard)}`)
    result[field] = isMap(value) && isMap(standard) && !wholeMaps.includes(place) ? merged(standard, value, reading, place) : value
  }
  return result
}

function typeName(value: unknown): string {
  if (Array.isArray(value)) return 'list'
  return isMap(value) ? 'map' : typeof value
}

const isMap = (value: unknown): value is Record<string, unknown> => value !== null && typeof value === 'object' && !Array.isArray(value)
