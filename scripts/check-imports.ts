/** Fails on an import against the direction of the rooms, and on a file that has grown too long. */
import { globSync, readFileSync } from 'node:fs'

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
  proxy: ['base', 'wire', 'api', 'client'],
  dns: ['base', 'wire', 'api', 'client'],
  network: ['base', 'wire', 'api', 'client'],
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

if (import.meta.main) {
  const wrong: string[] = []
  for (const path of globSync('src/**/*.ts')) {
    wrong.push(...(path.endsWith('.test.ts') ? wrongTestImports : wrongImports)(path, readFileSync(path, 'utf8')))
  }
  for (const line of wrong) console.error(line)
  if (wrong.length > 0) process.exit(1)
}
