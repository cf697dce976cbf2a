/**
 * Writes facts/internal-structs.txt: how the structs behind the API look when upstream quotes one in an error message.
 *
 *   node scripts/extract-internal-structs.ts KUBERNETES-SOURCE    a source tree of the version that facts/ is of
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

type Field = { name: string; type: string; tag: string }

const factsDirectory = join(import.meta.dirname, '..', 'facts')
const [source] = process.argv.slice(2)
if (source === undefined) throw new Error('usage: node scripts/extract-internal-structs.ts KUBERNETES-SOURCE')

const structs = new Map<string, Field[]>()
const aliases = new Map<string, string>()
const scalars: Record<string, string> = {
  string: 's',
  bool: 'b',
  byte: 'i',
  int: 'i',
  int32: 'i',
  int64: 'i',
  uint32: 'i',
  uint64: 'i',
  float64: 'i',
  'types.UID': 's',
  'types.NodeName': 's',
  'types.NamespacedName': 's',
  'metav1.Time': 't',
  'metav1.MicroTime': 't',
  'metav1.Duration': 'd',
  'resource.Quantity': 'q',
  'intstr.IntOrString': 'n',
  'runtime.Object': 'r',
  'runtime.RawExtension': 'r',
  'runtime.Unknown': 'r',
  'metav1.FieldsV1': 'r',
  '[]byte': 'y',
}

/** Names of fields in JSON, by group, type and Go name; the newest version that has the field wins. */
const jsonNames = new Map<string, string>()

function readFacts(path: string): void {
  const rows = readFileSync(path, 'utf8')
    .split('\n')
    .slice(1)
    .map((line) => line.split('\t'))
  const age = (groupVersion: string) => (/v\d+$/.test(groupVersion) ? 2 : groupVersion.includes('beta') ? 1 : 0)
  rows.sort((a, b) => age(a[0] ?? '') - age(b[0] ?? ''))
  for (const [groupVersion = '', type, , goField, goType = '', json = '', options = ''] of rows) {
    const group = groupVersion.split('/')[0]
    if (goField !== '(embedded)') jsonNames.set(`${group}.${type}.${goField}`, json)
    if (groupVersion !== 'meta/v1' || type === undefined || type.endsWith('List')) continue
    const fields = structs.get(`meta.${type}`) ?? []
    const embedded = goField === '(embedded)'
    const optional = options.includes('omitempty') || options.includes('omitzero') ? ',omitempty' : ''
    fields.push({ name: embedded ? '' : (goField ?? ''), type: goType, tag: embedded ? '' : `${json}${optional}` })
    structs.set(`meta.${type}`, fields)
  }
}

function readGo(group: string, path: string): void {
  const text = readFileSync(path, 'utf8').replace(/\/\*[\s\S]*?\*\//g, '')
  let current: Field[] | undefined
  for (const raw of text.split('\n')) {
    const line = raw.replace(/\/\/.*$/, '').trim()
    const opening = /^type (\w+) struct\s*\{/.exec(line)
    if (opening) {
      current = []
      if (!line.endsWith('}')) structs.set(`${group}.${opening[1]}`, current)
      continue
    }
    const alias = /^(?:type )?(\w+)\s+=?\s*((?:\[\]|\*|map\[\w+\])*[\w.]+)$/.exec(line)
    if (line === '}') current = undefined
    else if (current === undefined) {
      if (alias?.[1] && line.startsWith('type ')) aliases.set(`${group}.${alias[1]}`, alias[2] ?? '')
    } else if (line !== '') {
      const [, names = '', type = '', tag = ''] = /^((?:\w+,\s*)*\w+)\s+([^\s`]+)\s*(?:`.*json:"([^"]*)".*`)?$/.exec(line) ?? []
      if (type === '') current.push({ name: '', type: line.split(/\s/)[0] ?? '', tag: '' })
      else for (const name of names.split(/,\s*/)) current.push({ name, type, tag })
    }
  }
}

const packages: Record<string, string> = { metav1: 'meta', api: 'core', v1: 'core' }

function code(group: string, type: string): string {
  const known = scalars[type]
  if (known) return known
  if (type.startsWith('*')) return `*${code(group, type.slice(1))}`
  if (type.startsWith('[]')) return `[${code(group, type.slice(2))}`
  const map = /^map\[[\w.]+\](.*)$/.exec(type)
  if (map?.[1]) return `{${code(group, map[1])}`
  if (group === 'meta' && scalars[`metav1.${type}`]) return scalars[`metav1.${type}`] ?? ''
  const [first = '', second] = type.split('.')
  const qualified = second === undefined ? `${group}.${first}` : `${packages[first] ?? first}.${second}`
  const alias = aliases.get(qualified)
  if (alias !== undefined) return code(qualified.split('.')[0] ?? group, alias)
  if (structs.has(qualified)) return `${qualified}`
  return 's'
}

function lowered(name: string): string {
  return name.replace(/^[A-Z]+(?![a-z])|^[A-Z]/, (head) => head.toLowerCase())
}

function lineOf(qualified: string, fields: readonly Field[]): string {
  const [group = '', type = ''] = qualified.split('.')
  const parts = fields.map(({ name, type: goType, tag }) => {
    if (name === '') return `^${code(group, goType)}`
    if (tag !== '') {
      const [json = '', ...options] = tag.split(',')
      return `${json}${options.includes('omitempty') ? '?' : ''}:${code(group, goType)}`
    }
    const json = jsonNames.get(`${group}.${type}.${name}`) ?? lowered(name)
    const guess = lowered(name)
    return `${name}${json === guess ? '' : `=${json}`}:${code(group, goType)}`
  })
  return `${qualified} ${parts.join(' ')}`
}

readFacts(join(factsDirectory, 'go-fields.tsv'))
for (const group of readdirSync(join(source, 'pkg/apis'))) {
  if (['abac', 'admission', 'apidiscovery', 'imagepolicy', 'extensions'].includes(group)) continue
  for (const file of ['types.go', 'objectreference.go']) {
    try {
      readGo(group, join(source, 'pkg/apis', group, file))
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    }
  }
}
/** Options of requests are never quoted; those that lie in objects are. */
const within = new Set(
  [...structs].flatMap(([name, fields]) => fields.map(({ type }) => code(name.split('.')[0] ?? '', type).replace(/^[*[{]+/, ''))),
)
const lines = [...structs]
  .filter(([name]) => !/List$|\.TypeMeta$|\.ListMeta$/.test(name) && (!name.endsWith('Options') || within.has(name)))
  .map(([name, fields]) =>
    lineOf(
      name,
      fields.filter(({ type }) => !/TypeMeta$/.test(type)),
    ),
  )
  .sort()
writeFileSync(join(factsDirectory, 'internal-structs.txt'), `${lines.join('\n')}\n`)
