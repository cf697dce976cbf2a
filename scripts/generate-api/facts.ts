/** Reads the tables of facts about the API: one line a Go field, a Go type, a protobuf field; JSON for the schema. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

export type GoFieldFact = {
  package: string
  type: string
  order: number
  goField: string
  goType: string
  jsonName: string
  jsonOptions: string[]
  patchStrategy: string
  patchMergeKey: string
  protobufNumber: number
  markers: string[]
}

export type GoTypeFact = { package: string; type: string; underlying: string; markers: string[] }

export type ProtobufFact = {
  package: string
  message: string
  field: string
  number: number
  type: string
  label: string
  jsonName: string
}

export type SchemaProperty = {
  type?: string
  format?: string
  $ref?: string
  default?: unknown
  enum?: string[]
  items?: SchemaProperty
  additionalProperties?: SchemaProperty
  'x-kubernetes-list-type'?: string
  'x-kubernetes-list-map-keys'?: string[]
  'x-kubernetes-map-type'?: string
  'x-kubernetes-patch-strategy'?: string
  'x-kubernetes-patch-merge-key'?: string
}

export type Union = { discriminator?: string; 'fields-to-discriminateBy'?: Record<string, string> }

export type SchemaDefinition = SchemaProperty & {
  required?: string[]
  properties?: Record<string, SchemaProperty>
  'x-kubernetes-group-version-kind'?: { group: string; version: string; kind: string }[]
  'x-kubernetes-unions'?: Union[]
}

/** A served resource; its subresources are not among them. */
export type ResourceFact = {
  group: string
  version: string
  kind: string
  plural: string
  singular: string
  shortNames: string[]
  categories: string[]
  isNamespaced: boolean
  verbs: string[]
  stability: string
}

export type Facts = {
  resources: ResourceFact[]
  goFields: GoFieldFact[]
  goTypes: GoTypeFact[]
  protobuf: ProtobufFact[]
  schema: Record<string, SchemaDefinition>
}

const list = (text: string, separator: string): string[] => (text === '' ? [] : text.split(separator))

export function readFacts(directory: string): Facts {
  return {
    resources: readResources(directory),
    goFields: rowsOf(join(directory, 'go-fields.tsv')).map((row) => ({
      package: row('package'),
      type: row('type'),
      order: Number(row('order')),
      goField: row('goField'),
      goType: row('goType'),
      jsonName: row('jsonName'),
      jsonOptions: list(row('jsonOptions'), ','),
      patchStrategy: row('patchStrategy'),
      patchMergeKey: row('patchMergeKey'),
      protobufNumber: Number(row('protobufNumber')),
      markers: list(row('markers'), ' ; '),
    })),
    goTypes: rowsOf(join(directory, 'go-types.tsv')).map((row) => ({
      package: row('package'),
      type: row('type'),
      underlying: row('underlying'),
      markers: list(row('markers'), ' ; '),
    })),
    protobuf: rowsOf(join(directory, 'protobuf.tsv')).map((row) => ({
      package: row('package'),
      message: row('message'),
      field: row('field'),
      number: Number(row('number')),
      type: row('type'),
      label: row('label'),
      jsonName: row('jsonName'),
    })),
    schema: JSON.parse(readFileSync(join(directory, 'schema.json'), 'utf8')) as Facts['schema'],
  }
}

function readResources(directory: string): ResourceFact[] {
  const names = new Map(
    rowsOf(join(directory, 'resource-names.tsv')).map((row) => [`${row('group')}/${row('version')}/${row('resource')}`, row]),
  )
  return rowsOf(join(directory, 'api-surface.tsv'))
    .filter((row) => row('subresource') === '')
    .map((row) => {
      const key = `${row('group')}/${row('version')}/${row('resource')}`
      const name = names.get(key)
      if (name === undefined) throw new Error(`resource-names.tsv has no line for ${key}`)
      return {
        group: row('group') === 'core' ? '' : row('group'),
        version: row('version'),
        kind: row('kind'),
        plural: row('resource'),
        singular: name('singular'),
        shortNames: list(name('shortNames'), ','),
        categories: list(name('categories'), ','),
        isNamespaced: row('namespaced') === 'true',
        verbs: list(row('verbs'), ','),
        stability: row('stability'),
      }
    })
}

function rowsOf(path: string): ((column: string) => string)[] {
  const [header = '', ...lines] = readFileSync(path, 'utf8').trimEnd().split('\n')
  const columns = new Map(header.split('\t').map((name, index) => [name, index]))
  return lines.map((line) => {
    const cells = line.split('\t')
    return (column) => {
      const index = columns.get(column)
      if (index === undefined) throw new Error(`${path} has no column ${column}`)
      return cells[index] ?? ''
    }
  })
}
