import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Files, nodeFiles } from '#base/files.ts'
import { type LogRecord, recordingLogger } from '#base/log.ts'
import { Metrics } from '#base/metrics.ts'
import { nodeProcesses } from '#base/processes.ts'
import { VirtualClock } from '#base/virtual-clock.ts'
import { defaultKubeletConfiguration } from '#kubelet/configuration/kubelet-configuration.ts'
import { watchMachine } from '#kubelet/shutdown/watch-machine.ts'

/** What was written to which file, and what was told of it. */
async function started(settings: { oomScoreAdj?: number }, refusal?: Error) {
  const [written, log]: [string[], LogRecord[]] = [[], []]
  const files = {
    ...nodeFiles,
    async open(path: string) {
      if (refusal !== undefined) throw refusal
      return { write: async (bytes: Buffer) => void written.push(`${path}: ${bytes}`), [Symbol.asyncDispose]: async () => {} }
    },
  } as unknown as Files
  using stack = new DisposableStack()
  await watchMachine(
    {
      ...{ configuration: { ...defaultKubeletConfiguration(), ...settings }, rootDirectory: '/kubelet' },
      ...{ agent: () => undefined, tell: () => {}, warn: () => {} },
    },
    { clock: new VirtualClock(0), files, logger: recordingLogger(log), metrics: new Metrics(), processes: nodeProcesses },
    stack,
  )
  return { written, warnings: log.filter(({ level }) => level === 'warn') }
}

test('the kubelet makes itself one of the last that the kernel kills for want of memory', async () => {
  const { written, warnings } = await started({})
  assert.deepEqual([written, warnings], [['/proc/self/oom_score_adj: -999'], []])
})

test('its score is what the configuration says, and with 0 it stays as it is', async () => {
  assert.deepEqual((await started({ oomScoreAdj: 500 })).written, ['/proc/self/oom_score_adj: 500'])
  assert.deepEqual((await started({ oomScoreAdj: 0 })).written, [])
})

test('a kubelet that may not lower its score says so, and runs on', async () => {
  const { warnings } = await started({}, new Error('EACCES: permission denied'))
  assert.deepEqual(
    warnings.map(({ message, fields }) => [message, fields['score'], fields['error']]),
    [['failed to set the OOM score of the kubelet', -999, 'EACCES: permission denied']],
  )
})
