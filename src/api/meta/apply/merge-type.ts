/**
 * What ownership and merging must know of a type: which of its parts can be owned on their own, and by what key the
 * items of a list are told apart.
 */
import type { JsonObject, JsonValue } from '#api/meta/patch/json-value.ts'
import { longestRemembered } from '#base/remembered.ts'
import { fieldElement, keyElement, type PathElement, valueElement } from './path-element.ts'

export type Scalar = 'numeric' | 'string' | 'boolean' | 'untyped'

/** A value takes the form that fits it: most types have one form, those that hold anything have all three. */
export class MergeType {
  readonly scalar: Scalar | undefined
  readonly list: ListForm | undefined
  readonly map: MapForm | undefined
  readonly isMixed: boolean

  constructor(forms: { scalar?: Scalar; list?: ListForm; map?: MapForm }) {
    this.scalar = forms.scalar
    this.list = forms.list
    this.map = forms.map
    this.isMixed = Object.keys(forms).length > 1
  }

  /** The form that the value has, undefined for a scalar. Null fits every form and has the first. */
  formOf(value: JsonValue): ListForm | MapForm | undefined {
    if (this.isMixed && value !== null) {
      if (typeof value !== 'object') return undefined
      return Array.isArray(value) ? this.list : this.map
    }
    return this.map ?? (this.scalar === undefined ? this.list : undefined)
  }
}

/** `atomic` lists and maps are owned as a whole. */
export type ListForm = {
  readonly kind: 'list'
  readonly atomic: boolean
  /** Of a list that is not atomic: the fields that tell items apart. Without keys it is a set of scalars. */
  readonly keys: readonly ListKey[]
  readonly element: MergeType
  /** Path elements of items by the value of their only key: names come again and again. */
  readonly known: Map<string, PathElement>
}

export type ListKey = { readonly name: string /** For items that lack the key. */; readonly default: JsonValue | undefined }

export type MapForm = {
  readonly kind: 'map'
  readonly atomic: boolean
  readonly fields: ReadonlyMap<string, MergeField>
  /** The same fields by their path element. */
  readonly fieldsByElement: ReadonlyMap<PathElement, MergeField>
  /** The type of keys that are no fields; undefined where there may be none. */
  readonly element: MergeType | undefined
}

export type MergeField = { readonly element: PathElement; readonly type: MergeType }

export type KeyDefault = (key: string) => JsonValue | undefined

/** A form whose parts are found on first use: types refer to each other in circles. */
export function lazyList(atomic: boolean, keyNames: readonly string[], element: () => MergeType, defaultOf: KeyDefault): ListForm {
  return new LazyList(atomic, keyNames, element, defaultOf)
}

export function lazyMap(atomic: boolean, names: Iterable<string>, typeOf: TypeOfField, element?: () => MergeType): MapForm {
  return new LazyMap(atomic, names, typeOf, element)
}

type TypeOfField = (name: string) => MergeType

// Classes, of which there are thousands of objects once every kind was written to: getters that an object has of its own, each with what
// it closes over, take eight times the memory.
class LazyList implements ListForm {
  readonly kind = 'list'
  readonly atomic: boolean
  readonly known = new Map<string, PathElement>()
  readonly #keyNames: readonly string[]
  readonly #elementOf: () => MergeType
  readonly #defaultOf: KeyDefault
  #keys: readonly ListKey[] | undefined
  #element: MergeType | undefined

  constructor(atomic: boolean, keyNames: readonly string[], element: () => MergeType, defaultOf: KeyDefault) {
    this.atomic = atomic
    this.#keyNames = keyNames
    this.#elementOf = element
    this.#defaultOf = defaultOf
  }

  get keys(): readonly ListKey[] {
    this.#keys ??= [...this.#keyNames].sort().map((name) => ({ name, default: this.#defaultOf(name) }))
    return this.#keys
  }
  get element(): MergeType {
    this.#element ??= this.#elementOf()
    return this.#element
  }
}

class LazyMap implements MapForm {
  readonly kind = 'map'
  readonly atomic: boolean
  readonly fields: ReadonlyMap<string, MergeField>
  readonly #elementOf: (() => MergeType) | undefined
  #fieldsByElement: ReadonlyMap<PathElement, MergeField> | undefined
  #element: MergeType | undefined

  constructor(atomic: boolean, names: Iterable<string>, typeOf: TypeOfField, element: (() => MergeType) | undefined) {
    this.atomic = atomic
    const fields = new Map<string, MergeField>()
    for (const name of names) fields.set(name, new LazyField(name, typeOf))
    this.fields = fields
    this.#elementOf = element
  }

  get fieldsByElement(): ReadonlyMap<PathElement, MergeField> {
    this.#fieldsByElement ??= new Map(Array.from(this.fields.values(), (field) => [field.element, field]))
    return this.#fieldsByElement
  }
  get element(): MergeType | undefined {
    if (this.#elementOf !== undefined) this.#element ??= this.#elementOf()
    return this.#element
  }
}

class LazyField implements MergeField {
  readonly element: PathElement
  readonly #name: string
  readonly #typeOf: TypeOfField
  #type: MergeType | undefined

  constructor(name: string, typeOf: TypeOfField) {
    this.element = fieldElement(name)
    this.#name = name
    this.#typeOf = typeOf
  }

  get type(): MergeType {
    this.#type ??= this.#typeOf(this.#name)
    return this.#type
  }
}

/** Anything, owned as a whole. */
export const untypedAtomic: MergeType = new MergeType({
  scalar: 'untyped',
  list: lazyList(
    true,
    [],
    () => untypedAtomic,
    () => undefined,
  ),
  map: lazyMap(
    true,
    [],
    () => untypedAtomic,
    () => untypedAtomic,
  ),
})

/** Anything, validated by its looks: maps by key, lists as a whole. For kinds without a schema. */
export const deducedType: MergeType = new MergeType({
  scalar: 'untyped',
  list: untypedAtomic.list as ListForm,
  map: lazyMap(
    false,
    [],
    () => deducedType,
    () => deducedType,
  ),
})

/** The type of a map's key; undefined where the schema does not know it. */
export function typeOfKey(map: MapForm, key: string): MergeType | undefined {
  return map.fields.get(key)?.type ?? map.element
}

const maxKnown = 1_000

/** What tells the item from others of its list. Throws on items that have nothing to be told by. */
export function itemElement(list: ListForm, item: JsonValue): PathElement {
  const { keys, known } = list
  const [only] = keys
  const value =
    only === undefined ? item : keys.length === 1 && typeof item === 'object' && item !== null ? (item as JsonObject)[only.name] : undefined
  if (typeof value !== 'string' || value.length > longestRemembered) return madeElement(list, item)
  let element = known.get(value)
  if (element === undefined) {
    element = madeElement(list, item)
    if (known.size >= maxKnown) known.clear()
    known.set(value, element)
  }
  return element
}

function madeElement({ keys }: ListForm, item: JsonValue): PathElement {
  if (keys.length === 0) {
    if (typeof item !== 'object') return valueElement(item)
    if (item === null) throw new Error("associative list without keys has an element that's an explicit null")
    throw new Error(
      Array.isArray(item)
        ? 'not supported: associative list with lists as elements'
        : "associative list without keys has an element that's a map type",
    )
  }
  if (item === null) throw new Error('associative list with keys may not have a null element')
  if (typeof item !== 'object' || Array.isArray(item)) throw new Error('associative list with keys may not have non-map elements')
  const found: [string, JsonValue][] = []
  for (const key of keys) {
    const given = item[key.name]
    const value = given === undefined ? key.default : given
    if (value !== undefined) found.push([key.name, value])
  }
  if (found.length === 0) {
    const names = `[${keys.map(({ name }) => JSON.stringify(name)).join(' ')}]`
    throw new Error(
      `associative list with keys has an element that omits all key fields ${names} (and doesn't have default values for any key fields)`,
    )
  }
  return keyElement(found)
}
