import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { test } from 'node:test'
import { promisify } from 'node:util'

/** Takes all descriptors but one, which the script of a launch needs. */
const launchWithoutDescriptors = `
  import { closeSync, openSync } from 'node:fs'
  import { launchProcess, memoryProgram } from ${JSON.stringify(import.meta.resolve('#base/launches.ts'))}
  const program = memoryProgram('nothing', new Uint8Array(8))
  const taken = []
  try {
    for (;;) taken.push(openSync('/dev/null', 'r'))
  } catch {}
  closeSync(taken.pop())
  const outcome = await launchProcess({ program, name: 'nothing', script: new Uint8Array(8), streams: ['pipe', 'pipe', 'pipe'] })
    .then(() => 'started', (error) => error.code)
  for (const descriptor of taken) closeSync(descriptor)
  console.log(outcome)
`

test('a launch for which no descriptor is left fails alone', async () => {
  const run = promisify(execFile)
  const limited = ['-c', 'ulimit -n 100 && exec "$0" --input-type=module -e "$1"', process.execPath, launchWithoutDescriptors]
  const { stdout } = await run('sh', limited)
  assert.equal(stdout.trim(), 'EMFILE')
})
