import assert from 'node:assert/strict'
import { test } from 'node:test'
import { silentLogger } from '#base/log.ts'
import type { Processes, RunResult } from '#base/processes.ts'
import { VirtualClock } from '#base/virtual-clock.ts'
import { readProblemConfiguration } from '#kubelet/problems/problem-configuration.ts'
import { ProblemMonitor } from '#kubelet/problems/problem-monitor.ts'

const file = {
  plugin: 'custom',
  source: 'ntp-custom-plugin-monitor',
  pluginConfig: { invoke_interval: '30s', timeout: '5s', max_output_length: 20, concurrency: 1 },
  conditions: [{ type: 'NTPProblem', reason: 'NTPIsUp', message: 'ntp service is up' }],
  rules: [
    { type: 'permanent', condition: 'NTPProblem', reason: 'NTPIsDown', path: '/check-ntp', args: ['-v'], timeout: '3s' },
    { type: 'temporary', reason: 'DiskSlow', path: '/check-disk' },
  ],
}

test('what plugins say becomes conditions of the node and events', async () => {
  const answers = new Map([
    ['/check-ntp -v', { exitCode: 0, stdout: '' }],
    ['/check-disk', { exitCode: 1, stdout: 'sda answers slowly, as it has for weeks\n' }],
  ])
  const processes = {
    run: (command: string, args: readonly string[], { signal }: { signal: AbortSignal }) => {
      const answer = answers.get([command, ...args].join(' '))
      if (answer !== undefined) return Promise.resolve({ signal: null, stderr: '', ...answer })
      return new Promise<RunResult>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
    },
  } as unknown as Processes
  const clock = new VirtualClock()
  const told: string[] = []
  let changes = 0
  using monitor = new ProblemMonitor({
    ...{ configuration: readProblemConfiguration(JSON.stringify(file), 'ntp.json'), processes, clock, logger: silentLogger },
    tell: (type, reason, message) => told.push(`${type} ${reason} ${message}`),
    onChange: () => changes++,
  })
  const condition = () => monitor.conditions.map(({ type, status, reason, message }) => `${type} ${status} ${reason} ${message}`)
  monitor.start()
  await clock.settle()
  assert.deepEqual(condition(), ['NTPProblem False NTPIsUp ntp service is up'])
  assert.deepEqual(told, ['Warning DiskSlow sda answers slowly, '])
  assert.equal(changes, 0)
  answers.set('/check-disk', { exitCode: 0, stdout: '' })
  answers.set('/check-ntp -v', { exitCode: 1, stdout: 'no ntp here' })
  await clock.advance({ seconds: 31 })
  assert.deepEqual(condition(), ['NTPProblem True NTPIsDown no ntp here'])
  assert.equal(changes, 1)
  assert.equal(told.at(-1), 'Warning NTPIsDown Node condition NTPProblem is now: True, reason: NTPIsDown, message: "no ntp here"')
  // It hangs.
  answers.delete('/check-ntp -v')
  await clock.advance({ seconds: 40 })
  assert.deepEqual(condition(), ['NTPProblem Unknown NTPIsDown Timeout when running plugin "/check-ntp"'])
  answers.set('/check-ntp -v', { exitCode: 0, stdout: '' })
  await clock.advance({ seconds: 40 })
  assert.deepEqual(condition(), ['NTPProblem False NTPIsUp ntp service is up'])
})

for (const [change, expected] of [
  [{ plugin: 'kmsg' }, 'f.json: plugin must be custom, not kmsg'],
  [{ source: '' }, 'f.json: source must be given'],
  [{ conditions: [] }, 'f.json: rule NTPIsDown: there is no condition NTPProblem; name it in conditions as well'],
  [{ pluginConfig: { timeout: '1s' } }, 'f.json: rule NTPIsDown: its timeout is longer than that of all plugins'],
] as const) {
  test(`refused: ${expected}`, () => {
    assert.throws(() => readProblemConfiguration(JSON.stringify({ ...file, ...change }), 'f.json'), { message: expected })
  })
}
