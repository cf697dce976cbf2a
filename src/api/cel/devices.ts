/** The expressions that pick devices for claims: `device.attributes['gpu.example.com'].model == 'a100'`. */

import { goTypeText } from '#api/cel/admission.ts'
import { estimateCost, type SizeEstimator } from '#api/cel/cost/estimate.ts'
import { Environment, type Program } from '#api/cel/environment.ts'
import { CostExceeded } from '#api/cel/evaluate/frame.ts'
import { kubernetesLibraries, withMore } from '#api/cel/libraries.ts'
import { QuantityValue, quantityType } from '#api/cel/library/quantity.ts'
import { parsedSemver } from '#api/cel/library/semvers.ts'
import { bindMacro } from '#api/cel/syntax/macros.ts'
import { CelCompileError } from '#api/cel/syntax/source.ts'
import { any, bool, mapOf, string, struct } from '#api/cel/types/cel-type.ts'
import { structType } from '#api/cel/types/struct-types.ts'
import { mapOfEntries } from '#api/cel/values/json.ts'
import { CelMap, HashMap, type Value } from '#api/cel/values/value.ts'
import { parseQuantity } from '#api/meta/quantity.ts'

/** Selectors may cost no more than this. */
export const maxSelectorCost = 1_000_000

const maxDomain = 63
const maxId = 32
const maxDriver = 63
const maxEntries = 32
const maxValue = 64

const environment = new Environment({
  libraries: withMore(kubernetesLibraries, { macros: [bindMacro] }),
  variables: { device: struct('kubernetes.DRADevice') },
  structs: [
    structType('kubernetes.DRADevice', {
      driver: string,
      allowMultipleAllocations: bool,
      attributes: mapOf(string, mapOf(string, any)),
      capacity: mapOf(string, mapOf(string, quantityType)),
    }),
  ],
})

/** How long what lies at a path can be; `@values` and names lead from a map to what is in it. */
const sizes: SizeEstimator = ({ path }) => {
  if (path?.[0] !== 'device') return undefined
  const [, field, ...rest] = path
  const upTo = (max: number) => ({ min: 0, max })
  if (field === undefined) return upTo(0)
  if (field === 'driver') return rest.length === 0 ? upTo(maxDriver) : undefined
  if (field === 'allowMultipleAllocations') return upTo(1)
  if (field !== 'attributes' && field !== 'capacity') return undefined
  const [domain, id, ...deeper] = rest
  if (domain === undefined) return upTo(maxEntries)
  if (domain === '@keys') return upTo(maxDomain)
  if (domain !== '@values') return undefined
  if (id === undefined) return upTo(maxEntries)
  if (id === '@keys') return upTo(maxId)
  if (deeper.length > 0) return undefined
  if (field === 'attributes') return upTo(maxValue)
  return id === '@values' ? upTo(0) : undefined
}

export type SelectorResult = { readonly program: Program; readonly maxCost: number } | { readonly detail: string }

/** Tells in upstream's words what is wrong. */
export function compileDeviceSelector(text: string): SelectorResult {
  let program: Program
  try {
    program = environment.compile(text)
  } catch (error) {
    if (error instanceof CelCompileError) return { detail: `compilation failed: ${error.message}` }
    throw error
  }
  if (program.type.kind !== 'bool' && program.type.kind !== 'any')
    return { detail: `must evaluate to bool or the unknown type, not ${goTypeText(program.type)}` }
  return { program, maxCost: estimateCost(program.checked, sizes).max }
}

export type SelectableDevice = {
  readonly driver: string
  readonly allowMultipleAllocations?: boolean
  readonly attributes?: Readonly<Record<string, { int?: number; bool?: boolean; string?: string; version?: string }>>
  readonly capacity?: Readonly<Record<string, { value: string }>>
}

/** A domain nobody has is an empty map, not a mistake. */
class Domains extends CelMap {
  readonly #map: HashMap

  constructor(map: HashMap) {
    super()
    this.#map = map
  }
  get size(): number {
    return this.#map.size
  }
  get(key: Value): Value {
    return this.#map.get(key) ?? new HashMap()
  }
  keys(): Iterable<Value> {
    return this.#map.keys()
  }
}

/** Names without a domain belong to the driver. */
function byDomain<T>(
  entries: Readonly<Record<string, T>> | undefined,
  driver: string,
  toValue: (entry: T, name: string) => Value,
): Domains {
  const domains = new HashMap()
  for (const [name, entry] of Object.entries(entries ?? {})) {
    const slash = name.indexOf('/')
    const domain = slash < 0 ? driver : name.slice(0, slash)
    if (domains.get(domain) === undefined) domains.insert(domain, new HashMap())
    ;(domains.get(domain) as HashMap).insert(name.slice(slash + 1), toValue(entry, name))
  }
  return new Domains(domains)
}

export function deviceValue({ driver, allowMultipleAllocations, attributes, capacity }: SelectableDevice): Value {
  return mapOfEntries([
    ['driver', driver],
    ['allowMultipleAllocations', allowMultipleAllocations ?? false],
    [
      'attributes',
      byDomain(attributes, driver, ({ int, bool: flag, string: text, version }, name) => {
        if (int !== undefined) return BigInt(int)
        if (version !== undefined) return parsedSemver(version)
        const value = flag ?? text
        if (value === undefined) throw new Error(`attribute ${name}: unsupported attribute value`)
        return value
      }),
    ],
    ['capacity', byDomain(capacity, driver, ({ value }) => new QuantityValue(parseQuantity(value)))],
  ])
}

/** Throws what went wrong: a selector that fails is not one that does not match. */
export function deviceMatches(program: Program, device: Value): boolean {
  try {
    const { value } = program.evaluate((name) => (name === 'device' ? device : undefined), maxSelectorCost)
    if (typeof value === 'boolean') return value
    throw new Error(`CEL result of type ${typeof value} could not be converted to bool`)
  } catch (error) {
    if (error instanceof CostExceeded) throw new Error(error.message)
    throw error
  }
}
