/** Where the two versions of OpenAPI differ when they describe a type. */

export type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json | undefined }

/** A JSON schema under construction. */
export type SchemaObject = { [name: string]: Json | undefined }

export type Dialect = {
  readonly version: 2 | 3
  /** A reference with more to say beside it. */
  refer(typeName: string, beside: SchemaObject): SchemaObject
  /** Version 2 documents carry no defaults: clients of old took them for their own. */
  readonly hasDefaults: boolean
}

export const openApiV2: Dialect = {
  version: 2,
  refer: (typeName, beside) => ({ $ref: `#/definitions/${typeName}`, ...beside }),
  hasDefaults: false,
}

export const openApiV3: Dialect = {
  version: 3,
  // Beside a reference everything else is ignored, hence the detour.
  refer(typeName, beside) {
    const reference = { $ref: `#/components/schemas/${typeName}` }
    return isEmpty(beside) ? reference : { allOf: [reference], ...beside }
  },
  hasDefaults: true,
}

function isEmpty(object: object): boolean {
  for (const _ in object) return false
  return true
}
