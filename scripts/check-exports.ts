/**
 * Fails on an export of src/ that no other file imports, and on a file that only tests lead to: `node scripts/check-exports.ts`.
 *
 * What only its own file uses needs no `export`; what nobody uses goes. A type may be exported for the sake of the functions that
 * speak of it. What only tests lead to belongs in a folder `testing`, which is not shipped. What a later change will import may stay for a while in `awaited`, with the reason.
 */
import { globSync, readFileSync } from 'node:fs'
import { dirname, posix } from 'node:path'

/** `path: name`, and who will import it. */
const awaited: Readonly<Record<string, string>> = {
  'src/network/pod-network/net-conf.ts: backendTypes': 'the option that chooses a pod network',
  'src/network/pod-network/vxlan.ts: vxlanDevice': 'nodes on several machines',
  'src/scheduler/framework/status.ts: wait': 'the answer of a permit plugin that waits; none of the default ones does',
}

/** Files and folders that nothing leads to yet, and what will. */
const awaitedParts: Readonly<Record<string, string>> = {
  'src/api/codec/watch-events.ts': 'clients that watch in protobuf',
  'src/base/sockets.ts': 'the service proxy',
  'src/base/sync-loop.ts': 'the service proxy',
  'src/base/tracing.ts': 'spans of requests',
  'src/network/': 'the pod network of several nodes, and network policies',
  'src/proxy/': 'the service proxy',
  'src/wire/nftables/': 'the service proxy',
}

type Module = { exports: Set<string>; types: Set<string>; imports: { target: string; names: 'all' | string[] }[]; body: string }

/** The names a file exports, and those it takes from others. Exact enough for code that Biome has formatted. */
export function readModule(path: string, source: string): Module {
  const code = source.replace(/\/\*[\s\S]*?\*\//g, '').replace(/^\s*\/\/.*$/gm, '')
  const exports = new Set<string>()
  const types = new Set([...code.matchAll(/^export (?:type|interface) ([\w$]+)/gm)].map(([, name = '']) => name))
  const declared = /^export (?:default )?(?:declare )?(?:abstract )?(?:async )?(?:const|let|function\*?|class|type|interface) ([\w$]+)/gm
  for (const [, name = ''] of code.matchAll(declared)) exports.add(name)
  for (const [, list = ''] of code.matchAll(/^export (?:type )?\{([^}]*)\}(?! from)/gm)) for (const { as } of namesIn(list)) exports.add(as)
  const imports: Module['imports'] = []
  for (const [, list = '', target = ''] of code.matchAll(/\b(?:import|export) (?:type )?(?:[\w$]+, )?\{([^}]*)\} from '([^']+)'/g))
    imports.push({ target: resolved(path, target), names: namesIn(list).map(({ name }) => name) })
  for (const [, target = ''] of code.matchAll(/\b(?:import|export) (?:type )?\*(?: as [\w$]+)? from '([^']+)'/g))
    imports.push({ target: resolved(path, target), names: 'all' })
  for (const [, target = ''] of code.matchAll(/\bimport\('([^']+)'\)/g)) imports.push({ target: resolved(path, target), names: 'all' })
  return { exports, types, imports, body: code }
}

function namesIn(list: string): { name: string; as: string }[] {
  return list
    .split(',')
    .map((each) => each.trim().replace(/^type /, ''))
    .filter((each) => each !== '')
    .map((each) => {
      const [name = '', as = name] = each.split(' as ')
      return { name, as }
    })
}

function resolved(path: string, target: string): string {
  if (target.startsWith('#')) return `src/${target.slice(1)}`
  return target.startsWith('.') ? posix.join(dirname(path), target) : target
}

/** Exports that nobody takes, as lines to print. */
export function unusedExports(sources: ReadonlyMap<string, string>): string[] {
  const modules = new Map([...sources].map(([path, source]) => [path, readModule(path, source)]))
  const used = new Map<string, Set<string> | 'all'>()
  for (const { imports } of modules.values()) {
    for (const { target, names } of imports) {
      const known = used.get(target) ?? new Set()
      if (names === 'all' || known === 'all') used.set(target, 'all')
      else used.set(target, known.union(new Set(names)))
    }
  }
  const lines: string[] = []
  for (const [path, { exports, types, body }] of modules) {
    if (!path.startsWith('src/') || path === 'src/index.ts' || path.endsWith('.gen.ts')) continue
    const taken = used.get(path) ?? new Set()
    for (const name of exports) {
      if (taken === 'all' || taken.has(name) || awaited[`${path}: ${name}`] !== undefined) continue
      const isUsedHere = [...body.matchAll(new RegExp(`(?<![\\w$.])${name.replaceAll('$', '\\$')}(?![\\w$])`, 'g'))].length > 1
      if (isUsedHere && types.has(name)) continue
      lines.push(`${path}: nobody imports ${name}: ${isUsedHere ? 'it needs no export' : 'it is not used at all'}`)
    }
  }
  return lines
}

/** Files that no program and no user of the library reaches, yet are shipped. */
export function onlyForTests(
  sources: ReadonlyMap<string, string>,
  entries = ['src/cmd/main.ts', 'src/cmd/cni/main.ts', 'src/cmd/forward/main.ts', 'src/index.ts'],
): string[] {
  const reached = new Set<string>()
  const waiting = [...entries]
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    const source = sources.get(path)
    if (source === undefined || reached.has(path)) continue
    reached.add(path)
    // Threads are started by path, hence any text that looks like one counts.
    for (const [, target = ''] of source.matchAll(/['"`]((?:#|\.\.?\/)[\w./-]+)\.(?:ts|\$\{extension\})['"`]/g))
      waiting.push(`${resolved(path, target)}.ts`)
  }
  return [...sources.keys()]
    .filter((path) => path.startsWith('src/') && !/\.(test|gen)\.ts$/.test(path) && !path.split('/').includes('testing'))
    .filter((path) => !reached.has(path) && !Object.keys(awaitedParts).some((part) => path.startsWith(part)))
    .map((path) => `${path}: only tests lead to it: it belongs in a folder \`testing\`, or goes`)
}

if (import.meta.main) {
  const paths = globSync(['src/**/*.ts', 'test/**/*.ts', 'bench/**/*.ts', 'scripts/**/*.ts']).map((path) => path.replaceAll('\\', '/'))
  const sources = new Map(paths.sort().map((path) => [path, readFileSync(path, 'utf8')]))
  const lines = [...unusedExports(sources), ...onlyForTests(sources)]
  for (const line of lines) console.error(line)
  if (lines.length > 0) {
    console.error('What a coming change will use belongs in `awaited` or `awaitedParts` of scripts/check-exports.ts, with the reason.')
    process.exitCode = 1
  }
}
