/** Types written by hand: those of versions that are served for old manifests only, and that upstream's sources have no more. */
import { type FieldRecord, readField } from './read-record.ts'
import { addPackage, schemaOf } from './schema.ts'
import type { FieldSchema, TypeSchema, ValueSchema } from './type-schema.ts'

export type WrittenTypes = {
  /** `io.k8s.api.settings.v1alpha1` */
  package: string
  group: string
  version: string
  /**
   * A type a line, its fields below it, two spaces in: `name GoName type flags number`, as in the lines of the generated schema;
   * `meta.` and `core.` stand for the packages of those. A field that is there already is replaced.
   *
   * `kind` before a type adds what every kind has, and the type of its list. `like apps.v1.DeploymentSpec` takes the fields of
   * that type, `like apps.v1` those of its namesake, `without` leaves some of them out; where this package has a type of the
   * same name as the other's, fields are of this one's. Types that differ in their names alone may share a line: `A,B like apps.v1`.
   */
  text: string
}

type Written = { isKind: boolean; like: string | undefined; without: readonly string[]; fields: FieldRecord[] }

const meta = 'io.k8s.apimachinery.pkg.apis.meta.v1'
const core = 'io.k8s.api.core.v1'

/** Returns the name that the schema has for a type of the package. Meant for module level. */
export function writeTypes({ package: home, group, version, text }: WrittenTypes): (goName: string) => string {
  let written: Map<string, Written> | undefined
  const all = (): Map<string, Written> => {
    written ??= parse(text)
    return written
  }
  addPackage(home, {
    typeNames: () => [...all()].flatMap(([name, { isKind }]) => (isKind ? [name, `${name}List`] : [name])),
    // Without reading the rest, of which most is never asked for.
    kinds: () => kindsIn(text).flatMap((kind) => [kind, `${kind}List`].map((kind) => ({ group, version, kind }))),
    read(goName) {
      const kind = goName.endsWith('List') ? goName.slice(0, -'List'.length) : ''
      if (all().get(kind)?.isKind) return type(goName, listFields(kind))
      const found = all().get(goName)
      return found && type(goName, fieldsOf(found, home, all()), found.isKind)
    },
  })

  function type(goName: string, fields: readonly FieldSchema[], isKind = true): TypeSchema {
    return {
      name: `${home}.${goName}`,
      goName,
      fields,
      fieldsByName: new Map(fields.map((field) => [field.name, field])),
      groupVersionKinds: isKind ? [{ group, version, kind: goName }] : [],
      unions: [],
    }
  }
  const listFields = (kind: string): FieldSchema[] =>
    [...typeMeta, ['metadata', 'ListMeta', `@${meta}.ListMeta`, 'o', 1], ['items', 'Items', `[@.${kind}`, 'r', 2]].map((record) =>
      readField(record as FieldRecord, home, schemaOf),
    )

  return (goName) => `${home}.${goName}`
}

const typeMeta: FieldRecord[] = [
  ['kind', 'Kind', 's', 'o', 0],
  ['apiVersion', 'APIVersion', 's', 'o', 0],
]

function fieldsOf({ isKind, like, without, fields }: Written, home: string, own: ReadonlyMap<string, Written>): FieldSchema[] {
  const model = like === undefined ? [] : schemaOf(like).fields.filter(({ name }) => !without.includes(name))
  const found = new Map(model.map((field) => [field.name, { ...field, value: rebased(field.value, packageOf(like ?? ''), home, own) }]))
  const standard: FieldRecord[] =
    isKind && like === undefined ? [...typeMeta, ['metadata', 'ObjectMeta', `@${meta}.ObjectMeta`, 'o', 1]] : []
  for (const record of [...standard, ...fields]) found.set(record[0], readField(record, home, schemaOf))
  return [...found.values()]
}

const packageOf = (name: string): string => name.slice(0, name.lastIndexOf('.'))

/** A value of a type of the model's package is one of this package's, where that has it. */
function rebased(value: ValueSchema, model: string, home: string, own: ReadonlyMap<string, Written>): ValueSchema {
  if (value.kind === 'list') return { ...value, items: rebased(value.items, model, home, own) }
  if (value.kind === 'map') return { ...value, values: rebased(value.values, model, home, own) }
  if (value.kind !== 'message') return value
  const { name, goName } = value.type
  if (packageOf(name) !== model || !own.has(goName)) return value
  const { pointer } = value
  const version = home.slice(home.lastIndexOf('.') + 1)
  return {
    kind: 'message',
    pointer,
    goType: `${version}.${goName}`,
    get type() {
      return schemaOf(`${home}.${goName}`)
    },
  }
}

function kindsIn(text: string): string[] {
  return Array.from(text.matchAll(/^kind ([\w,]+)/gm), ([, names = '']) => names.split(',')).flat()
}

function parse(text: string): Map<string, Written> {
  const types = new Map<string, Written>()
  let current: Written | undefined
  for (const line of text.split('\n')) {
    if (line.trim() === '') continue
    if (line.startsWith('  ')) {
      current?.fields.push(parseField(line.trim()))
      continue
    }
    const [, kind, names = '', model, without = ''] = /^(kind )?([\w,]+)(?: like (\S+))?(?: without (\S+))?$/.exec(line) ?? []
    if (names === '') throw new Error(`${line} declares no type`)
    for (const name of names.split(',')) {
      current = { isKind: kind !== undefined, like: model && modelName(model, name), without: without.split(','), fields: [] }
      types.set(name, current)
    }
  }
  return types
}

function modelName(model: string, name: string): string {
  const isPackage = /\.v\d[a-z0-9]*$/.test(model)
  return `io.k8s.api.${isPackage ? `${model}.${name}` : model}`
}

/** Traits, if there are any, come last, as JSON. */
function parseField(line: string): FieldRecord {
  const [, name = '', goName = '', type = '', flags = '', number, traits] = /^(\S+) (\S+) (\S+) (\S+) (\d+)(?: (.+))?$/.exec(line) ?? []
  if (name === '') throw new Error(`${line} declares no field`)
  const code = type.replace('@meta.', `@${meta}.`).replace('@core.', `@${core}.`)
  const record = [name, goName, code, flags === '-' ? '' : flags, Number(number)] as const
  return traits === undefined ? [...record] : [...record, JSON.parse(traits) as NonNullable<FieldRecord[5]>]
}
