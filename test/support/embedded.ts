/** An embedded runtime for a test: everything of it lies in a directory of its own and is gone afterwards. */
import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { findCgroups } from '#base/cgroup-files.ts'
import { systemClock } from '#base/clock.ts'
import { defined } from '#base/defined.ts'
import { type Files, nodeFiles as files } from '#base/files.ts'
import { nodeHttpClient } from '#base/http-client.ts'
import { silentLogger } from '#base/log.ts'
import { thisProcess } from '#base/machine.ts'
import { nodeProcesses as processes } from '#base/processes.ts'
import { systemRandom } from '#base/random.ts'
import { whyNoSystemCalls } from '#base/system-calls.ts'
import { podNetworking } from '#cmd/runtime/pod-networking.ts'
import { bridgeNameOf, layBridgeNetwork, removeBridgeNetwork } from '#network/bridge-network.ts'
import { Launcher } from '#runtime/launch/launcher.ts'
import { whyNoUsers } from '#runtime/sandboxes/why-no-users.ts'
import { embeddedProvider } from '#runtime/service/cri-service.ts'
import { EmbeddedRuntime } from '#runtime/service/embedded-runtime.ts'
import { freePodCidr, type TestRuntime, unmountBelow, whyNoRights } from './containerd.ts'
import { LastingConnection } from './lasting-connection.ts'
import { busyboxPath, testImageArchive } from './test-image.ts'

/** Why tests of it cannot be run here; false when they can: the value of a test's `skip`. */
export function whyNoEmbedded(): string | false {
  if (process.platform !== 'linux') return 'real containers need Linux'
  if (process.getuid?.() !== 0) return 'these containers need root'
  if (spawnSync('sh', ['-c', 'command -v ip']).status !== 0) return 'not installed: iproute2'
  if (!existsSync(busyboxPath)) return 'not installed: busybox-static'
  return whyNoSystemCalls() ?? whyNoRights()
}

/** Why pods cannot have users of their own here (`hostUsers: false`), with files of that directory; false where they can. */
export async function whyNoPodUsers(directory = tmpdir()): Promise<string | false> {
  if (whyNoEmbedded() !== false) return 'there is no embedded runtime'
  using launcher = new Launcher()
  const reason = await whyNoUsers({ launcher, files, directory, isRootless: thisProcess.userNamespace !== undefined })
  return reason ?? false
}

export type TestEmbedded = TestRuntime & {
  readonly runtime: EmbeddedRuntime
}

export async function startTestEmbedded({
  ociRuntime,
  recordFiles = files,
}: {
  ociRuntime?: string
  recordFiles?: Files
} = {}): Promise<TestEmbedded> {
  const directory = mkdtempSync(join(tmpdir(), 'tn-embedded-'))
  const networks = join(directory, 'cni')
  const bridge = bridgeNameOf(directory)
  const podCidr = freePodCidr()
  const network = { name: bridge, bridge, podCidrs: [podCidr], dataDirectory: join(directory, 'addresses'), plugins: 'own' as const }
  await layBridgeNetwork(network, networks, { files, processes })
  const open = () =>
    EmbeddedRuntime.open(
      {
        directory: join(directory, 'runtime'),
        version: '0.0.0',
        ...defined({ rootless: thisProcess.userNamespace, ociRuntime }),
        networking: podNetworking({ configDirectory: networks, binDirectory: '/nowhere' }, { files, processes, clock: systemClock }),
      },
      { files: recordFiles, clock: systemClock, random: systemRandom, logger: silentLogger, processes, http: () => nodeHttpClient() },
    )
  let runtime: EmbeddedRuntime | undefined = await open()
  const connection = new LastingConnection(() => (runtime === undefined ? undefined : embeddedProvider(runtime)))
  const archive = join(directory, 'test-image.tar')
  writeFileSync(archive, testImageArchive())
  await runtime.images.import(archive)
  rmSync(archive)
  return {
    ...{ directory, bridge, podCidr, podCgroup: `kubepods-${bridge}` },
    get runtime() {
      if (runtime === undefined) throw new Error('the runtime is not there')
      return runtime
    },
    client: async () => connection,
    async kill() {
      const gone = runtime
      runtime = undefined
      await gone?.[Symbol.asyncDispose]()
      connection.cut()
    },
    async start() {
      runtime = await open()
    },
    async [Symbol.asyncDispose]() {
      runtime ??= await open()
      for (const { id } of runtime.sandboxes.all()) await connection.call('removePodSandbox', { podSandboxId: id })
      await runtime[Symbol.asyncDispose]()
      unmountBelow(directory)
      await (await findCgroups(files))?.remove(`kubepods-${bridge}`)
      await removeBridgeNetwork(network, networks, { files, processes })
      rmSync(directory, { recursive: true, force: true, maxRetries: 20 })
    },
  }
}
