/** Types with a JSON form of their own, which no struct describes. */

import type { LeafKind } from '#api/schema/type-schema.ts'
import { defined } from '#base/defined.ts'
import type { SchemaObject } from './dialect.ts'

const meta = 'io.k8s.apimachinery.pkg.apis.meta.v1'
const apiextensions = 'io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1'

export const namedLeaves: Partial<Record<LeafKind, string>> = {
  time: `${meta}.Time`,
  microTime: `${meta}.MicroTime`,
  duration: `${meta}.Duration`,
  fieldsV1: `${meta}.FieldsV1`,
  quantity: 'io.k8s.apimachinery.pkg.api.resource.Quantity',
  intOrString: 'io.k8s.apimachinery.pkg.util.intstr.IntOrString',
  rawExtension: 'io.k8s.apimachinery.pkg.runtime.RawExtension',
  json: `${apiextensions}.JSON`,
}

export const schemaOrNames = {
  schemaOrArray: `${apiextensions}.JSONSchemaPropsOrArray`,
  schemaOrBool: `${apiextensions}.JSONSchemaPropsOrBool`,
  schemaOrStringArray: `${apiextensions}.JSONSchemaPropsOrStringArray`,
} as const

/** `v3` where version 3 documents say something else. */
type SpecialType = { text: string; v2: SchemaObject; v3?: SchemaObject }

export const specialTypes: Readonly<Record<string, SpecialType>> = {
  [`${meta}.Time`]: {
    text: 'A moment, to the second, in RFC 3339 form: 2026-01-31T12:00:00Z.',
    v2: { type: 'string', format: 'date-time' },
  },
  [`${meta}.MicroTime`]: {
    text: 'A moment, to the microsecond, in RFC 3339 form: 2026-01-31T12:00:00.000000Z.',
    v2: { type: 'string', format: 'date-time' },
  },
  [`${meta}.Duration`]: { text: 'A length of time such as 1h30m, 15s or 500ms.', v2: { type: 'string' } },
  [`${meta}.FieldsV1`]: {
    text: "A set of fields as a tree: f:NAME is a field or a map's key, k:KEYS a list's item by its keys, v:VALUE one by its value, i:INDEX one by its place, and . the thing itself.",
    v2: { type: 'object' },
  },
  [`${meta}.Patch`]: { text: 'The body of a PATCH request; its content type says which kind of patch it is.', v2: { type: 'object' } },
  'io.k8s.apimachinery.pkg.api.resource.Quantity': {
    text: 'An amount of a resource: a decimal number, and a suffix: n, u, m, k, M, G, T, P, E for powers of 1000, Ki, Mi, Gi, Ti, Pi, Ei for powers of 1024, or an exponent such as e3. 0.5 and 500m are the same amount.',
    v2: { type: 'string' },
    v3: { oneOf: [{ type: 'string' }, { type: 'number' }] },
  },
  'io.k8s.apimachinery.pkg.util.intstr.IntOrString': {
    text: 'A whole number or a string: a port by number or name, an amount or a percentage.',
    v2: { type: 'string', format: 'int-or-string' },
    v3: { format: 'int-or-string', oneOf: [{ type: 'integer' }, { type: 'string' }] },
  },
  'io.k8s.apimachinery.pkg.runtime.RawExtension': {
    text: 'An object whose type is known only to those who use it.',
    v2: { type: 'object' },
  },
  [`${apiextensions}.JSON`]: { text: 'Any valid JSON: an object, a list, a string, a number, true, false or null.', v2: {} },
  [schemaOrNames.schemaOrArray]: { text: 'A JSON schema, or a list of them.', v2: {} },
  [schemaOrNames.schemaOrBool]: { text: 'A JSON schema, or whether anything is allowed at all.', v2: {} },
  [schemaOrNames.schemaOrStringArray]: { text: 'A JSON schema, or a list of property names.', v2: {} },
  'io.k8s.apimachinery.pkg.version.Info': {
    text: 'The version of a server.',
    v2: versionInfo(() => ({ type: 'string' })),
    v3: versionInfo((isRequired) => ({ type: 'string', ...defined({ default: isRequired ? '' : undefined }) })),
  },
}

function versionInfo(property: (isRequired: boolean) => SchemaObject): SchemaObject {
  const required = ['major', 'minor', 'gitVersion', 'gitCommit', 'gitTreeState', 'buildDate', 'goVersion', 'compiler', 'platform']
  const others = ['emulationMajor', 'emulationMinor', 'minCompatibilityMajor', 'minCompatibilityMinor']
  const properties = Object.fromEntries([...required, ...others].sort().map((name) => [name, property(required.includes(name))]))
  return { properties, required, type: 'object' }
}
