/** Pods' sandboxes: namespaces held by a process that waits, addresses, and the files that all containers of a pod see. */
import type { Duplex } from 'node:stream'
import type { CgroupFiles } from '#base/cgroup-files.ts'
import type { Clock } from '#base/clock.ts'
import { descriptors } from '#base/descriptors.ts'
import { errorMessage } from '#base/error-message.ts'
import type { Files } from '#base/files.ts'
import { GrpcError, grpcCodes } from '#base/grpc.ts'
import type { Logger } from '#base/log.ts'
import type { Processes } from '#base/processes.ts'
import type { Random } from '#base/random.ts'
import { systemCall } from '#base/system-calls.ts'
import { limitCgroup, processesIn, procsFiles, sandboxControllers } from '#runtime/cgroups/container-cgroup.ts'
import type { Launcher } from '#runtime/launch/launcher.ts'
import { sandboxScript } from '#runtime/launch/sandbox-script.ts'
import type { ProcessTable } from '#runtime/living-process.ts'
import { Records, type SandboxRecord } from '#runtime/records.ts'
import type { RuntimePaths } from '#runtime/runtime-paths.ts'
import type { NetworkedPod, PodNetworking } from '#runtime/sandboxes/pod-networking.ts'
import { resolvConfOf } from '#runtime/sandboxes/resolv-conf.ts'
import { hostIdOf, type PodUsers, podUsersOf, writeUserMaps } from '#runtime/user-namespace.ts'
import { namespaceModes, type SandboxConfig } from '#wire/cri/cri-types.ts'

export type SandboxesOptions = {
  paths: RuntimePaths
  files: Files
  clock: Clock
  random: Random
  logger: Logger
  processes: Processes
  launcher: Launcher
  table: ProcessTable
  cgroups: CgroupFiles | undefined
  networking: PodNetworking
  /** Nobody, as which sandboxes wait. */
  nobody: number
  hostResolvConf?: string
  /** Why pods cannot have users of their own here; undefined where they can. */
  whyNoUsers(): Promise<string | undefined>
  /** Its process has ended by itself. */
  onDeath?(record: SandboxRecord): void
}

const sharedMemoryBytes = 64 << 20
const mountFlags = { noSuid: 2, noDev: 4, noExec: 8 }
const oomScoreAdjust = -998
const detached = 2

export class Sandboxes {
  readonly #options: SandboxesOptions
  readonly #records: Records<SandboxRecord>
  readonly #lifelines = new Map<string, Duplex>()

  constructor(options: SandboxesOptions) {
    this.#options = options
    this.#records = new Records(options.files, options.paths.sandboxes, 'sandbox.json')
  }

  async load(): Promise<void> {
    const { unfinished } = await this.#records.load()
    for (const id of unfinished) await this.#removeFiles(id)
    for (const record of this.#records.all()) if (!record.isStopped) this.#follow(record)
  }

  all(): SandboxRecord[] {
    return this.#records.all()
  }

  find(id: string): SandboxRecord | undefined {
    return this.#records.find(id)
  }

  get(id: string): SandboxRecord {
    const record = this.#records.find(id)
    if (record === undefined) throw new GrpcError(grpcCodes.notFound, `sandbox "${id}" not found`)
    return record
  }

  async isReady({ process, isStopped }: SandboxRecord): Promise<boolean> {
    return !isStopped && (await this.#options.table.isAlive(process))
  }

  async run(config: SandboxConfig, runtimeHandler: string): Promise<SandboxRecord> {
    if (runtimeHandler !== '') throw new GrpcError(grpcCodes.invalidArgument, `no runtime for "${runtimeHandler}" is configured`)
    const { paths, files, random, clock, networking, table, whyNoUsers } = this.#options
    const users = podUsersOf(config)
    const reason = users && (await whyNoUsers())
    if (reason !== undefined) throw new GrpcError(grpcCodes.failedPrecondition, `user namespaces of pods are not supported: ${reason}`)
    const id = Buffer.from(random.bytes(32)).toString('hex')
    const createdNanos = String(BigInt(clock.nowMicros()) * 1000n)
    const cgroup = `${config.linux?.cgroupParent || '/typernetes'}/${id}`
    const place = paths.sandbox(id)
    await using undo = new AsyncDisposableStack()
    undo.defer(() => this.#removeFiles(id))
    await files.makeDirectory(place.empty)
    await this.#writeFiles(id, config, users)
    await this.#prepareCgroup(cgroup, config)
    undo.defer(async () => void (await this.#options.cgroups?.remove(cgroup)))
    const pid = await this.#launch(id, cgroup, config, users)
    undo.defer(() => this.#kill(pid))
    const process = await table.find(pid)
    if (process === undefined) throw new Error(`the process of the sandbox ${id} ended as soon as it was started`)
    const pod: NetworkedPod = { id, namespacePath: `/proc/${pid}/ns/net`, config }
    const ips = hasOwnNetwork(config) ? await networking.attach(pod) : []
    const record: SandboxRecord = { ...{ id, config, runtimeHandler, createdNanos, process, ips, cgroup }, isStopped: false }
    await this.#records.save(record)
    this.#follow(record)
    undo.move()
    return record
  }

  /** Its containers have been ended before. */
  async stop(record: SandboxRecord): Promise<void> {
    if (record.isStopped) return
    const { networking, paths, table, cgroups } = this.#options
    const isAlive = await table.isAlive(record.process)
    if (hasOwnNetwork(record.config)) {
      await networking.detach({ id: record.id, namespacePath: isAlive ? `/proc/${record.process.pid}/ns/net` : '', config: record.config })
    }
    if (isAlive) await this.#kill(record.process.pid)
    this.#unmount(paths.sandbox(record.id).sharedMemory)
    if (cgroups !== undefined) for (const pid of await processesIn(cgroups, record.cgroup)) this.#options.processes.kill(pid, 'SIGKILL')
    await this.#records.save({ ...record, isStopped: true })
    this.#lifelines.get(record.id)?.destroy()
    this.#lifelines.delete(record.id)
  }

  async remove(record: SandboxRecord): Promise<void> {
    await this.stop(record)
    await this.#options.cgroups?.remove(record.cgroup)
    this.#records.forget(record.id)
    await this.#removeFiles(record.id)
  }

  async #launch(id: string, cgroup: string, config: SandboxConfig, users: PodUsers | undefined): Promise<number> {
    const { launcher, paths, cgroups, nobody } = this.#options
    const modes = config.linux?.securityContext?.namespaceOptions ?? {}
    const namespaces = [
      ...(modes.network === namespaceModes.node ? [] : (['net', 'uts'] as const)),
      ...(modes.ipc === namespaceModes.node ? [] : (['ipc'] as const)),
      ...((modes.pid ?? namespaceModes.pod) === namespaceModes.pod ? (['pid'] as const) : []),
    ]
    const script = sandboxScript(
      {
        ...{ namespaces, hostname: config.hostname ?? '', sysctls: config.linux?.sysctls ?? {}, oomScoreAdjust },
        hasUsers: users !== undefined,
        uid: users === undefined || hostIdOf(users.uids, nobody) !== undefined ? nobody : 0,
        emptyDirectory: paths.sandbox(id).empty,
        cgroupProcs: cgroups === undefined ? [] : procsFiles(cgroups, cgroup, sandboxControllers),
      },
      launcher.architecture,
    )
    const { lifeline } = paths.sandbox(id)
    descriptors.makeFifo(lifeline)
    const held = descriptors.openFifo(lifeline)
    try {
      const onUsers = (pid: number) => users && writeUserMaps(pid, users)
      return (await launcher.launch({ script, name: '/pause', streams: ['nothing', 'nothing', 'nothing'], further: [held], onUsers })).pid
    } finally {
      descriptors.close(held)
    }
  }

  /** Hears of the end of its process, whoever's child it is. */
  #follow(record: SandboxRecord): void {
    try {
      const lifeline = descriptors.readFifo(this.#options.paths.sandbox(record.id).lifeline)
      this.#lifelines.set(record.id, lifeline)
      lifeline.on('error', () => {})
      lifeline.resume().once('end', () => {
        lifeline.destroy()
        if (this.#lifelines.delete(record.id)) this.#options.onDeath?.(record)
      })
    } catch (error) {
      this.#options.logger.warn('failed to watch the process of a sandbox', { sandbox: record.id, error: errorMessage(error) })
    }
  }

  /** Leaves everything running. */
  leave(): void {
    for (const lifeline of this.#lifelines.values()) lifeline.destroy()
    this.#lifelines.clear()
  }

  async #prepareCgroup(cgroup: string, { linux }: SandboxConfig): Promise<void> {
    const { cgroups } = this.#options
    await cgroups?.make(cgroup)
    if (cgroups !== undefined && linux?.resources !== undefined) await limitCgroup(cgroups, cgroup, { cpuShares: 2 })
  }

  async #writeFiles(id: string, config: SandboxConfig, users: PodUsers | undefined): Promise<void> {
    const { files, paths } = this.#options
    const place = paths.sandbox(id)
    const once = { mode: 0o644, survivesPowerCut: false }
    const hasOwnName = (config.hostname ?? '') !== ''
    if (hasOwnName) await files.write(place.hostname, `${config.hostname}\n`, once)
    const text = await resolvConfOf(config, files, this.#options.hostResolvConf)
    if (text !== undefined) await files.write(place.resolvConf, text, once)
    if (config.linux?.securityContext?.namespaceOptions?.ipc === namespaceModes.node) return
    await files.makeDirectory(place.sharedMemory, { mode: 0o1777 })
    const { noSuid, noDev, noExec } = mountFlags
    const owner = users === undefined ? '' : `,uid=${hostIdOf(users.uids, 0)},gid=${hostIdOf(users.gids, 0)}`
    systemCall('mount', 'shm', place.sharedMemory, 'tmpfs', noSuid | noDev | noExec, `mode=1777,size=${sharedMemoryBytes}${owner}`)
  }

  async #removeFiles(id: string): Promise<void> {
    const { paths, files } = this.#options
    this.#unmount(paths.sandbox(id).sharedMemory)
    await files.remove(paths.sandbox(id).directory)
  }

  #unmount(path: string): void {
    try {
      systemCall('umount2', path, detached)
    } catch {
      // It is not mounted, or not there.
    }
  }

  async #kill(pid: number): Promise<void> {
    const { processes, clock, table, logger } = this.#options
    processes.kill(pid, 'SIGKILL')
    for (const pauseMs of [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000]) {
      if (
        (await table
          .find(pid)
          .catch((error: unknown) => void logger.debug('failed to look up process of sandbox', { pid, error: errorMessage(error) }))) ===
        undefined
      )
        return
      await clock.sleep(pauseMs)
    }
  }
}

const hasOwnNetwork = ({ linux }: SandboxConfig): boolean => linux?.securityContext?.namespaceOptions?.network !== namespaceModes.node
