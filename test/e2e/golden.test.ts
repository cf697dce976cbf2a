/** Replays what a real kube-apiserver answered, where the recording is at hand, and holds the matched count of every area. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { existsSync, globSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { startCluster } from '../support/running-cluster.ts'

const shared = join(import.meta.dirname, '..', '..', '..', 'shared')
const replay = join(shared, 'tools', 'replay.py')
const baselinePath = join(import.meta.dirname, 'golden-baseline.json')
const reason = existsSync(replay) ? false : 'the recorded answers (../shared/golden) are not at hand'

test('answers match those of the recorded server, in no area fewer than before', { skip: reason }, async () => {
  await using cluster = await startCluster([
    '--store',
    'memory',
    '--runtime',
    'none',
    '--controllers=',
    '--scheduler=false',
    '--legacy-apis=false',
  ])
  const files = globSync(join(shared, 'golden', '*.jsonl')).sort()
  const isCrds = (path: string) => path.endsWith('crds.jsonl')
  const play = (args: string[]) =>
    run('python3', [replay, '--server', cluster.url, '--token', cluster.token, '--insecure', '--verbose', ...args])
  // Custom resources are not served yet, and each of their scenarios would wait ten seconds for that.
  const definitions = await play(['--only', 'crds/invalid', ...files.filter(isCrds)])
  const output = definitions.replace(/^total .*\n/m, '') + (await play(files.filter((path) => !isCrds(path))))
  const matched: Record<string, number> = {}
  for (const [, area = '', count = ''] of output.matchAll(/^(\S+) +(\d+)\/\d+ +\d+\/\d+/gm)) matched[area] = Number(count)
  assert.ok(matched['total'], output.slice(-2000))
  console.log(output.slice(output.lastIndexOf('area ')))
  if (process.env['UPDATE_GOLDEN']) {
    writeFileSync(baselinePath, `${JSON.stringify(matched, undefined, 2)}\n`)
    writeFileSync(join(import.meta.dirname, '..', '..', '.cache', 'golden-differences.txt'), output)
  }
  const baseline = JSON.parse(readFileSync(baselinePath, 'utf8')) as Record<string, number>
  const fallen = Object.entries(baseline).filter(([area, count]) => (matched[area] ?? 0) < count)
  assert.deepEqual(
    fallen,
    [],
    `areas with fewer matches than before (area, before); run with UPDATE_GOLDEN=1 and see .cache/golden-differences.txt`,
  )
})

function run(command: string, args: string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'inherit'] })
    let output = ''
    child.stdout.on('data', (text: Buffer) => {
      output += text
    })
    child.on('error', reject)
    child.on('close', () => resolve(output))
  })
}
