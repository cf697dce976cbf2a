/** A custom resource with every sort of list and map that a schema can have, and these as fields to be filled. */
import { stringsSchema } from './custom-strings.ts'
import type { LongField, Variant } from './long-fields.ts'

type Schema = {
  type?: 'object' | 'array' | 'string' | 'integer' | 'boolean'
  properties?: Record<string, Schema>
  additionalProperties?: Schema
  items?: Schema
  [extra: string]: unknown
}

const text: Schema = { type: 'string' }
const entry: Schema = {
  type: 'object',
  required: ['name'],
  properties: {
    name: { ...text, maxLength: 100 },
    port: { type: 'integer', maximum: 65535, default: 1 },
    tags: { type: 'array', items: text },
  },
}

const spec: Schema = {
  type: 'object',
  properties: {
    texts: { type: 'array', items: text },
    set: { type: 'array', items: text, 'x-kubernetes-list-type': 'set' },
    keyed: { type: 'array', items: entry, 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['name'] },
    objects: { type: 'array', items: entry, 'x-kubernetes-list-type': 'atomic' },
    unique: { type: 'array', items: { ...text, pattern: '^[a-z0-9]+$' } },
    chosen: { type: 'array', items: { ...text, enum: ['a', 'b'] } },
    checked: {
      type: 'array',
      maxItems: 30_000,
      items: { ...text, maxLength: 20, 'x-kubernetes-validations': [{ rule: "self != 'forbidden'" }] },
    },
    labels: { type: 'object', additionalProperties: text },
    nested: { type: 'object', additionalProperties: entry },
    granular: { type: 'object', 'x-kubernetes-map-type': 'granular', additionalProperties: { type: 'integer' } },
    free: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
    either: { type: 'array', items: { 'x-kubernetes-int-or-string': true } },
  },
}

export const attackedDefinition = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'attacked.attack.example.com' },
  spec: {
    group: 'attack.example.com',
    scope: 'Namespaced',
    names: { plural: 'attacked', singular: 'attacked', kind: 'Attacked', listKind: 'AttackedList' },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        schema: { openAPIV3Schema: { type: 'object', properties: { spec, strings: stringsSchema } } },
      },
    ],
  },
}

export function customFields(): LongField[] {
  const apiVersion = 'attack.example.com/v1'
  return Object.entries(spec.properties ?? {}).map(([name, schema]) => ({
    apiVersion,
    kind: 'Attacked',
    path: ['spec', name],
    type: `Attacked.${name}`,
    mergeKey: undefined,
    sound: () => ({ apiVersion, kind: 'Attacked', metadata: {}, spec: {} }),
    value: (count, variant) => longValue(schema, count, variant),
  }))
}

function longValue(schema: Schema, count: number, variant: Variant): unknown {
  const numbers = Array.from({ length: count }, (_, index) => index)
  if (schema.type === 'array') return numbers.map((index) => sample(schema.items ?? {}, variant === 'different' ? index : 0, variant))
  const values = schema.additionalProperties ?? {}
  return Object.fromEntries(numbers.map((index) => [variant === 'invalid' ? `/${index}//` : `k${index}`, sample(values, index, variant)]))
}

function sample(schema: Schema, index: number, variant: Variant): unknown {
  if (schema.properties !== undefined) {
    return Object.fromEntries(Object.entries(schema.properties).map(([name, each]) => [name, sample(each, index, variant)]))
  }
  if (schema.type === 'array') return [sample(schema.items ?? {}, index, variant)]
  if (schema.type === 'integer') return variant === 'invalid' ? 'x' : index
  if (schema.type === 'string') return variant === 'invalid' ? `~!${index}` : `v${index}`
  return variant === 'invalid' ? { a: [index] } : index
}
