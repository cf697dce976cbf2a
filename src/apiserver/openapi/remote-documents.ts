/** Documents of other servers, among this one's own. */
import type { SchemaObject } from './dialect.ts'

export type SwaggerParts = Readonly<Record<'paths' | 'definitions' | 'parameters', Readonly<Record<string, SchemaObject>>>>

export type RemoteDocuments = {
  /** The version 3 documents by name (`apis/wardle.example.com/v1`), and where each server has its own. */
  index(): ReadonlyMap<string, string>
  /** Another server has the document of that name, or should. */
  owns(name: string): boolean
  /** What they say in version 2, and a text that changes with it. */
  v2(): Promise<readonly { readonly hash: string; readonly parts: SwaggerParts }[]>
}

/**
 * Puts documents of several servers into one. Names of types that all servers have are believed to mean the same; where two others
 * use a name for different things, the second gets another name.
 */
export function mergedParts(all: readonly SwaggerParts[], isKnown: (name: string) => boolean): SwaggerParts {
  const merged = {
    paths: {} as Record<string, SchemaObject>,
    definitions: {} as Record<string, SchemaObject>,
    parameters: {} as Record<string, SchemaObject>,
  }
  for (const parts of all) {
    const names = new Map<string, string>()
    for (const [name, definition] of Object.entries(parts.definitions)) {
      if (!isKnown(name)) names.set(name, freeName(name, definition, merged.definitions))
    }
    const parameters = new Map(
      Object.entries(parts.parameters).map(([name, each]): [string, string] => [name, freeName(name, each, merged.parameters)]),
    )
    const renamed = (value: SchemaObject) => withNames(value, names, parameters) as SchemaObject
    for (const [name, definition] of Object.entries(parts.definitions)) {
      const own = names.get(name)
      if (own !== undefined) merged.definitions[own] = renamed(definition)
    }
    for (const [name, parameter] of Object.entries(parts.parameters)) merged.parameters[parameters.get(name) ?? name] = renamed(parameter)
    for (const [path, item] of Object.entries(parts.paths)) merged.paths[path] = renamed(item)
  }
  return merged
}

function freeName(name: string, value: SchemaObject, taken: Readonly<Record<string, SchemaObject>>): string {
  const text = JSON.stringify(value)
  for (let number = 1; ; number++) {
    const candidate = number === 1 ? name : `${name}_v${number}`
    if (!Object.hasOwn(taken, candidate) || JSON.stringify(taken[candidate]) === text) return candidate
  }
}

const reference = /^#\/(definitions|parameters)\/(.*)$/

function withNames(value: unknown, definitions: ReadonlyMap<string, string>, parameters: ReadonlyMap<string, string>): unknown {
  if (Array.isArray(value)) return value.map((each) => withNames(each, definitions, parameters))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, each]) => {
      const [, section, name = ''] = key === '$ref' && typeof each === 'string' ? (reference.exec(each) ?? []) : []
      if (section === undefined) return [key, withNames(each, definitions, parameters)]
      return [key, `#/${section}/${(section === 'definitions' ? definitions : parameters).get(name) ?? name}`]
    }),
  )
}
