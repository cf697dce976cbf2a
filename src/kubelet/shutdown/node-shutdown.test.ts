import assert from 'node:assert/strict'
import { PassThrough } from 'node:stream'
import { test } from 'node:test'
import type { V1Pod } from '#api/core/v1/types.gen.ts'
import { type Files, nodeFiles } from '#base/files.ts'
import { silentLogger } from '#base/log.ts'
import { Metrics } from '#base/metrics.ts'
import type { Processes } from '#base/processes.ts'
import { VirtualClock } from '#base/virtual-clock.ts'
import { defaultKubeletConfiguration } from '#kubelet/configuration/kubelet-configuration.ts'
import { NodeShutdown, shutdownPeriodsOf } from '#kubelet/shutdown/node-shutdown.ts'
import { SignalledShutdown } from '#kubelet/shutdown/signalled-shutdown.ts'
import { SystemdShutdown } from '#kubelet/shutdown/systemd-shutdown.ts'

const podOf = (name: string, priority: number, graceSeconds = 30): V1Pod => ({
  metadata: { name, uid: name },
  spec: { containers: [], priority, terminationGracePeriodSeconds: graceSeconds },
})

test('one time for all is parted between critical pods and others', () => {
  const configuration = { ...defaultKubeletConfiguration(), shutdownGracePeriod: '30s', shutdownGracePeriodCriticalPods: '10s' }
  assert.deepEqual(shutdownPeriodsOf(configuration), [
    { priority: 0, shutdownGracePeriodSeconds: 20 },
    { priority: 2_000_000_000, shutdownGracePeriodSeconds: 10 },
  ])
  assert.deepEqual(shutdownPeriodsOf(defaultKubeletConfiguration()), [])
})

test('pods end by priority, each group within its time, and the machine may go then', async () => {
  const written: string[] = []
  const files = {
    readTextIfPresent: async () => undefined,
    write: async (_: string, text: string) => void written.push(text),
  } as unknown as Files
  const clock = new VirtualClock(Date.parse('2030-01-01T00:00:00Z'))
  const log: string[] = []
  let heard: (isShuttingDown: boolean) => void = () => {}
  const metrics = new Metrics()
  const shutdown = new NodeShutdown({
    ...{ rootDirectory: '/kubelet', files, clock, logger: silentLogger, metrics },
    periods: [
      { priority: 0, shutdownGracePeriodSeconds: 20 },
      { priority: 1000, shutdownGracePeriodSeconds: 10 },
    ],
    notice: {
      follow: async (onChange) => {
        heard = onChange
      },
      release: () => log.push(`${clock.now() / 1000 - 1893456000}: released`),
    },
    activePods: () => [podOf('high', 5000), podOf('low', -5), podOf('stubborn', 999, 60)],
    end: async ({ metadata }, { reason }, graceMs) => {
      log.push(`${clock.now() / 1000 - 1893456000}: ${metadata.name} ${reason} ${graceMs}`)
      // It does not heed the signal.
      if (metadata.name === 'stubborn') await new Promise(() => {})
    },
    tell: (reason, message) => log.push(`${reason}: ${message}`),
    onChange: () => {},
  })
  await shutdown.start()
  assert.deepEqual(shutdown.problems, [])
  heard(true)
  assert.deepEqual(shutdown.problems, ['node is shutting down'])
  assert.equal(shutdown.rejection?.message, 'Pod was rejected as the node is shutting down.')
  while (!log.some((line) => line.endsWith('released'))) await clock.advance({ seconds: 1 })
  assert.deepEqual(log, [
    'NodeShutdown: Shutdown manager detected shutdown event',
    '0: low Terminated 20000',
    '0: stubborn Terminated 20000',
    '20: high Terminated 10000',
    '20: released',
  ])
  assert.deepEqual(JSON.parse(written.at(-1) ?? ''), { startTime: '2030-01-01T00:00:00.000Z', endTime: '2030-01-01T00:00:20.000Z' })
})

test('systemd is asked to wait, and its word is heard', async () => {
  const commands: string[] = []
  const stdout = new PassThrough()
  const processes = {
    run: async (command: string, args: readonly string[]) => {
      commands.push([command, ...args].join(' '))
      return { exitCode: 0, signal: null, stdout: 't 60000000\n', stderr: '' }
    },
    start: async (command: string, args: readonly string[]) => {
      commands.push([command, ...args.slice(0, 2)].join(' '))
      return { pid: 1, stdin: null, stdout, stderr: null, exited: new Promise(() => {}), kill: () => commands.push('released') }
    },
  } as unknown as Processes
  const clock = new VirtualClock()
  using systemd = new SystemdShutdown({ processes, files: nodeFiles, clock, logger: silentLogger, wantedMs: 30_000 })
  const word = new Promise<boolean>((resolve) => {
    void systemd.follow(resolve)
  })
  stdout.write('{"type":"signal","member":"NameAcquired","payload":{"data":[":1.5"]}}\n{"type":"signal","member":"PrepareForShutdown",')
  stdout.write('"payload":{"type":"b","data":[true]}}\n')
  assert.equal(await word, true)
  systemd.release()
  assert.deepEqual(commands, [
    'busctl --system get-property org.freedesktop.login1 /org/freedesktop/login1 org.freedesktop.login1.Manager InhibitDelayMaxUSec',
    'systemd-inhibit --what=shutdown --mode=delay',
    'released',
  ])
})

test('without systemd, the signal that ends the kubelet ends its pods first', async () => {
  const files = { readTextIfPresent: async () => undefined, write: async () => {} } as unknown as Files
  const clock = new VirtualClock()
  const signal = new SignalledShutdown()
  const ended = Promise.withResolvers<void>()
  const log: string[] = []
  const shutdown = new NodeShutdown({
    ...{ rootDirectory: '/kubelet', files, clock, logger: silentLogger, metrics: new Metrics(), notice: signal },
    ...{ periods: [{ priority: 0, shutdownGracePeriodSeconds: 20 }], activePods: () => [podOf('web', 0)] },
    end: async ({ metadata }, _failure, graceMs) => {
      log.push(`${metadata.name} ${graceMs}`)
      await ended.promise
    },
    ...{ tell: () => {}, onChange: () => {} },
  })
  await shutdown.start()
  const over = signal.shutDown().then(() => log.push('over'))
  await clock.advance({ seconds: 1 })
  assert.deepEqual(log, ['web 20000'])
  assert.ok(shutdown.rejection)
  ended.resolve()
  await over
  assert.deepEqual(log, ['web 20000', 'over'])
})
