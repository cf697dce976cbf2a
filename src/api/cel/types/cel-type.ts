/** What an expression may be, as far as that is known before it runs. */

type SimpleKind = 'dyn' | 'any' | 'error' | 'null' | 'bool' | 'int' | 'uint' | 'double' | 'string' | 'bytes' | 'timestamp' | 'duration'

export type CelType =
  | { readonly kind: SimpleKind }
  | { readonly kind: 'list'; readonly element: CelType }
  | { readonly kind: 'map'; readonly key: CelType; readonly value: CelType }
  /** The type of a type; of an unknown one where `of` is missing. */
  | { readonly kind: 'type'; readonly of?: CelType }
  /** Stands for whatever it is used with. */
  | { readonly kind: 'parameter'; readonly name: string }
  /** A type of a library, such as `optional_type`. */
  | { readonly kind: 'opaque'; readonly name: string; readonly parameters: readonly CelType[] }
  /** Has fields, which the environment's types know by this name. */
  | { readonly kind: 'struct'; readonly name: string }
  /** A scalar that may be null. */
  | { readonly kind: 'wrapper'; readonly of: CelType }

const simple = <Kind extends SimpleKind>(kind: Kind) => ({ kind }) as const

export const dyn: CelType = simple('dyn')
export const any: CelType = simple('any')
export const errorType: CelType = simple('error')
export const nullType: CelType = simple('null')
export const bool: CelType = simple('bool')
export const int: CelType = simple('int')
export const uint: CelType = simple('uint')
export const double: CelType = simple('double')
export const string: CelType = simple('string')
export const bytes: CelType = simple('bytes')
export const timestamp: CelType = simple('timestamp')
export const duration: CelType = simple('duration')

export const listOf = (element: CelType): CelType => ({ kind: 'list', element })
export const mapOf = (key: CelType, value: CelType): CelType => ({ kind: 'map', key, value })
export const typeOf = (of?: CelType): CelType => (of === undefined ? { kind: 'type' } : { kind: 'type', of })
export const parameter = (name: string): CelType => ({ kind: 'parameter', name })
export const opaque = (name: string, ...parameters: CelType[]): CelType => ({ kind: 'opaque', name, parameters })
export const struct = (name: string): CelType => ({ kind: 'struct', name })
export const optionalOf = (of: CelType): CelType => opaque('optional_type', of)

export const isDyn = ({ kind }: CelType): boolean => kind === 'dyn' || kind === 'any'
export const isDynOrError = (type: CelType): boolean => isDyn(type) || type.kind === 'error'

/** What is in the optional; undefined when it is none. */
export function optionalContent(type: CelType): CelType | undefined {
  return type.kind === 'opaque' && type.name === 'optional_type' ? type.parameters[0] : undefined
}

export function parametersOf(type: CelType): readonly CelType[] {
  switch (type.kind) {
    case 'list':
      return [type.element]
    case 'map':
      return [type.key, type.value]
    case 'type':
      return type.of === undefined ? [] : [type.of]
    case 'opaque':
      return type.parameters
    default:
      return []
  }
}

const names: Partial<Record<CelType['kind'], string>> = { error: '!error!' }

/** As messages spell it. */
export function typeText(type: CelType): string {
  switch (type.kind) {
    case 'list':
      return `list(${typeText(type.element)})`
    case 'map':
      return `map(${typeText(type.key)}, ${typeText(type.value)})`
    case 'type':
      return type.of === undefined ? 'type' : `type(${typeText(type.of)})`
    case 'wrapper':
      return `wrapper(${typeText(type.of)})`
    case 'opaque':
      return type.parameters.length === 0 ? type.name : `${type.name}(${type.parameters.map(typeText).join(', ')})`
    case 'struct':
    case 'parameter':
      return type.name
    default:
      return names[type.kind] ?? type.kind
  }
}

export function sameType(one: CelType, other: CelType): boolean {
  if (one === other) return true
  if (one.kind !== other.kind) return false
  if ('name' in one && 'name' in other && one.name !== other.name) return false
  if (one.kind === 'wrapper') return other.kind === 'wrapper' && sameType(one.of, other.of)
  const ours = parametersOf(one)
  const theirs = parametersOf(other)
  return ours.length === theirs.length && ours.every((each, index) => sameType(each, theirs[index] as CelType))
}
