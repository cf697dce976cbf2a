/** Fails on an import against the direction of the rooms, on files that load each other in a circle, and on clients that load the server's rules. */
import { globSync, readFileSync } from 'node:fs'
import { type ImportGraph, importCycles, importGraph, importPath } from './import-graph.ts'

/** A room and the rooms it may import, itself apart. */
const mayImport: Record<string, readonly string[] | 'all'> = {
  base: [],
  wire: ['base'],
  api: ['base', 'wire'],
  store: ['base', 'wire'],
  client: ['base', 'wire', 'api'],
  apiserver: ['base', 'wire', 'api', 'store', 'client'],
  controllers: ['base', 'wire', 'api', 'client'],
  scheduler: ['base', 'wire', 'api', 'client'],
  kubelet: ['base', 'wire', 'api', 'client'],
  // It tries pods on nodes with the scheduler's own plugins.
  'cluster-autoscaler': ['base', 'wire', 'api', 'client', 'scheduler'],
  runtime: ['base', 'wire', 'api'],
  proxy: ['base', 'wire', 'api', 'client'],
  dns: ['base', 'wire', 'api', 'client'],
  network: ['base', 'wire', 'api', 'client'],
  'metrics-server': ['base', 'wire', 'api', 'client'],
  ingress: ['base', 'wire', 'api', 'client'],
  cli: ['base', 'wire', 'api', 'client'],
  console: ['base', 'wire', 'api', 'client'],
  sim: 'all',
  testing: 'all',
  cmd: 'all',
}

/** What users import is one file beside the rooms. */
const publicFile = 'src/index.ts'
const publicRooms = ['api', 'base', 'client', 'cmd', 'controllers', 'sim']

export function wrongImports(path: string, source: string): string[] {
  if (path === publicFile) return wrongExports(source)
  const room = path.split('/')[1] ?? ''
  const allowed = mayImport[room]
  if (allowed === undefined) return [`${path}: ${room} is no room of docs/architecture.md`]
  const wrong: string[] = []
  for (const [, target] of source.matchAll(/(?:from|import)\s*\(?\s*'(#[^']+|\.\.\/[^']+)'/g)) {
    if (target === undefined) continue
    if (target.startsWith('.')) {
      wrong.push(`${path}: import ${target} as #room/file.ts, so that its room shows`)
      continue
    }
    const targetRoom = target.slice(1).split('/')[0] ?? ''
    if (isTesting(target) && !isTesting(path)) wrong.push(`${path}: ${target} is for tests`)
    // A fake of one room may need another.
    if (isTesting(path)) continue
    if (targetRoom !== room && allowed !== 'all' && !allowed.includes(targetRoom)) wrong.push(`${path}: ${room} may not import ${target}`)
  }
  return wrong
}

const isTesting = (path: string): boolean => /(?:^#|\/)testing\//.test(path)

/** A unit test finds what it needs in its room or in a folder `testing`. */
export function wrongTestImports(path: string, source: string): string[] {
  const outside = [...source.matchAll(/(?:from|import)\s*\(?\s*'((?:\.\.\/)+test\/[^']+)'/g)].map(([, target]) => target)
  return outside.map((target) => `${path}: import ${target} as #room/file.ts; helpers of unit tests are in a folder \`testing\` of src`)
}

/** It leads to parts that are meant for users, and holds nothing itself. */
function wrongExports(source: string): string[] {
  const wrong: string[] = []
  for (const statement of source.replace(/\/\*.*?\*\//gs, '').split(/^(?=\S)/m)) {
    const text = statement.trim()
    if (text === '' || text === '}') continue
    const target = /^(?:export [^;]*|\}) from '#([\w-]+)\/[^']+'$/s.exec(text)?.[1]
    if (target === undefined && !/^export (?:type )?\{[^}]*$/.test(text))
      wrong.push(`${publicFile}: it may only export from rooms: ${text}`)
    else if (target !== undefined && !publicRooms.includes(target)) wrong.push(`${publicFile}: ${target} is not for users`)
  }
  return wrong
}

/** Files that load each other in a circle run in an order that nobody chose. */
export function cyclesIn(graph: ImportGraph): string[] {
  return importCycles(graph).map((files) => `these import each other in a circle: ${files.sort().join(', ')}`)
}

/** Only the server needs the rules of kinds: whoever is its client would load them for nothing. */
export function loadedRules(graph: ImportGraph, isRules: (path: string) => boolean): string[] {
  const wrong: string[] = []
  for (const path of graph.keys()) {
    const room = path.split('/')[1] ?? ''
    if (['api', 'apiserver', 'cmd', 'sim'].includes(room)) continue
    const way = importPath(graph, path, isRules)
    if (way !== undefined) wrong.push(`${path} loads rules of the server: ${way.join(' -> ')}; import kinds from kinds.gen.ts`)
  }
  return wrong
}

if (import.meta.main) {
  const sources = new Map<string, string>()
  const wrong: string[] = []
  for (const path of globSync('src/**/*.ts').map((each) => each.replaceAll('\\', '/'))) {
    const source = readFileSync(path, 'utf8')
    if (path.endsWith('.test.ts')) wrong.push(...wrongTestImports(path, source))
    else sources.set(path, source)
  }
  for (const [path, source] of sources) wrong.push(...wrongImports(path, source))
  const graph = importGraph([...sources].filter(([path]) => !path.includes('/testing/')))
  const isRules = (path: string) => / = (?:defineResource|legacyVersion)\b/.test(sources.get(path) ?? '')
  wrong.push(...cyclesIn(graph), ...loadedRules(graph, isRules))
  for (const line of wrong) console.error(line)
  if (wrong.length > 0) process.exit(1)
}
