/** The schema of every built-in type, read type by type on first use. */
import { kindsIn, readTypeRecord } from './read-record.ts'
import { schemaLines } from './schema.gen.ts'
import type { GroupVersionKind, TypeSchema } from './type-schema.ts'

let lines: Map<string, string> | undefined
const types = new Map<string, TypeSchema>()
let names: Map<string, string> | undefined
const packages = new Map<string, TypePackage>()

/** Types of one Go package that the generated schema lacks; none is read before it is asked for. */
export type TypePackage = {
  typeNames(): Iterable<string>
  /** Which of them are kinds. */
  kinds(): Iterable<GroupVersionKind>
  /** By its name in Go; undefined where there is none. */
  read(goName: string): TypeSchema | undefined
}

function linesByName(): Map<string, string> {
  if (lines !== undefined) return lines
  lines = new Map()
  for (const line of schemaLines.split('\n')) if (line !== '') lines.set(line.slice(2, line.indexOf('"', 2)), line)
  return lines
}

/** Throws where there is no type of that name. */
export function schemaOf(name: string): TypeSchema {
  const type = findSchema(name)
  if (type === undefined) throw new Error(`the schema has no type ${name}`)
  return type
}

export function findSchema(name: string): TypeSchema | undefined {
  const known = types.get(name)
  if (known !== undefined) return known
  const line = linesByName().get(name)
  const type = line === undefined ? findInPackages(name) : readTypeRecord(line, schemaOf)
  if (type !== undefined) types.set(name, type)
  return type
}

function findInPackages(name: string): TypeSchema | undefined {
  const dot = name.lastIndexOf('.')
  return packages.get(name.slice(0, dot))?.read(name.slice(dot + 1))
}

/**
 * Adds types that the generated schema lacks, such as those of versions that are served for old manifests only.
 * Meant for module level: what arrives while a server runs (custom resources) is handed around as a value instead.
 */
export function addSchemas(added: Iterable<TypeSchema>): void {
  for (const type of added) types.set(type.name, type)
  names = undefined
}

/** As addSchemas, for a package (`io.k8s.api.settings.v1alpha1`), which may be one that the generated schema has in part. */
export function addPackage(name: string, added: TypePackage): void {
  packages.set(name, added)
  names = undefined
}

export function schemaNames(): string[] {
  const all = new Set([...linesByName().keys(), ...types.keys()])
  for (const [home, { typeNames }] of packages) for (const goName of typeNames()) all.add(`${home}.${goName}`)
  return [...all]
}

/** Kinds that every group and version has. */
const everywhere = new Set(['CreateOptions', 'DeleteOptions', 'GetOptions', 'ListOptions', 'PatchOptions', 'UpdateOptions', 'WatchEvent'])

/** The type of a kind. */
export function schemaNameOf({ group, version, kind }: GroupVersionKind): string | undefined {
  if (names === undefined) {
    names = new Map()
    for (const [name, line] of linesByName()) for (const key of kindsIn(line)) names.set(key, name)
    for (const type of types.values()) for (const each of type.groupVersionKinds) names.set(keyOf(each), type.name)
    for (const [home, { kinds }] of packages) for (const each of kinds()) names.set(keyOf(each), `${home}.${each.kind}`)
  }
  return names.get(keyOf({ group, version, kind })) ?? (everywhere.has(kind) ? `io.k8s.apimachinery.pkg.apis.meta.v1.${kind}` : undefined)
}

const keyOf = ({ group, version, kind }: GroupVersionKind): string => `${group}/${version}/${kind}`
