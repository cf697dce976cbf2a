/** What containers of the embedded runtime do while no agent is there, and what the next one finds. */
import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { systemClock } from '#base/clock.ts'
import { type Files, nodeFiles as files } from '#base/files.ts'
import { nodeHttpClient } from '#base/http-client.ts'
import { silentLogger as logger } from '#base/log.ts'
import { nodeProcesses as processes } from '#base/processes.ts'
import { systemRandom as random } from '#base/random.ts'
import { EmbeddedRuntime } from '#runtime/service/embedded-runtime.ts'
import { commandPartner, containerPartner } from '#runtime/streams/partners.ts'
import {
  type ContainerConfig,
  type CriContainerStatus,
  containerStates,
  type NamespaceOption,
  namespaceModes,
} from '#wire/cri/cri-types.ts'
import { startTestEmbedded, type TestEmbedded, whyNoEmbedded, whyNoPodUsers } from '../support/embedded.ts'
import { testImage } from '../support/test-image.ts'

const needsOwnUsers = { skip: (await whyNoPodUsers()) || (await whyNoPodUsers('/')) }

describe('containers outlive the agent', { skip: whyNoEmbedded(), timeout: 600_000 }, () => {
  let world: TestEmbedded

  before(async () => {
    world = await startTestEmbedded()
  })
  after(() => world?.[Symbol.asyncDispose]())

  let count = 0
  const start = async (
    script: string,
    { modes = {}, ...more }: Partial<ContainerConfig> & { modes?: NamespaceOption } = {},
    mode?: 'unawaited',
  ) => {
    using client = await world.client()
    const name = `lasting-${count++}`
    const namespaceOptions = { network: namespaceModes.node, pid: namespaceModes.container, ipc: namespaceModes.pod, ...modes }
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
      linux: { securityContext: { ...more.linux?.securityContext, namespaceOptions } },
    }
    const { containerId } = await client.call('createContainer', { podSandboxId, config: container, sandboxConfig: config })
    const started = client.call('startContainer', { containerId })
    if (mode === undefined) await started
    const logFile = join(logDirectory, 'log')
    const log = () => (existsSync(logFile) ? readFileSync(logFile, 'utf8') : '').replace(/^\S+ (\S+) [FP] /gm, '$1 ').replaceAll('\r', '')
    return { containerId, log, started }
  }
  const statusOf = async (containerId: string): Promise<CriContainerStatus | undefined> => {
    using client = await world.client()
    return (await client.call('containerStatus', { containerId })).status
  }
  const until = async (holds: () => boolean | Promise<boolean>): Promise<void> => {
    while (!(await holds())) await systemClock.sleep(10)
  }
  const ended = (containerId: string) => until(async () => (await statusOf(containerId))?.state === containerStates.exited)
  /** Not so one that has ended, and waits to be buried. */
  const isAlive = (pid: number) => {
    try {
      return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))
    } catch {
      return false
    }
  }

  test('a container that is stopped as soon as it is seen running has an exit code of its own', async () => {
    using client = await world.client()
    for (let round = 0; round < 5; round++) {
      const { containerId, started } = await start("trap 'exit 3' TERM; while true; do sleep 0.05; done", {}, 'unawaited')
      while ((await statusOf(containerId))?.state !== containerStates.running) await new Promise((resolve) => setImmediate(resolve))
      await client.call('stopContainer', { containerId, timeout: 1 }, { timeoutMs: 60_000 })
      await started
      const { exitCode = 0, reason } = (await statusOf(containerId)) ?? {}
      // It may have been asked before it could listen.
      assert.ok([3, 137].includes(exitCode), `${exitCode} ${reason}`)
    }
  })

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

  test('a command that writes for ever ends once its client has gone', async () => {
    const { containerId } = await start('exec sleep 1000')
    const request = { stdin: false, stdout: true, stderr: true, tty: false }
    const record = world.runtime.containers.get(containerId)
    const partner = await commandPartner(record, ['sh', '-c', 'while :; do echo y; done'], request, world.runtime)
    await new Promise<void>((resolve) => void partner.listen(() => resolve()))
    partner.pause?.()
    partner.leave()
    assert.equal(await partner.ended, 128 + 13)
  })

  test('who ends the input of a container that was removed hears nothing of it', async () => {
    const { containerId } = await start('exec sleep 1000', { stdin: true, stdinOnce: true })
    const { containers, paths } = world.runtime
    const partner = containerPartner(containers.get(containerId), containers, paths)
    using client = await world.client()
    await client.call('stopContainer', { containerId, timeout: 0 })
    await client.call('removeContainer', { containerId })
    partner.endInput()
    partner.leave()
    assert.equal(await partner.ended, undefined)
  })

  test('pods with users of their own keep them, each its own range', needsOwnUsers, async () => {
    const modes = (hostId: number, pid: number): NamespaceOption => {
      const mapping = [{ hostId, containerId: 0, length: 65_536 }]
      return { network: namespaceModes.pod, pid, usernsOptions: { mode: namespaceModes.pod, uids: mapping, gids: mapping } }
    }
    // Nobody that the machine's own lists of users know.
    const linux = { securityContext: { runAsUser: { value: 54_321 }, runAsGroup: { value: 54_322 }, supplementalGroups: [54_323] } }
    const script = 'echo started >/dev/stdout; read -r line; echo "heard $line"; tty; exit 4'
    const first = await start(script, { tty: true, stdin: true, modes: modes(262_144, namespaceModes.container) })
    const host = { image: { image: 'host' }, mounts: [], linux, modes: modes(327_680, namespaceModes.pod) }
    const second = await start('echo started >/dev/stdout; exec sleep 1000', host)
    for (const { log } of [first, second]) await until(() => log().includes('started'))
    await world.kill()
    await world.start()
    const run = async ({ containerId }: { containerId: string }, command: string) => {
      using client = await world.client()
      const { stdout, stderr } = await client.call('execSync', { containerId, cmd: ['sh', '-c', command], timeout: 60 })
      return Buffer.concat([stdout, stderr]).toString()
    }
    const look = 'id -u; id -G; cat /proc/self/uid_map; readlink /proc/self/ns/user; readlink /proc/1/ns/user'
    const [one, other] = [await run(first, look), await run(second, look)]
    assert.match(one, /^0\n0\n +0 +262144 +65536\nuser:\[(\d+)\]\nuser:\[\1\]\n$/)
    assert.match(other, /^54321\n54322 54323\n +0 +327680 +65536\nuser:\[\d+\]\n/)
    const idsOf = ({ containerId }: { containerId: string }) => {
      const { process, monitor } = world.runtime.containers.get(containerId)
      const uidOf = (pid = 0) => /^Uid:\t(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
      return [uidOf(process?.pid), uidOf(monitor?.pid)]
    }
    assert.deepEqual(
      [idsOf(first), idsOf(second)],
      [
        ['262144', '0'],
        ['382001', '0'],
      ],
    )
    const output = world.runtime.containers.output(first.containerId)
    output?.terminal?.write('you\n')
    await ended(first.containerId)
    assert.match(first.log(), /stdout heard you\nstdout \/dev\/pts\/0\n/)
    assert.equal((await statusOf(first.containerId))?.exitCode, 4)
    using client = await world.client()
    await client.call('stopContainer', { containerId: second.containerId, timeout: 0 }, { timeoutMs: 60_000 })
    assert.equal((await statusOf(second.containerId))?.exitCode, 137)
  })

  test('two agents do not use one directory', async () => {
    const { networking, paths } = world.runtime
    const seams = { files, processes, logger, random, clock: systemClock, http: () => nodeHttpClient() }
    await assert.rejects(EmbeddedRuntime.open({ directory: paths.root, version: '', networking }, seams), {
      message: `another process (PID ${process.pid}) runs containers in ${paths.root}: stop it first`,
    })
  })
})

describe('a disk that is slower than a container', { skip: whyNoEmbedded(), timeout: 600_000 }, () => {
  test('what a container with a terminal has said is in its log, though its end is noticed before its start is written down', async () => {
    const isEndWritten = Promise.withResolvers<void>()
    const recordFiles: Files = {
      ...files,
      async write(path, content, options) {
        const [, state] = path.endsWith('container.json') ? (/"state":"(\w+)"/.exec(String(content)) ?? []) : []
        if (state === 'exited') isEndWritten.resolve()
        if (state === 'running') {
          // Not before: of a container that is not known to run no end is noticed.
          writeFileSync(join(world.directory, 'now'), '')
          await isEndWritten.promise
        }
        await files.write(path, content, options)
      },
    }
    await using world = await startTestEmbedded({ recordFiles })
    using client = await world.client()
    const logDirectory = join(world.directory, 'logs')
    const config = { metadata: { name: 'fast', namespace: 'default', uid: 'fast', attempt: 0 }, logDirectory }
    const { podSandboxId } = await client.call('runPodSandbox', { config, runtimeHandler: '' })
    const container: ContainerConfig = {
      ...{ metadata: { name: 'main', attempt: 0 }, image: { image: testImage }, logPath: 'log', tty: true },
      command: ['sh', '-c', 'until [ -e /go/now ]; do sleep 0.05; done; echo said'],
      mounts: [{ containerPath: '/go', hostPath: world.directory, readonly: true }],
    }
    const { containerId } = await client.call('createContainer', { podSandboxId, config: container, sandboxConfig: config })
    await client.call('startContainer', { containerId })
    assert.match(readFileSync(join(logDirectory, 'log'), 'utf8'), / stdout F said\r?\n$/)
  })

  test('a container whose start finds no room to be written down does not run on', async () => {
    const recordFiles: Files = {
      ...files,
      async write(path, content, options) {
        const isFull = path.endsWith('container.json') && !/"state":"created"/.test(String(content))
        if (isFull) throw new Error('ENOSPC: no space left on device, write')
        await files.write(path, content, options)
      },
    }
    await using world = await startTestEmbedded({ recordFiles })
    using client = await world.client()
    const config = {
      metadata: { name: 'full', namespace: 'default', uid: 'full', attempt: 0 },
      logDirectory: join(world.directory, 'logs'),
    }
    const { podSandboxId } = await client.call('runPodSandbox', { config, runtimeHandler: '' })
    const seconds = `97531${process.pid}`
    const container: ContainerConfig = {
      ...{ metadata: { name: 'main', attempt: 0 }, image: { image: testImage }, logPath: 'log' },
      command: ['sleep', seconds],
    }
    const { containerId } = await client.call('createContainer', { podSandboxId, config: container, sandboxConfig: config })
    await assert.rejects(client.call('startContainer', { containerId }), /no space left on device/)
    const isLeft = (pid: string) => {
      try {
        return /^\d+$/.test(pid) && readFileSync(`/proc/${pid}/cmdline`, 'utf8') === `sleep\0${seconds}\0`
      } catch {
        return false
      }
    }
    while (readdirSync('/proc').some(isLeft)) await systemClock.sleep(20)
    const { status } = await client.call('containerStatus', { containerId })
    assert.deepEqual([status?.state, status?.reason], [containerStates.exited, 'StartError'])
  })
})
