/** Types of expressions, from the schemas that a server publishes (OpenAPI v3). */
import { bool, bytes, type CelType, double, duration, dyn, int, listOf, mapOf, string, struct, timestamp } from '#api/cel/types/cel-type.ts'
import type { StructType } from '#api/cel/types/declarations.ts'
import { escapedName } from '#api/cel/values/escaped-names.ts'

export type OpenApiSchema = {
  readonly $ref?: string
  readonly allOf?: readonly OpenApiSchema[]
  readonly type?: string
  readonly format?: string
  readonly properties?: Readonly<Record<string, OpenApiSchema>>
  readonly items?: OpenApiSchema
  readonly additionalProperties?: OpenApiSchema | boolean
  readonly 'x-kubernetes-int-or-string'?: boolean
  readonly 'x-kubernetes-group-version-kind'?: readonly { readonly group?: string; readonly version: string; readonly kind: string }[]
}

const referencePrefix = '#/components/schemas/'

/** Fields are looked at as they are named, since schemas may hold themselves. */
export class OpenApiTypes {
  readonly #schemas: Readonly<Record<string, OpenApiSchema>>
  readonly #structs = new Map<string, StructType>()

  constructor(schemas: Readonly<Record<string, OpenApiSchema>>) {
    this.#schemas = schemas
  }

  /** Undefined for what the server does not describe. */
  typeOfKind(group: string, version: string, kind: string): CelType | undefined {
    for (const [name, schema] of Object.entries(this.#schemas)) {
      const isIt = schema['x-kubernetes-group-version-kind']?.some(
        (each) => (each.group ?? '') === group && each.version === version && each.kind === kind,
      )
      if (isIt) return this.#typeOf(schema, name)
    }
    return undefined
  }

  readonly structNamed = (name: string): StructType | undefined => this.#structs.get(name)

  /** Undefined for what expressions do not see. */
  #typeOf(schema: OpenApiSchema, name: string): CelType | undefined {
    const reference = schema.$ref ?? (schema.allOf?.length === 1 ? schema.allOf[0]?.$ref : undefined)
    if (reference !== undefined) {
      const target = reference.slice(referencePrefix.length)
      const referred = this.#schemas[target]
      return referred && this.#typeOf(referred, target)
    }
    if (schema['x-kubernetes-int-or-string'] || schema.format === 'int-or-string') return dyn
    switch (schema.type) {
      case 'array': {
        const element = schema.items && this.#typeOf(schema.items, `${name}.@idx`)
        return element && listOf(element)
      }
      case 'object': {
        const { additionalProperties } = schema
        if (typeof additionalProperties !== 'object') return this.#structOf(schema, name)
        const element = this.#typeOf(additionalProperties, `${name}.@elem`)
        return element && mapOf(string, element)
      }
      case 'string':
        return stringTypes[schema.format ?? ''] ?? string
      case 'boolean':
        return bool
      case 'number':
        return double
      case 'integer':
        return int
      default:
        return undefined
    }
  }

  #structOf({ properties = {} }: OpenApiSchema, name: string): CelType {
    if (!this.#structs.has(name)) {
      const byEscapedName = new Map(Object.keys(properties).map((property) => [escapedName(property) ?? '', property]))
      const field = (written: string) => {
        const property = byEscapedName.get(written) ?? (Object.hasOwn(properties, written) ? written : '')
        const schema = properties[property]
        return schema && this.#typeOf(schema, `${name}.${property}`)
      }
      this.#structs.set(name, { name, field })
    }
    return struct(name)
  }
}

const stringTypes: Readonly<Record<string, CelType>> = { byte: bytes, duration, date: timestamp, 'date-time': timestamp }
