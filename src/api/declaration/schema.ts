/** Schemas of custom resources as values, whose TypeScript types follow from them. */

import type { V1JSONSchemaProps, V1ValidationRule } from '#api/apiextensions/v1/types.gen.ts'
import type { V1Condition } from '#api/meta/v1/types.gen.ts'
import { defined } from '#base/defined.ts'
import { omitEmpty } from '#base/omit-empty.ts'

/** Whether a field is there: always, perhaps, or always once the server has filled in its default. */
type Presence = 'required' | 'optional' | 'defaulted'

/** No value has this key: it carries what objects are read as, and what they may be written as. */
declare const types: unique symbol

/** A structural schema. Fields are required unless they are `optional` or have a default. */
export type Schema<T = unknown, Input = T, P extends Presence = Presence> = {
  readonly json: V1JSONSchemaProps
  readonly presence: P
  readonly [types]?: { value: T; input: Input }
}

// biome-ignore lint/suspicious/noExplicitAny: whatever its type
type AnySchema = Schema<any, any>
type Fields = Readonly<Record<string, AnySchema>>
type Flat<T> = { [Name in keyof T]: T[Name] }
type NamesOf<F extends Fields, P extends Presence> = { [Name in keyof F]: F[Name]['presence'] extends P ? Name : never }[keyof F]

/** What objects of the schema are once the server has taken them. */
export type ValueOf<S> = S extends { readonly [types]?: { value: infer T } } ? T : never
/** What they may be written as: defaults left out. */
export type InputOf<S> = S extends { readonly [types]?: { input: infer T } } ? T : never

type FieldValues<F extends Fields> = Flat<
  { [Name in NamesOf<F, 'required' | 'defaulted'>]: ValueOf<F[Name]> } & { [Name in NamesOf<F, 'optional'>]?: ValueOf<F[Name]> }
>
type FieldInputs<F extends Fields> = Flat<
  { [Name in NamesOf<F, 'required'>]: InputOf<F[Name]> } & { [Name in NamesOf<F, 'optional' | 'defaulted'>]?: InputOf<F[Name]> }
>

type Named = { description?: string /** CEL: `self` is the value, `oldSelf` the one before. */; rules?: readonly V1ValidationRule[] }
type Options<T> = Named & { default?: T }
type PresenceBy<O> = O extends { default: unknown } ? 'defaulted' : 'required'
type NumberOptions = Options<number> &
  Pick<V1JSONSchemaProps, 'format' | 'minimum' | 'maximum' | 'exclusiveMinimum' | 'exclusiveMaximum' | 'multipleOf'>
type StringOptions = Options<string> & Pick<V1JSONSchemaProps, 'format' | 'pattern' | 'minLength' | 'maxLength'>

export function object<F extends Fields, O extends Options<object>>(
  fields: F,
  options?: O,
): Schema<FieldValues<F>, FieldInputs<F>, PresenceBy<O>> {
  const required = Object.keys(fields).filter((name) => fields[name]?.presence === 'required')
  const properties = Object.fromEntries(Object.entries(fields).map(([name, { json }]) => [name, json]))
  return made({ type: 'object', ...omitEmpty({ required }), properties }, options)
}

export function string<O extends StringOptions>(options?: O): Schema<string, string, PresenceBy<O>> {
  return made({ type: 'string' }, options)
}

/** One of these texts. */
export function choice<const T extends string, O extends Options<NoInfer<T>>>(of: readonly T[], options?: O): Schema<T, T, PresenceBy<O>> {
  return made({ type: 'string', enum: [...of] }, options)
}

export function integer<O extends NumberOptions>(options?: O): Schema<number, number, PresenceBy<O>> {
  return made({ type: 'integer' }, options)
}

export function number<O extends NumberOptions>(options?: O): Schema<number, number, PresenceBy<O>> {
  return made({ type: 'number' }, options)
}

export function boolean<O extends Options<boolean>>(options?: O): Schema<boolean, boolean, PresenceBy<O>> {
  return made({ type: 'boolean' }, options)
}

/** RFC 3339, as the API writes times. */
export function time<O extends Options<string>>(options?: O): Schema<string, string, PresenceBy<O>> {
  return made({ type: 'string', format: 'date-time' }, options)
}

/** `80` or `"http"`, `1` or `"25%"`, quantities. */
export function intOrString<O extends Options<number | string>>(options?: O): Schema<number | string, number | string, PresenceBy<O>> {
  return made({ 'x-kubernetes-int-or-string': true }, options)
}

/** Of these items. With `key` each has a key of its own, and appliers share the list by item; with `isSet` no item is there twice. */
export function list<S extends AnySchema, O extends Options<InputOf<S>[]> & ListOptions>(
  items: S,
  options?: O,
): Schema<ValueOf<S>[], InputOf<S>[], PresenceBy<O>> {
  const { key, isSet, ...rest }: ListOptions & Options<InputOf<S>[]> = options ?? {}
  const kind =
    key === undefined
      ? isSet
        ? { 'x-kubernetes-list-type': 'set' }
        : {}
      : { 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': typeof key === 'string' ? [key] : [...key] }
  return made({ type: 'array', items: items.json, ...kind }, rest)
}
type ListOptions = Pick<V1JSONSchemaProps, 'minItems' | 'maxItems'> & { key?: string | readonly string[]; isSet?: boolean }

/** From texts to values, as labels are. */
export function map<S extends AnySchema, O extends Options<Record<string, InputOf<S>>> & Pick<V1JSONSchemaProps, 'maxProperties'>>(
  values: S,
  options?: O,
): Schema<Record<string, ValueOf<S>>, Record<string, InputOf<S>>, PresenceBy<O>> {
  return made({ type: 'object', additionalProperties: values.json }, options)
}

/** An object of which the server knows nothing and keeps everything: a piece of another kind, for one. */
export function anyObject<T extends object = Record<string, unknown>>(options?: Options<T>): Schema<T, T, 'required'> {
  return made({ type: 'object', 'x-kubernetes-preserve-unknown-fields': true }, options)
}

/** Any other schema, for what has no word here. */
export function schema<T>(json: V1JSONSchemaProps): Schema<T, T, 'required'> {
  return made(json)
}

/** The list that `setCondition` keeps. */
export function conditions(): Schema<V1Condition[], V1Condition[], 'optional'> {
  const condition = object({
    type: string(),
    status: choice(['True', 'False', 'Unknown']),
    observedGeneration: optional(integer({ format: 'int64', minimum: 0 })),
    lastTransitionTime: time(),
    reason: string({ maxLength: 1024, minLength: 1 }),
    message: string({ maxLength: 32_768 }),
  })
  return optional(list(condition as unknown as Schema<V1Condition, V1Condition>, { key: 'type' }))
}

export function optional<T, Input>(schema: Schema<T, Input>): Schema<T, Input, 'optional'> {
  return { json: schema.json, presence: 'optional' }
}

export function nullable<T, Input, P extends Presence>(schema: Schema<T, Input, P>): Schema<T | null, Input | null, P> {
  return { json: { ...schema.json, nullable: true }, presence: schema.presence }
}

function made<T, Input, P extends Presence>(json: V1JSONSchemaProps, options: Options<unknown> | undefined = {}): Schema<T, Input, P> {
  const { rules, ...rest } = options
  const presence = rest.default === undefined ? 'required' : 'defaulted'
  return { json: { ...json, ...rest, ...defined({ 'x-kubernetes-validations': rules && [...rules] }) }, presence: presence as P }
}
