/** What containers of the embedded runtime do while no agent is there, and what the next one finds. */
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { systemClock } from '#base/clock.ts'
import { nodeFiles as files } from '#base/files.ts'
import { nodeHttpClient } from '#base/http-client.ts'
import { silentLogger as logger } from '#base/log.ts'
import { nodeProcesses as processes } from '#base/processes.ts'
import { systemRandom as random } from '#base/random.ts'
import { EmbeddedRuntime } from '#runtime/service/embedded-runtime.ts'
import { containerPartner } from '#runtime/streams/partners.ts'
import { type ContainerConfig, type CriContainerStatus, containerStates, namespaceModes } from '#wire/cri/cri-types.ts'
import { startTestEmbedded, type TestEmbedded, whyNoEmbedded } from '../support/embedded.ts'
import { testImage } from '../support/test-image.ts'

describe('containers outlive the agent', { skip: whyNoEmbedded(), timeout: 180_000 }, () => {
  let world: TestEmbedded

  before(async () => {
    world = await startTestEmbedded()
  })
  after(() => world?.[Symbol.asyncDispose]())

  let count = 0
  const start = async (script: string, more: Partial<ContainerConfig> = {}) => {
    using client = await world.client()
    const name = `lasting-${count++}`
    const namespaceOptions = { network: namespaceModes.node, pid: namespaceModes.container, ipc: namespaceModes.pod }
    const logDirectory = join(world.directory, 'logs', name)
    const config = {
      ...{ metadata: { name, namespace: 'default', uid: name, attempt: 0 }, hostname: name, logDirectory },
      linux: { cgroupParent: `/${world.podCgroup}/${name}`, securityContext: { namespaceOptions } },
    }
    const { podSandboxId } = await client.call('runPodSandbox', { config, runtimeHandler: '' })
    const container: ContainerConfig = {
      ...{ metadata: { name: 'main', attempt: 0 }, image: { image: testImage }, command: ['sh', '-c', script], logPath: 'log' },
      mounts: [{ containerPath: '/go', hostPath: world.directory, readonly: true }],
      ...more,
      linux: { securityContext: { namespaceOptions } },
    }
    const { containerId } = await client.call('createContainer', { podSandboxId, config: container, sandboxConfig: config })
    await client.call('startContainer', { containerId })
    const log = () =>
      readFileSync(join(logDirectory, 'log'), 'utf8')
        .replace(/^\S+ (\S+) [FP] /gm, '$1 ')
        .replaceAll('\r', '')
    return { containerId, log }
  }
  const statusOf = async (containerId: string): Promise<CriContainerStatus | undefined> => {
    using client = await world.client()
    return (await client.call('containerStatus', { containerId })).status
  }
  const until = async (holds: () => boolean | Promise<boolean>): Promise<void> => {
    while (!(await holds())) await systemClock.sleep(10)
  }
  const ended = (containerId: string) => until(async () => (await statusOf(containerId))?.state === containerStates.exited)
  const isAlive = (pid: number) => {
    try {
      process.kill(pid, 0)
      return true
    } catch {
      return false
    }
  }

  test('what one writes before it ends while nobody is there is in its log, and its end is known to the second', async () => {
    const { containerId, log } = await start('echo before; until test -e /go/now; do sleep 0.02; done; seq 2000; echo trouble >&2; exit 6')
    await until(() => log().includes('before'))
    const pid = world.runtime.containers.get(containerId).monitor?.pid ?? 0
    await world.kill()
    writeFileSync(join(world.directory, 'now'), '')
    await until(() => !isAlive(pid))
    const afterSeconds = Math.floor(Date.now() / 1000)
    await world.start()
    const status = await statusOf(containerId)
    assert.deepEqual([status?.state, status?.exitCode, status?.reason], [containerStates.exited, 6, 'Error'])
    assert.ok(Number((status?.finishedAt ?? 0n) / 1_000_000_000n) <= afterSeconds)
    const lines = log().trimEnd().split('\n')
    assert.deepEqual(
      lines.filter((line) => line.startsWith('stdout')),
      ['stdout before', ...Array.from({ length: 2000 }, (_, index) => `stdout ${index + 1}`)],
    )
    assert.deepEqual(
      lines.filter((line) => line.startsWith('stderr')),
      ['stderr trouble'],
    )
  })

  test('a terminal is held, and talked to by the next agent', async () => {
    const { containerId, log } = await start('read -r line; echo "heard $line"; stty size; exit 4', { tty: true, stdin: true })
    await world.kill()
    await world.start()
    const output = world.runtime.containers.output(containerId)
    assert.ok(output?.terminal)
    output.resizeTerminal({ columns: 91, rows: 17 })
    output.terminal.write('you\n')
    await ended(containerId)
    assert.match(log(), /stdout heard you\nstdout 17 91\n/)
    assert.equal((await statusOf(containerId))?.exitCode, 4)
  })

  test('input is written by whoever is attached, and ends where it is to end with the first', async () => {
    const { containerId, log } = await start('cat; echo over', { stdin: true, stdinOnce: true })
    await world.kill()
    await world.start()
    const { containers, paths } = world.runtime
    const partner = containerPartner(containers.get(containerId), containers, paths)
    partner.input?.write('one\ntwo\n')
    await until(() => log().includes('two'))
    partner.endInput()
    await ended(containerId)
    assert.equal(log(), 'stdout one\nstdout two\nstdout over\n')
    partner.leave()
  })

  test('two agents do not use one directory', async () => {
    const { networking, paths } = world.runtime
    const seams = { files, processes, logger, random, clock: systemClock, http: () => nodeHttpClient() }
    await assert.rejects(EmbeddedRuntime.open({ directory: paths.root, version: '', networking }, seams), /another process runs containers/)
  })
})
