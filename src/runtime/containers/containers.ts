/** Containers: made, started, taken over from the agent before, ended, removed. */

import { join } from 'node:path'
import { defined } from '#base/defined.ts'
import { descriptors } from '#base/descriptors.ts'
import { errorMessage } from '#base/error-message.ts'
import { GrpcError, grpcCodes } from '#base/grpc.ts'
import { hadOom, limitCgroup, processesIn } from '#runtime/cgroups/container-cgroup.ts'
import { withCdiDevices } from '#runtime/containers/cdi-devices.ts'
import { ContainerOutput } from '#runtime/containers/container-output.ts'
import { argsOf, containerSpec, environmentOf, type PlanContext, processOf, userOf } from '#runtime/containers/container-plan.ts'
import { exitOf } from '#runtime/containers/exit-record.ts'
import { knownSignal, stopSignalOf } from '#runtime/containers/stop-signal.ts'
import type { StoredImage } from '#runtime/images/stored-image.ts'
import { containerScript } from '#runtime/launch/container-script.ts'
import type { Launch, Launched } from '#runtime/launch/launcher.ts'
import type { ContainerSpec } from '#runtime/launch/process-spec.ts'
import { terminalEnds } from '#runtime/launch/process-steps.ts'
import { whyNotOci } from '#runtime/oci/oci-config.ts'
import type { OciRuntime } from '#runtime/oci/oci-runtime.ts'
import { type ContainerRecord, Records, type SandboxRecord } from '#runtime/records.ts'
import type { SandboxesOptions } from '#runtime/sandboxes/sandboxes.ts'
import { podUsersOf } from '#runtime/user-namespace.ts'
import type { ContainerConfig, LinuxResources } from '#wire/cri/cri-types.ts'

export type ContainersOptions = Omit<SandboxesOptions, 'networking' | 'nobody' | 'whyNoUsers'> & {
  context: PlanContext
  /** Makes containers in our place, those that it can. */
  oci?: OciRuntime
  findImage(name: string): StoredImage | undefined
  /** A container has changed by itself or by a call. */
  onChange(record: ContainerRecord, change: 'created' | 'started' | 'stopped' | 'deleted'): void
}

/** Largest a pipe may be where nobody has said otherwise: what is written while no agent is there waits in it. */
const pipeBytes = 1 << 20
const outputPatienceMs = 2000
/** When the kernel's news of an end do not come. */
const killPatienceMs = 10_000
/** Where it could not be seen whether a container has ended. */
const lookAgainMs = 1000

export class Containers {
  readonly #options: ContainersOptions
  readonly #records: Records<ContainerRecord>
  readonly #outputs = new Map<string, ContainerOutput>()
  readonly #ends = new Map<string, PromiseWithResolvers<void>>()
  readonly #finishing = new Map<string, Promise<void>>()

  constructor(options: ContainersOptions) {
    this.#options = options
    this.#records = new Records(options.files, options.paths.containers, 'container.json')
  }

  /** Takes over what runs, and finds out what has ended meanwhile. */
  async load(): Promise<void> {
    const { files, paths, table } = this.#options
    const { unfinished } = await this.#records.load()
    for (const id of unfinished) await files.remove(paths.container(id).directory)
    for (const record of this.#records.all()) {
      if (record.state !== 'running') continue
      if (record.monitor !== undefined && (await table.isAlive(record.monitor))) this.#follow(record, undefined)
      else await this.#finish(record)
    }
  }

  all(): ContainerRecord[] {
    return this.#records.all()
  }

  find(id: string): ContainerRecord | undefined {
    return this.#records.find(id)
  }

  get(id: string): ContainerRecord {
    const record = this.#records.find(id)
    if (record === undefined) throw new GrpcError(grpcCodes.notFound, `container "${id}" in namespace "k8s.io": not found`)
    return record
  }

  running(id: string): ContainerRecord {
    const record = this.get(id)
    if (record.state !== 'running') throw new GrpcError(grpcCodes.unknown, `container is in CONTAINER_${record.state.toUpperCase()} state`)
    return record
  }

  output(id: string): ContainerOutput | undefined {
    return this.#outputs.get(id)
  }

  /** Resolves when it has ended. */
  async ended(id: string): Promise<void> {
    await this.#ends.get(id)?.promise
  }

  async create(sandbox: SandboxRecord, asked: ContainerConfig): Promise<string> {
    const config = await withCdiDevices(asked, this.#options.files)
    const { random, clock, files, paths, context, findImage, cgroups } = this.#options
    const image = findImage(config.image.image)
    if (image === undefined) throw new GrpcError(grpcCodes.notFound, `failed to resolve image "${config.image.image}": not found`)
    const id = Buffer.from(random.bytes(32)).toString('hex')
    const { envs: _, ...kept } = config
    const resources = config.linux?.resources ?? {}
    const cgroup = `${sandbox.config.linux?.cgroupParent || '/typernetes'}/${id}`
    const user = await userOf(image, config, context)
    argsOf(image, config)
    const record: ContainerRecord = {
      ...{ id, sandboxId: sandbox.id, config: kept, env: environmentOf(image, config, sandbox.config.hostname ?? ''), imageId: image.id },
      ...{ state: 'created', createdNanos: String(BigInt(clock.nowMicros()) * 1000n), startedNanos: '0', finishedNanos: '0' },
      ...{ exitCode: 0, reason: '', message: '', cgroup, resources, user: { uid: user.uid, gid: user.gid, groups: user.groups } },
      logFile: sandbox.config.logDirectory && config.logPath ? join(sandbox.config.logDirectory, config.logPath) : '',
      stopSignal: stopSignalOf(config.stopSignal) ?? image.config.StopSignal ?? 'SIGTERM',
      hasCgroupNamespace: cgroups !== undefined,
      ...defined({ users: podUsersOf(sandbox.config) }),
    }
    // What cannot be started is refused before anything is made of it.
    await processOf(record, kept, image, context)
    const place = paths.container(id)
    for (const directory of [place.upper, place.work, place.root]) await files.makeDirectory(directory, { mode: 0o755 })
    await this.#records.save(record)
    this.#options.onChange(record, 'created')
    return id
  }

  async start(id: string, sandbox: SandboxRecord): Promise<void> {
    const record = this.get(id)
    if (record.state !== 'created')
      throw new GrpcError(grpcCodes.failedPrecondition, `container is in CONTAINER_${record.state.toUpperCase()} state`)
    try {
      await this.#launch(record, sandbox)
    } catch (error) {
      const message = `unable to start container process: ${errorMessage(error)}`
      const nanos = String(BigInt(this.#options.clock.nowMicros()) * 1000n)
      const failed = { ...record, state: 'exited', exitCode: 128, reason: 'StartError', message, finishedNanos: nanos } as const
      await this.#options.cgroups?.remove(record.cgroup)
      // Known all the same, as long as we live: with no room left on the disk the failure is told rather than that it could not be kept.
      await this.#records.save(failed).catch(() => {})
      this.#options.onChange(failed, 'stopped')
      throw new GrpcError(grpcCodes.unknown, message)
    }
  }

  /** Resolves when it has ended. A later call may shorten the grace of an earlier one. */
  async stop(id: string, graceMs: number): Promise<void> {
    const record = this.#records.find(id)
    if (record === undefined || record.state !== 'running') return this.#finishing.get(record?.id ?? '')
    const { clock, processes, table } = this.#options
    const ended = this.#ends.get(record.id)?.promise ?? Promise.resolve()
    if (graceMs > 0 && record.process !== undefined && (await table.isAlive(record.process))) {
      processes.kill(record.process.pid, knownSignal(record.stopSignal))
      const over = new AbortController()
      await Promise.race([ended, clock.sleep(graceMs, over.signal).catch(() => {})])
      over.abort()
    }
    if (this.get(record.id).state === 'running') {
      await this.#killAll(record)
      const over = new AbortController()
      await Promise.race([ended, clock.sleep(killPatienceMs, over.signal).catch(() => {})])
      over.abort()
    }
    if (this.#records.find(record.id)?.state === 'running') await this.#finish(record)
  }

  async remove(id: string): Promise<void> {
    const record = this.#records.find(id)
    if (record === undefined) return
    const { files, paths, cgroups } = this.#options
    if (record.state === 'running') await this.stop(record.id, 0)
    await this.#finishing.get(record.id)
    await cgroups?.remove(record.cgroup)
    this.#records.forget(record.id)
    await files.remove(paths.container(record.id).exit)
    await files.remove(paths.container(record.id).directory)
    // Also where it was made by a program that is not asked any more.
    await files.remove(join(paths.oci, record.id))
    this.#options.onChange(record, 'deleted')
  }

  async update(id: string, resources: LinuxResources): Promise<void> {
    const record = this.get(id)
    if (this.#options.cgroups !== undefined && record.state === 'running')
      await limitCgroup(this.#options.cgroups, record.cgroup, resources)
    await this.#records.save({ ...record, resources: { ...record.resources, ...resources } })
  }

  /** No more will be written to its input. */
  async closeInput(id: string): Promise<void> {
    const { monitor } = this.get(id)
    if (monitor !== undefined && (await this.#options.table.isAlive(monitor))) this.#options.processes.kill(monitor.pid, 'SIGUSR1')
  }

  /** A file of ends has changed. */
  async noticeEnd(id: string): Promise<void> {
    const record = this.#records.get(id)
    if (record?.state === 'running' && (await this.#readExit(record)) !== undefined) await this.#finish(record)
  }

  /** Finds ends that the kernel has told too many of at once to name them. */
  async noticeAll(): Promise<void> {
    for (const { id, state } of this.#records.all()) if (state === 'running') await this.noticeEnd(id)
  }

  #noticeLostSoon(id: string): void {
    const { clock, logger } = this.#options
    this.#noticeLost(id).catch((error: unknown) => {
      logger.warn('failed to look whether a container has ended', { container: id, error: errorMessage(error) })
      clock.after(lookAgainMs, () => this.#noticeLostSoon(id))
    })
  }

  async #noticeLost(id: string): Promise<void> {
    const record = this.#records.get(id)
    if (record?.state !== 'running' || record.monitor === undefined) return
    if (!(await this.#options.table.isAlive(record.monitor))) await this.#finish(record)
  }

  /** Leaves everything running. */
  async leave(): Promise<void> {
    for (const output of this.#outputs.values()) await output.leave()
  }

  async #launch(record: ContainerRecord, sandbox: SandboxRecord): Promise<void> {
    const { context, paths, cgroups, findImage, clock, table, files } = this.#options
    const image = findImage(record.imageId)
    if (image === undefined) throw new Error(`the image ${record.imageId} is gone`)
    const place = paths.container(record.id)
    const process = await processOf(record, record.config, image, context)
    const targetId = record.config.linux?.securityContext?.namespaceOptions?.targetId ?? ''
    const spec = await containerSpec(
      record,
      sandbox,
      { image, process, target: targetId === '' ? undefined : this.running(targetId), findImage },
      context,
    )
    if (cgroups !== undefined) {
      await cgroups.make(record.cgroup)
      await limitCgroup(cgroups, record.cgroup, record.resources)
    }
    const { hasTerminal } = process
    await files.makeDirectory(paths.exits)
    const opened: number[] = []
    const open = (descriptor: number) => {
      opened.push(descriptor)
      return descriptor
    }
    const pipe = (stream: 'stdin' | 'stdout' | 'stderr') => {
      descriptors.makeFifo(place.pipe(stream))
      return open(descriptors.openFifo(place.pipe(stream), pipeBytes))
    }
    try {
      const exit = open(descriptors.openForWriting(place.exit))
      const stdin = record.config.stdin && !hasTerminal ? pipe('stdin') : 'nothing'
      const streams = hasTerminal ? (['nothing', 'nothing', 'nothing'] as const) : ([stdin, pipe('stdout'), pipe('stderr')] as const)
      const name = `typernetes: container ${record.config.metadata.name}`
      // Read from the beginning on: a container that writes at once and ends is heard as well.
      const output = this.#outputOf(record)
      // Whoever asks for the log of a silent container finds an empty one.
      await output.reopen()
      if (!hasTerminal) for (const stream of ['stdout', 'stderr'] as const) output.readPipe(stream, place.pipe(stream))
      const {
        pid,
        process: launched,
        terminal,
      } = await this.#make(record, spec, { name, streams, further: [exit] }).catch(async (error) => {
        await output.leave()
        throw error
      })
      const startedNanos = String(BigInt(clock.nowMicros()) * 1000n)
      const [inner, monitor] = await Promise.all([table.find(pid), table.find(launched.pid)])
      const running: ContainerRecord = {
        ...{ ...record, state: 'running', startedNanos, ...defined({ process: inner, monitor }) },
        identity: {
          ...{ directory: process.directory, hasNoNewPrivileges: process.hasNoNewPrivileges, maySetGroups: process.maySetGroups },
          ...{ capabilities: String(process.capabilities), ambient: String(process.ambient) },
          ...(process.seccompFilter && { seccomp: Buffer.from(process.seccompFilter).toString('base64') }),
        },
        env: [...process.env],
      }
      // Before anybody sees that it runs: who stops it at once must have an end to wait for.
      this.#outputs.set(record.id, output)
      this.#ends.set(record.id, Promise.withResolvers())
      // And before an end can be noticed, which closes the log: what was not read by then is lost.
      if (terminal !== undefined) output.readTerminal(terminal)
      // What nobody knows to run must not: each next try would add another.
      await this.#records.save(running).catch(async (error: unknown) => {
        await this.stop(record.id, 0).catch(() => {})
        throw error
      })
      this.#options.onChange(running, 'started')
      // It may have ended before anybody waited for it.
      await this.noticeEnd(record.id)
      await this.#noticeLost(record.id)
    } finally {
      for (const descriptor of opened) descriptors.close(descriptor)
    }
  }

  /** By another program where one is named and can do it, else by our own. */
  async #make(
    { id, cgroup }: ContainerRecord,
    spec: ContainerSpec,
    launch: Pick<Launch, 'name' | 'streams'> & { further: readonly number[] },
  ): Promise<Pick<Launched, 'pid' | 'process' | 'terminal'>> {
    const { launcher, oci } = this.#options
    if (oci !== undefined && whyNotOci(spec) === undefined) return oci.launch(spec, { id, cgroup, ...launch })
    const script = containerScript(spec, launcher.program, launcher.architecture)
    return launcher.launch({ script, ...launch, hasTerminal: spec.process.hasTerminal })
  }

  #outputOf({ id, logFile }: ContainerRecord): ContainerOutput {
    const { clock, files, logger } = this.#options
    // A monitor that was killed wrote nothing down; its pipes tell.
    return new ContainerOutput({ logFile, clock, files, logger, onEnd: () => this.#noticeLostSoon(id) })
  }

  #follow(record: ContainerRecord, terminal: number | undefined): void {
    const { paths, logger } = this.#options
    const place = paths.container(record.id)
    const output = this.#outputOf(record)
    try {
      if (record.config.tty) output.readTerminal(terminal ?? descriptors.takeFrom(record.monitor?.pid ?? 0, terminalEnds.outer))
      else for (const stream of ['stdout', 'stderr'] as const) output.readPipe(stream, place.pipe(stream))
    } catch (error) {
      logger.warn('failed to read the output of a container', { container: record.id, error: errorMessage(error) })
    }
    this.#outputs.set(record.id, output)
    this.#ends.set(record.id, Promise.withResolvers())
    void this.noticeEnd(record.id)
  }

  async #readExit(record: ContainerRecord) {
    const path = this.#options.paths.container(record.id).exit
    // A container that was killed with the machine has left no exit code: exitOf says what it counts as.
    return exitOf(await this.#options.files.read(path).catch(() => new Uint8Array(0)))
  }

  #finish(record: ContainerRecord): Promise<void> {
    const known = this.#finishing.get(record.id)
    if (known !== undefined) return known
    const finishing = this.#settle(record)
      .catch((error: unknown) =>
        this.#options.logger.error('failed to record container exit', { container: record.id, error: errorMessage(error) }),
      )
      .finally(() => this.#finishing.delete(record.id))
    this.#finishing.set(record.id, finishing)
    return finishing
  }

  async #settle(record: ContainerRecord): Promise<void> {
    const { clock, cgroups, paths, files } = this.#options
    const exit = await this.#readExit(record)
    const wasOom = cgroups !== undefined && (await hadOom(cgroups, record.cgroup))
    // Where others share its processes, some may be left.
    await this.#killAll(record)
    const output = this.#outputs.get(record.id) ?? this.#outputOf(record)
    for (const stream of ['stdout', 'stderr'] as const) {
      // Nothing was left over.
      const left = await files.read(paths.container(record.id).leftover(stream)).catch(() => undefined)
      if (left !== undefined) output.take(stream, left)
    }
    await output.end(outputPatienceMs)
    this.#outputs.delete(record.id)
    const current = this.#records.get(record.id)
    if (current?.state !== 'running') return
    const exitCode = exit?.exitCode ?? 255
    const ended: ContainerRecord = {
      ...{ ...current, state: 'exited', exitCode },
      finishedNanos: String(exit?.finishedNanos ?? BigInt(clock.nowMicros()) * 1000n),
      reason: wasOom && exitCode !== 0 ? 'OOMKilled' : exit === undefined ? 'Unknown' : exitCode === 0 ? 'Completed' : 'Error',
    }
    await this.#records.save(ended)
    await this.#options.oci?.forget(record.id)
    await cgroups?.remove(record.cgroup)
    this.#ends.get(record.id)?.resolve()
    this.#ends.delete(record.id)
    this.#options.onChange(ended, 'stopped')
  }

  async #killAll(record: ContainerRecord): Promise<void> {
    const { cgroups, processes, table } = this.#options
    if (record.process !== undefined && (await table.isAlive(record.process))) processes.kill(record.process.pid, 'SIGKILL')
    if (cgroups === undefined) return
    for (const pid of await processesIn(cgroups, record.cgroup)) processes.kill(pid, 'SIGKILL')
  }
}
