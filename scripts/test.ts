/**
 * Every test, in order of cost: types, lint, directions of import, unit tests beside the code, then test/.
 * `node scripts/test.ts unit` (or check, contracts, e2e, …) runs one layer; see CONTRIBUTING.md.
 */
import { spawn, spawnSync } from 'node:child_process'
import { globSync, mkdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { onNetworkOfItsOwn } from './network-of-its-own.ts'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
process.chdir(root)
const bin = join(root, 'node_modules', '.bin')
process.env['PATH'] = `${bin}:${process.env['PATH']}`
process.env['NODE_COMPILE_CACHE'] ??= join(root, '.cache', 'compiled')
if (process.env['JITTER'] !== undefined)
  process.env['NODE_OPTIONS'] = `${process.env['NODE_OPTIONS'] ?? ''} --import=${pathToFileURL(join(root, 'scripts/jitter.ts')).href}`

type Layer = { name: string; run(): boolean | Promise<boolean> }

/** A single test may take this long. */
const testLimitMs = 240_000
/** Test files that say nothing for this long hang, mostly since something they started still runs. */
const quietLimitMs = 300_000

const layers: Layer[] = [
  {
    name: 'check',
    run: () =>
      sideBySide(
        [
          ['node_modules/typescript/bin/tsc', '--noEmit'],
          ['node_modules/@biomejs/biome/bin/biome', 'check', '--error-on-warnings', '.'],
          ['scripts/check-imports.ts'],
          ['scripts/check-exports.ts'],
          ['scripts/generate.ts', '--check'],
        ],
        program,
      ),
  },
  { name: 'unit', run: unitTests },
]
/** Beside these, since a machine that has none of them waits for the network most of the time. */
const tools: Layer = { name: 'tools', run: () => program(['scripts/ensure-tools.ts']) }

/** Test files outside of src. Where several are asked for, they run beside each other. */
type Suite = { name: string; files: string[]; forcesExit?: boolean }

const suites: Suite[] = [
  { name: 'contracts', files: globSync('test/{contracts,golden,crds,docs}/**/*.test.ts') },
  { name: 'scenarios', files: globSync('test/scenarios/**/*.test.ts'), forcesExit: true },
  { name: 'e2e', files: globSync(['test/e2e/**/*.test.ts', 'examples/**/*.test.ts']) },
]

/** Half of a second of every test file is loading its modules, so those beside the code share two processes. */
async function unitTests(): Promise<boolean> {
  const files = globSync('src/**/*.test.ts').toSorted()
  const shared = await sideBySide([0, 1], (half) =>
    nodeTest(
      `unit-${half + 1}`,
      files.filter((_, index) => index % 2 === half),
      { isolation: 'none' },
    ),
  )
  return (await nodeTest('unit-scripts', globSync('scripts/**/*.test.ts'))) && shared
}

/** What runs containers or changes the machine's network. */
const usesMachine = /\/support\/(containerd|docker|embedded|lone-kubelet|machines|network-world|real-cluster|terminal)\.ts'/
/** About half of that, in minutes: whole clusters, but for the one test that takes longest. */
const hasCluster = /\/support\/(machines|real-cluster|terminal)\.ts'/
const takesLongest = /several-nodes\.test\.ts$/
/** Minutes of faults, most of which is waiting for what was killed. */
const waitsLong = /histories\.test\.ts$/

/** `isBusy`: begins after check and unit tests, which keep all cores busy too; the others wait most of their time. */
type Lane = { suffix: string; concurrency: number; inside?: readonly string[]; isBusy?: boolean; takes(file: string): boolean }

/** Asked for once tools are there: what makes networks may be among those that were missing. */
function lanes(): Lane[] {
  const inside = onNetworkOfItsOwn()
  return [
    {
      ...{ suffix: '-clusters', concurrency: 1, inside },
      // A machine is the node of one cluster: where there is but one network, one lane has all of them.
      takes: (file) => inside.length > 0 && hasCluster.test(readFileSync(file, 'utf8')) && !takesLongest.test(file),
    },
    { suffix: '-machine', concurrency: 1, inside, takes: (file) => usesMachine.test(readFileSync(file, 'utf8')) },
    { suffix: '-faults', concurrency: 1, takes: (file) => waitsLong.test(file) },
    { suffix: '', concurrency: 3, isBusy: true, takes: () => true },
  ]
}

/** Lanes run beside each other, the suites of each in turn. */
function runSuites(asked: Suite[], layersEnd: Promise<void>): Promise<boolean> {
  process.env['HISTORY_SECONDS'] ??= '180'
  const all = lanes()
  return sideBySide(all, async (lane) => {
    const { suffix, concurrency, inside = [] } = lane
    if (lane.isBusy) await layersEnd
    let isOk = true
    for (const { name, files, forcesExit = false } of asked) {
      const own = files.filter((file) => all.find(({ takes }) => takes(file)) === lane).toSorted()
      if (!(await nodeTest(`${name}${suffix}`, own, { concurrency, inside, forcesExit }))) isOk = false
    }
    return isOk
  })
}

async function sideBySide<T>(items: readonly T[], run: (item: T) => Promise<boolean>): Promise<boolean> {
  const results = await Promise.all(items.map(run))
  return results.every(Boolean)
}

function program(args: readonly string[]): Promise<boolean> {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, args, { stdio: 'inherit' })
    child.on('error', (error) => {
      console.error(`${args.join(' ')} could not be started: ${error.message}`)
      resolve(false)
    })
    child.on('exit', (code) => resolve(code === 0))
  })
}

type Running = {
  concurrency?: number
  /** What the program is started by. */
  inside?: readonly string[]
  isolation?: 'none' | 'process'
  /** Files are ended with their last test: whole clusters in one process have been seen, once, to keep it alive for minutes. */
  forcesExit?: boolean
}

async function nodeTest(
  layer: string,
  files: string[],
  { concurrency = 2, inside = [], isolation = 'process', forcesExit = false }: Running = {},
): Promise<boolean> {
  if (files.length === 0) return true
  mkdirSync('.cache', { recursive: true })
  const events = `.cache/test-${layer}.jsonl`
  const ok = await untilQuiet([
    ...inside,
    process.execPath,
    '--test',
    `--test-isolation=${isolation}`,
    ...(isolation === 'process' ? [`--test-concurrency=${concurrency}`] : []),
    ...(forcesExit ? ['--test-force-exit'] : []),
    `--test-timeout=${testLimitMs}`,
    '--test-reporter=dot',
    '--test-reporter-destination=stdout',
    '--test-reporter=./scripts/slowest-reporter.ts',
    `--test-reporter-destination=${events}`,
    ...files,
  ])
  console.log(`\n-- ${layer}\n${readFileSync(events, 'utf8')}`)
  return ok
}

/** Runs a program in a group of its own, and ends the whole group when nothing was heard of it for too long. */
function untilQuiet([name = '', ...args]: string[]): Promise<boolean> {
  return new Promise((resolve) => {
    const child = spawn(name, args, { stdio: ['ignore', 'pipe', 'inherit'], detached: true })
    const end = (signal: NodeJS.Signals) => {
      try {
        process.kill(-(child.pid ?? 0), signal)
      } catch {
        // It has ended meanwhile.
      }
    }
    const hangs = () => {
      const { stdout } = spawnSync('ps', ['-o', 'args=', '-s', String(child.pid)], { encoding: 'utf8' })
      console.error(`\nnothing was heard for ${quietLimitMs / 1000} s: a test file does not end. Still running:\n${stdout}`)
      end('SIGKILL')
    }
    let timer = setTimeout(hangs, quietLimitMs)
    child.stdout.on('data', (chunk: Buffer) => {
      process.stdout.write(chunk)
      clearTimeout(timer)
      timer = setTimeout(hangs, quietLimitMs)
    })
    const interrupt = () => end('SIGINT')
    process.on('SIGINT', interrupt)
    process.on('SIGTERM', interrupt)
    child.on('error', (error) => {
      console.error(`${name} could not be started: ${error.message}`)
      resolve(false)
    })
    // Not `close`: whatever the tests left running may hold the pipe.
    child.on('exit', (code) => {
      clearTimeout(timer)
      process.off('SIGINT', interrupt)
      process.off('SIGTERM', interrupt)
      end('SIGKILL')
      resolve(code === 0)
    })
  })
}

const asked = process.argv.slice(2)
const names = [...layers, tools, ...suites].map(({ name }) => name)
const unknown = asked.filter((name) => !names.includes(name))
if (unknown.length > 0) {
  console.error(`no such layer: ${unknown.join(', ')}; there are ${names.join(', ')}`)
  process.exit(2)
}
const isAsked = ({ name }: { name: string }) => asked.length === 0 || asked.includes(name)
const askedSuites = suites.filter(isAsked)
const failed: string[] = []

async function runLayers(list: readonly Layer[]): Promise<void> {
  for (const { name, run } of list) {
    const started = performance.now()
    console.log(`\n== ${name}`)
    if (!(await run())) failed.push(name)
    console.log(`== ${name}: ${failed.includes(name) ? 'FAILED' : 'ok'} after ${((performance.now() - started) / 1000).toFixed(1)} s`)
  }
}

const layersEnd = runLayers(layers.filter(isAsked))
await runLayers([tools].filter(isAsked))
if (askedSuites.length > 0)
  await runLayers([{ name: askedSuites.map(({ name }) => name).join(', '), run: () => runSuites(askedSuites, layersEnd) }])
await layersEnd
if (failed.length > 0) {
  console.error(`\nfailed: ${failed.join(', ')}`)
  process.exit(1)
}
