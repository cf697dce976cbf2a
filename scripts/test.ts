/**
 * Every test, in order of cost: types, lint, directions of import, unit tests beside the code, then test/.
 * `node scripts/test.ts unit` (or check, contracts, e2e, …) runs one layer; see CONTRIBUTING.md.
 */
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, globSync, mkdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
process.chdir(root)
const bin = join(root, 'node_modules', '.bin')
process.env['PATH'] = `${bin}:${process.env['PATH']}`
process.env['NODE_COMPILE_CACHE'] ??= join(root, '.cache', 'compiled')

type Layer = { name: string; run(): boolean | Promise<boolean> }

/** A single test may take this long. */
const testLimitMs = 240_000
/** Test files that say nothing for this long hang, mostly since something they started still runs. */
const quietLimitMs = 300_000

const layers: Layer[] = [
  {
    name: 'check',
    run: () =>
      command(process.execPath, ['node_modules/typescript/bin/tsc', '--noEmit']) &&
      command(process.execPath, ['node_modules/@biomejs/biome/bin/biome', 'check', '--error-on-warnings', '.']) &&
      command(process.execPath, ['scripts/check-imports.ts']) &&
      command(process.execPath, ['scripts/check-exports.ts']) &&
      command(process.execPath, ['scripts/generate.ts', '--check']),
  },
  { name: 'unit', run: () => nodeTest('unit', globSync(['src/**/*.test.ts', 'scripts/**/*.test.ts'])) },
  { name: 'tools', run: () => !existsSync('scripts/ensure-tools.ts') || command(process.execPath, ['scripts/ensure-tools.ts']) },
  { name: 'contracts', run: () => nodeTest('contracts', globSync('test/{contracts,golden,crds,docs}/**/*.test.ts')) },
  { name: 'scenarios', run: () => nodeTest('scenarios', globSync('test/scenarios/**/*.test.ts')) },
  { name: 'e2e', run: () => nodeTest('e2e', globSync(['test/e2e/**/*.test.ts', 'examples/**/*.test.ts']), 1) },
]

function command(name: string, args: string[]): boolean {
  const { status, error } = spawnSync(name, args, { stdio: 'inherit' })
  if (error) console.error(`${name} could not be started: ${error.message}`)
  return status === 0
}

async function nodeTest(layer: string, files: string[], concurrency = 2): Promise<boolean> {
  if (files.length === 0) return true
  mkdirSync('.cache', { recursive: true })
  const events = `.cache/test-${layer}.jsonl`
  const ok = await untilQuiet(process.execPath, [
    '--test',
    `--test-concurrency=${concurrency}`,
    `--test-timeout=${testLimitMs}`,
    '--test-reporter=dot',
    '--test-reporter-destination=stdout',
    '--test-reporter=./scripts/slowest-reporter.ts',
    `--test-reporter-destination=${events}`,
    ...files,
  ])
  console.log(readFileSync(events, 'utf8'))
  return ok
}

/** Runs a program in a group of its own, and ends the whole group when nothing was heard of it for too long. */
function untilQuiet(name: string, args: string[]): Promise<boolean> {
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
const unknown = asked.filter((name) => !layers.some((layer) => layer.name === name))
if (unknown.length > 0) {
  console.error(`no such layer: ${unknown.join(', ')}; there are ${layers.map(({ name }) => name).join(', ')}`)
  process.exit(2)
}
const failed: string[] = []
for (const { name, run } of layers) {
  if (asked.length > 0 && !asked.includes(name)) continue
  const started = performance.now()
  console.log(`\n== ${name}`)
  if (!(await run())) failed.push(name)
  console.log(`== ${name}: ${failed.includes(name) ? 'FAILED' : 'ok'} after ${((performance.now() - started) / 1000).toFixed(1)} s`)
}
if (failed.length > 0) {
  console.error(`\nfailed: ${failed.join(', ')}`)
  process.exit(1)
}
