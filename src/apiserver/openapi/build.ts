/** Builds documents in small steps, so that requests get their turn meanwhile. */
import { inSteps } from '#base/steps.ts'
import { type DefinitionOptions, definitionsFor } from './definition.ts'
import { openApiV2, openApiV3, type SchemaObject } from './dialect.ts'
import { headV2, PathsV2, tailV2 } from './document-v2.ts'
import { headV3, pathItemV3, securitySchemes } from './document-v3.ts'
import { type PathItem, typesOf } from './operation.ts'
import { encodeEnds, encodeEntry, encodeSectionHead, type Section } from './protobuf-v2.ts'
import { mergedParts, type SwaggerParts } from './remote-documents.ts'

export type FormatV2 = 'json' | 'protobuf'

/** Collects the document's parts in one format. */
type Sink = { entry(section: Section, name: string, value: SchemaObject): void; finish(): Buffer }

/** Awaited often; lets others run when it thinks they should. */
export type Breathe = () => Promise<void> | undefined

export async function buildV3(paths: Iterable<PathItem>, options: Omit<DefinitionOptions, 'dialect'>, breathe: Breathe): Promise<Buffer> {
  const items = await byPath(paths, breathe)
  const writtenPaths: string[] = []
  for (const item of items) {
    writtenPaths.push(member(item.path, pathItemV3(item)))
    await breathe()
  }
  const schemas: string[] = []
  for (const [name, schema] of await inSteps(definitionsFor(typesOf(items), { ...options, dialect: openApiV3 }), breathe)) {
    schemas.push(member(name, schema))
    await breathe()
  }
  await breathe()
  const components = `{"schemas":{${schemas.join(',')}},${members({ securitySchemes })}}`
  return Buffer.from(`{${members(headV3)},"paths":{${writtenPaths.join(',')}},"components":${components}}`)
}

export async function buildV2(
  paths: Iterable<PathItem>,
  format: FormatV2,
  options: Omit<DefinitionOptions, 'dialect'>,
  breathe: Breathe,
  remote: readonly SwaggerParts[] = [],
): Promise<Buffer> {
  const sink = format === 'json' ? jsonSink() : protobufSink()
  const items = await byPath(paths, breathe)
  const writer = new PathsV2()
  for (const item of items) {
    sink.entry('paths', item.path, writer.item(item))
    await breathe()
  }
  const definitions = await inSteps(definitionsFor(typesOf(items), { ...options, dialect: openApiV2 }), breathe)
  for (const [name, schema] of definitions) {
    sink.entry('definitions', name, schema)
    await breathe()
  }
  for (const [name, parameter] of [...writer.parameters].sort(byName)) sink.entry('parameters', name, parameter)
  if (remote.length > 0) {
    const known = new Set(definitions.map(([name]) => name))
    for (const [section, entries] of Object.entries(mergedParts(remote, (name) => known.has(name)))) {
      for (const [name, value] of Object.entries(entries)) {
        if (section !== 'parameters' || !writer.parameters.has(name)) sink.entry(section as Section, name, value)
        await breathe()
      }
    }
  }
  await breathe()
  return sink.finish()
}

async function byPath(paths: Iterable<PathItem>, breathe: Breathe): Promise<PathItem[]> {
  const items: PathItem[] = []
  for (const item of paths) {
    items.push(item)
    await breathe()
  }
  return items.sort((one, other) => (one.path < other.path ? -1 : 1))
}

function byName([one]: readonly [string, unknown], [other]: readonly [string, unknown]): number {
  return one < other ? -1 : 1
}

function member(name: string, value: SchemaObject): string {
  return `${JSON.stringify(name)}:${JSON.stringify(value)}`
}

function members(object: SchemaObject): string {
  return JSON.stringify(object).slice(1, -1)
}

function jsonSink(): Sink {
  const sections: Record<Section, string[]> = { paths: [], definitions: [], parameters: [] }
  return {
    entry(section, name, value) {
      sections[section].push(member(name, value))
    },
    finish() {
      const body = Object.entries(sections).map(([name, entries]) => `"${name}":{${entries.join(',')}}`)
      return Buffer.from(`{${members(headV2)},${body.join(',')},${members(tailV2)}}`)
    },
  }
}

function protobufSink(): Sink {
  const sections: Record<Section, Buffer[]> = { paths: [], definitions: [], parameters: [] }
  return {
    entry(section, name, value) {
      sections[section].push(encodeEntry(section, name, value))
    },
    finish() {
      const parts = (Object.entries(sections) as [Section, Buffer[]][]).flatMap(([section, entries]) => [
        encodeSectionHead(
          section,
          entries.reduce((size, entry) => size + entry.length, 0),
        ),
        ...entries,
      ])
      return Buffer.concat([encodeEnds(headV2), ...parts, encodeEnds(tailV2)])
    },
  }
}
