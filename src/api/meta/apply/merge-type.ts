/**
 * What ownership and merging must know of a type: which of its parts can be owned on their own, and by what key the
 * items of a list are told apart.
 */
import type { JsonObject, JsonValue } from '#api/meta/patch/json-value.ts'
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

/** A form whose parts are found on first use: types refer to each other in circles. */
export function lazyList(atomic: boolean, keyNames: readonly string[], element: () => MergeType, defaultOf: KeyDefault): ListForm {
  let resolved: MergeType | undefined
  let keys: readonly ListKey[] | undefined
  return {
    kind: 'list',
    atomic,
    known: new Map(),
    get keys() {
      keys ??= [...keyNames].sort().map((name) => ({ name, default: defaultOf(name) }))
      return keys
    },
    get element() {
      resolved ??= element()
      return resolved
    },
  }
}

export type KeyDefault = (key: string) => JsonValue | undefined

export function lazyMap(atomic: boolean, names: Iterable<string>, typeOf: (name: string) => MergeType, element?: () => MergeType): MapForm {
  const fields = new Map<string, MergeField>()
  const fieldsByElement = new Map<PathElement, MergeField>()
  for (const name of names) {
    let type: MergeType | undefined
    const field: MergeField = {
      element: fieldElement(name),
      get type() {
        type ??= typeOf(name)
        return type
      },
    }
    fields.set(name, field)
    fieldsByElement.set(field.element, field)
  }
  let resolved: MergeType | undefined
  return {
    kind: 'map',
    atomic,
    fields,
    fieldsByElement,
    get element() {
      if (element !== undefined) resolved ??= element()
      return resolved
    },
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
  if (typeof value !== 'string') return madeElement(list, item)
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
