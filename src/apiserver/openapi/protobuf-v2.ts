/** OpenAPI 2 documents in protobuf, as the gnostic project lays them out. */
import { ProtobufWriter } from '#wire/protobuf-writer.ts'
import type { Json, SchemaObject } from './dialect.ts'

type Message = {
  /** By the key in JSON: the field's number, and how its value is written. */
  readonly fields: Readonly<Record<string, readonly [number: number, write: FieldWriter]>>
  /** The field that takes every key beginning with `x-`. */
  readonly extensions?: number
}

/** Writes a field, tag included: the value's bytes come first, as the writer goes from back to front. */
type FieldWriter = (writer: ProtobufWriter, number: number, value: Json) => void

const text: FieldWriter = (writer, number, value) => {
  writer.string(value as string)
  writer.uint32((number << 3) | 2)
}

const flag: FieldWriter = (writer, number, value) => {
  writer.bool(value as boolean)
  writer.uint32(number << 3)
}

/** JSON is YAML. */
const any: FieldWriter = within((writer, value) => text(writer, 2, `${JSON.stringify(value)}\n`))

function within(write: (writer: ProtobufWriter, value: Json) => void): FieldWriter {
  return (writer, number, value) => {
    const before = writer.length
    write(writer, value)
    writer.endMessage((number << 3) | 2, before)
  }
}

function repeated(item: FieldWriter): FieldWriter {
  return (writer, number, value) => {
    const items = value as readonly Json[]
    for (let index = items.length - 1; index >= 0; index--) item(writer, number, items[index] as Json)
  }
}

function message(spec: () => Message): FieldWriter {
  return within((writer, value) => writeFields(writer, spec(), value as SchemaObject))
}

/** A message around one field. */
function wrapped(number: number, inner: FieldWriter): FieldWriter {
  return within((writer, value) => inner(writer, number, value))
}

/** A map becomes a list of names and values. */
function named(number: number, value: FieldWriter): FieldWriter {
  return within((writer, map) => {
    for (const [name, each] of Object.entries(map as SchemaObject).reverse()) {
      if (each !== undefined) writeNamed(writer, number, name, each, value)
    }
  })
}

function writeNamed(writer: ProtobufWriter, number: number, name: string, value: Json, write: FieldWriter): void {
  const before = writer.length
  write(writer, 2, value)
  text(writer, 1, name)
  writer.endMessage((number << 3) | 2, before)
}

function writeFields(writer: ProtobufWriter, { fields, extensions }: Message, object: SchemaObject): void {
  for (const [key, value] of Object.entries(object).reverse()) {
    if (value === undefined) continue
    const field = fields[key]
    if (field !== undefined) field[1](writer, field[0], value)
    else if (extensions !== undefined && key.startsWith('x-')) writeNamed(writer, extensions, key, value, any)
  }
}

const texts = repeated(text)

const schema: Message = {
  fields: {
    $ref: [1, text],
    format: [2, text],
    title: [3, text],
    description: [4, text],
    default: [5, any],
    required: [19, texts],
    enum: [20, repeated(any)],
    additionalProperties: [
      21,
      (writer, number, value) =>
        wrapped(typeof value === 'boolean' ? 2 : 1, typeof value === 'boolean' ? flag : schemaValue)(writer, number, value),
    ],
    type: [22, wrapped(1, text)],
    items: [23, wrapped(1, schemaField)],
    allOf: [24, repeated(schemaField)],
    properties: [25, named(1, schemaField)],
  },
  extensions: 31,
}

function schemaField(writer: ProtobufWriter, number: number, value: Json): void {
  schemaValue(writer, number, value)
}

const schemaValue = message(() => schema)

const reference: Message = { fields: { $ref: [1, text], description: [2, text] } }
const bodyParameter: Message = {
  fields: { description: [1, text], name: [2, text], in: [3, text], required: [4, flag], schema: [5, schemaValue] },
}
const queryParameter: Message = {
  fields: { required: [1, flag], in: [2, text], description: [3, text], name: [4, text], type: [6, text], uniqueItems: [20, flag] },
}
const pathParameter: Message = {
  fields: { required: [1, flag], in: [2, text], description: [3, text], name: [4, text], type: [5, text], uniqueItems: [19, flag] },
}

const parameter: FieldWriter = within((writer, value) => {
  switch ((value as SchemaObject)['in']) {
    case 'body':
      message(() => bodyParameter)(writer, 1, value)
      break
    case 'path':
      wrapped(
        4,
        message(() => pathParameter),
      )(writer, 2, value)
      break
    default:
      wrapped(
        3,
        message(() => queryParameter),
      )(writer, 2, value)
  }
})

const parameterOrReference: FieldWriter = within((writer, value) => {
  if ((value as SchemaObject)['$ref'] === undefined) parameter(writer, 1, value)
  else message(() => reference)(writer, 2, value)
})

const response: Message = { fields: { description: [1, text], schema: [2, wrapped(1, schemaValue)] } }

const operation: Message = {
  fields: {
    tags: [1, texts],
    description: [3, text],
    operationId: [5, text],
    produces: [6, texts],
    consumes: [7, texts],
    parameters: [8, repeated(parameterOrReference)],
    responses: [
      9,
      named(
        1,
        wrapped(
          1,
          message(() => response),
        ),
      ),
    ],
    schemes: [10, texts],
  },
  extensions: 13,
}

const methods = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch']

const pathItem: Message = {
  fields: {
    ...Object.fromEntries(methods.map((method, index) => [method, [index + 2, message(() => operation)] as const])),
    parameters: [9, repeated(parameterOrReference)],
  },
}

const apiKey: Message = { fields: { type: [1, text], name: [2, text], in: [3, text], description: [4, text] } }

const ends: Message = {
  fields: {
    swagger: [1, text],
    info: [2, message(() => ({ fields: { title: [1, text], version: [2, text] } }))],
    security: [12, repeated(named(1, wrapped(1, texts)))],
    securityDefinitions: [
      13,
      named(
        1,
        wrapped(
          2,
          message(() => apiKey),
        ),
      ),
    ],
  },
}

/** One for all: an encoding is never left half done. */
const writer = new ProtobufWriter(64 * 1024)

/** What stands around the rest of the document. */
export function encodeEnds(object: SchemaObject): Buffer {
  writeFields(writer, ends, object)
  return writer.finish()
}

const entries = {
  paths: { number: 2, section: 8, write: message(() => pathItem) },
  definitions: { number: 1, section: 9, write: schemaValue },
  parameters: { number: 1, section: 10, write: parameter },
} as const

export type Section = keyof typeof entries

/** One path, definition or parameter, as a part of its section. */
export function encodeEntry(section: Section, name: string, value: SchemaObject): Buffer {
  const { number, write } = entries[section]
  writeNamed(writer, number, name, value, write)
  return writer.finish()
}

/** What goes before the entries of a section, which are this long together. */
export function encodeSectionHead(section: Section, sizeBytes: number): Buffer {
  writer.uint32(sizeBytes)
  writer.uint32((entries[section].section << 3) | 2)
  return writer.finish()
}
