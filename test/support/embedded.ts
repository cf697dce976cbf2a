/** An embedded runtime for a test: everything of it lies in a directory of its own and is gone afterwards. */
import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { findCgroups } from '#base/cgroup-files.ts'
import { systemClock } from '#base/clock.ts'
import { nodeFiles as files } from '#base/files.ts'
import { GrpcError, grpcCodes } from '#base/grpc.ts'
import { nodeHttpClient } from '#base/http-client.ts'
import { silentLogger } from '#base/log.ts'
import { nodeProcesses as processes } from '#base/processes.ts'
import { systemRandom } from '#base/random.ts'
import { whyNoSystemCalls } from '#base/system-calls.ts'
import { podNetworking } from '#cmd/runtime/pod-networking.ts'
import type { CriConnection } from '#kubelet/runtimes/cri/cri-client.ts'
import { bridgeNameOf, layBridgeNetwork, removeBridgeNetwork } from '#network/bridge-network.ts'
import { EmbeddedRuntime } from '#runtime/service/embedded-runtime.ts'
import { InProcessConnection } from '#runtime/service/in-process-connection.ts'
import { freePodCidr, type TestRuntime, unmountBelow, whyNoRights } from './containerd.ts'
import { busyboxPath, testImageArchive } from './test-image.ts'

/** Why tests of it cannot be run here; false when they can: the value of a test's `skip`. */
export function whyNoEmbedded(): string | false {
  if (process.platform !== 'linux') return 'real containers need Linux'
  if (process.getuid?.() !== 0) return 'these containers need root'
  if (spawnSync('sh', ['-c', 'command -v ip']).status !== 0) return 'not installed: iproute2'
  if (!existsSync(busyboxPath)) return 'not installed: busybox-static'
  return whyNoSystemCalls() ?? whyNoRights()
}

export type TestEmbedded = TestRuntime & {
  readonly runtime: EmbeddedRuntime
}

export async function startTestEmbedded(): Promise<TestEmbedded> {
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
        networking: podNetworking({ configDirectory: networks, binDirectory: '/nowhere' }, { files, processes }),
      },
      { files, clock: systemClock, random: systemRandom, logger: silentLogger, processes, http: () => nodeHttpClient() },
    )
  let runtime: EmbeddedRuntime | undefined = await open()
  const connection = new LastingConnection(() => runtime)
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
      rmSync(directory, { recursive: true, force: true })
    },
  }
}

/** To whichever runtime is there. */
class LastingConnection implements CriConnection {
  readonly #current: () => EmbeddedRuntime | undefined
  readonly #streams = new Set<(error: GrpcError) => void>()

  constructor(current: () => EmbeddedRuntime | undefined) {
    this.#current = current
  }

  get channel() {
    return this.#connection().channel
  }

  call: CriConnection['call'] = async (...call) => this.#connection().call(...call)

  containerEvents: CriConnection['containerEvents'] = (onEvent, onEnd) => {
    this.#streams.add(onEnd)
    return this.#connection().containerEvents(onEvent, onEnd)
  }

  cut(): void {
    for (const onEnd of this.#streams) onEnd(away)
    this.#streams.clear()
  }

  [Symbol.dispose](): void {}

  #connection(): InProcessConnection {
    const runtime = this.#current()
    if (runtime === undefined) throw new GrpcError(grpcCodes.unavailable, 'the runtime is away')
    return new InProcessConnection(runtime)
  }
}

const away = new GrpcError(grpcCodes.unavailable, 'the runtime is away')
