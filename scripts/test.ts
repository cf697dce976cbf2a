/**
 * Every test, in order of cost: types, lint, directions of import, unit tests beside the code, then test/.
 * `node scripts/test.ts unit` (or check, contracts, e2e, golden, …) runs one layer; see CONTRIBUTING.md.
 */
import { spawnSync } from 'node:child_process'
import { existsSync, globSync, mkdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
process.chdir(root)
const bin = join(root, 'node_modules', '.bin')
process.env['PATH'] = `${bin}:${process.env['PATH']}`
process.env['NODE_COMPILE_CACHE'] ??= join(root, '.cache', 'compiled')

type Layer = { name: string; run(): boolean }

const layers: Layer[] = [
  {
    name: 'check',
    run: () =>
      command('tsc', ['--noEmit']) &&
      command('biome', ['check', '--error-on-warnings', '.']) &&
      command(process.execPath, ['scripts/check-imports.ts']),
  },
  { name: 'unit', run: () => nodeTest('unit', globSync(['src/**/*.test.ts', 'scripts/**/*.test.ts'])) },
  { name: 'tools', run: () => !existsSync('scripts/ensure-tools.ts') || command(process.execPath, ['scripts/ensure-tools.ts']) },
  { name: 'contracts', run: () => nodeTest('contracts', globSync('test/contracts/**/*.test.ts')) },
  { name: 'scenarios', run: () => nodeTest('scenarios', globSync('test/scenarios/**/*.test.ts')) },
  { name: 'e2e', run: () => nodeTest('e2e', globSync('test/e2e/**/*.test.ts'), 1) },
]

function command(name: string, args: string[]): boolean {
  const { status, error } = spawnSync(name, args, { stdio: 'inherit' })
  if (error) console.error(`${name} could not be started: ${error.message}`)
  return status === 0
}

function nodeTest(layer: string, files: string[], concurrency = 2): boolean {
  if (files.length === 0) return true
  mkdirSync('.cache', { recursive: true })
  const events = `.cache/test-${layer}.jsonl`
  const ok = command(process.execPath, [
    '--test',
    `--test-concurrency=${concurrency}`,
    '--test-reporter=dot',
    '--test-reporter-destination=stdout',
    '--test-reporter=./scripts/slowest-reporter.ts',
    `--test-reporter-destination=${events}`,
    ...files,
  ])
  console.log(readFileSync(events, 'utf8'))
  return ok
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
  if (!run()) failed.push(name)
  console.log(`== ${name}: ${failed.includes(name) ? 'FAILED' : 'ok'} after ${((performance.now() - started) / 1000).toFixed(1)} s`)
}
if (failed.length > 0) {
  console.error(`\nfailed: ${failed.join(', ')}`)
  process.exit(1)
}
