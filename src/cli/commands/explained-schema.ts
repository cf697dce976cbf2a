import type { ResourceType } from '#cli/session/served-resources.ts'

/** As far as it is explained; version 2 of OpenAPI has no `allOf` and no values of an enumeration here. */
export type Schema = {
  $ref?: string
  type?: string
  description?: string
  properties?: Record<string, Schema>
  required?: string[]
  items?: Schema
  additionalProperties?: Schema | boolean
  allOf?: Schema[]
  enum?: unknown[]
  'x-kubernetes-group-version-kind'?: { group: string; version: string; kind: string }[]
}

/** Of the objects of a resource. */
export function schemaOf({ group, version, kind }: ResourceType, schemas: Readonly<Record<string, Schema>>): Schema | undefined {
  return Object.values(schemas).find((schema) =>
    schema['x-kubernetes-group-version-kind']?.some((each) => each.group === group && each.version === version && each.kind === kind),
  )
}
