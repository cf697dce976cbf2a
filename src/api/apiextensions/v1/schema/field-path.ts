/** Paths into custom resources: `.spec.ports['http']`. */
import { isSchema } from '#api/apiextensions/v1/schema/walk.ts'
import type { V1JSONSchemaProps } from '#api/apiextensions/v1/types.gen.ts'

export type FoundField = {
  segments: string[] /** Which of them are keys of maps. */
  keys: boolean[]
  schema: V1JSONSchemaProps | undefined
}

/** What the path leads to, by the schema. Throws when it leads nowhere, saying why. */
export function followPath(path: string, root: V1JSONSchemaProps, { mayIndex = true } = {}): FoundField {
  const tokens = tokensOf(path)
  const segments: string[] = []
  const keys: boolean[] = []
  let schema: V1JSONSchemaProps | undefined = root
  const step = (name: string) => {
    const isKey = isEmpty(schema?.properties)
    if (schema?.properties !== undefined && !isKey) {
      if (!Object.hasOwn(schema.properties, name)) throw new Error('does not refer to a valid field')
      schema = schema.properties[name]
    } else if (schema?.additionalProperties != null) {
      schema = isSchema(schema.additionalProperties) ? schema.additionalProperties : undefined
    } else throw new Error('does not refer to a valid field')
    segments.push(name)
    keys.push(isKey)
  }
  const next = (): string => {
    const token = tokens.next().value
    if (token === undefined) throw new Error('unexpected end of JSON path')
    return token
  }
  for (const token of { [Symbol.iterator]: () => tokens }) {
    if (token === '.') step(next())
    else if (token === '[') {
      if (!mayIndex) throw new Error('array notation is not allowed')
      const quoted = next()
      if (!/^'.*'$/s.test(quoted) || quoted.length < 2) throw new Error(`expected single quoted string but got ${quoted}`)
      step(quoted.slice(1, -1).replace(/\\(.)/gs, '$1'))
      const closing = next()
      if (closing !== ']') throw new Error(`expected ] but got ${closing}`)
    } else throw new Error(`expected [ or . but got: ${token}`)
  }
  return { segments, keys, schema }
}

/** There may be thousands of them, and a path for each of thousands of rules. */
function isEmpty(properties: V1JSONSchemaProps['properties']): boolean {
  if (properties == null) return true
  const known = emptiness.get(properties)
  if (known !== undefined) return known
  const isNone = Object.keys(properties).length === 0
  emptiness.set(properties, isNone)
  return isNone
}

const emptiness = new WeakMap<object, boolean>()

/** Delimiters, quoted texts, and what stands between them. A quote that nobody closes goes on to the end. */
function* tokensOf(path: string): Generator<string, undefined> {
  for (const [token] of path.matchAll(/'(?:\\.?|[^'\\])*(?:'|$)|[.[\]]|[^.[\]]+/gs)) yield token
}
