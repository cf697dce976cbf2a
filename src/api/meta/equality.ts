/**
 * Whether two values of the API mean the same, as upstream's Semantic.DeepEqual has it for its structs: what is no pointer
 * is the same absent and zero, an empty list or map is the same as none, quantities and times compare by value.
 */
import type { Kind } from '#api/kind.ts'
import { compareValues } from '#api/meta/compare-values.ts'
import { equalJson } from '#api/meta/patch/json-value.ts'
import type { V1ObjectMeta } from '#api/meta/v1/types.gen.ts'
import type { KubernetesObject } from '#api/resource.ts'
import { schemaOf } from '#api/schema/schema.ts'
import type { ValueSchema } from '#api/schema/type-schema.ts'

type Field<T> = keyof NonNullable<T> & string
type Inside<T> = NonNullable<T> extends readonly (infer I)[] ? I : NonNullable<T> extends { readonly [key: string]: infer V } ? V : never
/** Parts of objects may be compared as well: those whose rest is not to matter. */
type Part<T> = T extends readonly (infer I)[]
  ? readonly Part<I>[]
  : T extends object
    ? { readonly [K in keyof T]?: Part<T[K]> | undefined }
    : T
type Compared<T> = Part<T> | null | undefined

export type Equality<T> = {
  (one: Compared<T>, other: Compared<T>): boolean
  /** For values of a field. */
  at<const K extends Field<T>>(field: K): Equality<NonNullable<T>[K]>
  /** For a list's items, or the values of a map. */
  readonly each: Equality<Inside<T>>
}

/** For objects of a kind. Those of custom resources have no struct: they are the same if their JSON is. */
export function equalityOf<T extends KubernetesObject>({ schema }: Pick<Kind<T>, 'schema'> & Partial<Kind<T>>): Equality<T> {
  return schema === '' ? (plainEquality as unknown as Equality<T>) : equalityOfType<T>(schema)
}

const byName = new Map<string, Equality<unknown>>()

/** For a type by its name in the schema: `io.k8s.api.core.v1.Toleration`. */
function equalityOfType<T>(name: string): Equality<T> {
  let known = byName.get(name)
  if (known === undefined) {
    known = equality(() => ({ kind: 'message', pointer: false, goType: '', type: schemaOf(name) }))
    byName.set(name, known)
  }
  return known as Equality<T>
}

export const sameObjectMeta: Equality<V1ObjectMeta> = equalityOfType('io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta')

/** For values without a type: their JSON says all. Null and undefined are alike at the top. */
export const plainEqual = (one: unknown, other: unknown): boolean => equalJson(one ?? null, other ?? null)

/** Made once for each place that is asked for; nothing is read from the schema before the first comparison. */
function equality<T>(resolve: () => ValueSchema | undefined): Equality<T> {
  let compare: ((one: unknown, other: unknown) => boolean) | undefined
  let items: Equality<unknown> | undefined
  const fields = new Map<string, Equality<unknown>>()
  const inside = (step: (value: ValueSchema) => ValueSchema) =>
    equality(() => {
      const value = resolve()
      return value && step(value)
    })
  const same = (one: unknown, other: unknown): boolean => {
    if (compare === undefined) {
      const value = resolve()
      compare = value === undefined ? plainEqual : compareValues(value)
    }
    return compare(one, other)
  }
  const at = (name: string): Equality<unknown> => {
    let known = fields.get(name)
    if (known === undefined) {
      known = inside((value) => fieldIn(value, name))
      fields.set(name, known)
    }
    return known
  }
  const each = (): Equality<unknown> => (items ??= inside(itemsIn))
  return Object.defineProperties(same, { at: { value: at }, each: { get: each } }) as unknown as Equality<T>
}

const plainEquality: Equality<never> = equality(() => undefined)

function fieldIn(value: ValueSchema, name: string): ValueSchema {
  const field = value.kind === 'message' ? value.type.fieldsByName.get(name) : undefined
  if (field === undefined) throw new Error(`${value.kind === 'message' ? value.type.name : value.goType} has no field ${name}`)
  return field.value
}

function itemsIn(value: ValueSchema): ValueSchema {
  if (value.kind === 'list') return value.items
  if (value.kind === 'map') return value.values
  throw new Error(`${value.goType} has no items`)
}
