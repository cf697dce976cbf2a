/** A container runtime in this process. It is spoken to as any other, in the words of CRI. */
import { type CgroupFiles, findCgroups } from '#base/cgroup-files.ts'
import type { Clock } from '#base/clock.ts'
import { defined } from '#base/defined.ts'
import type { Files } from '#base/files.ts'
import type { HttpClient } from '#base/http-client.ts'
import type { Logger } from '#base/log.ts'
import type { Processes } from '#base/processes.ts'
import type { Random } from '#base/random.ts'
import { thisProcessor } from '#base/system-calls.ts'
import { Containers } from '#runtime/containers/containers.ts'
import { lockDirectory } from '#runtime/directory-lock.ts'
import { ImageStore } from '#runtime/images/image-store.ts'
import { boundingSetIn } from '#runtime/launch/capabilities.ts'
import { Launcher } from '#runtime/launch/launcher.ts'
import { ProcessTable } from '#runtime/living-process.ts'
import { OciRuntime } from '#runtime/oci/oci-runtime.ts'
import type { ContainerRecord, SandboxRecord } from '#runtime/records.ts'
import { type RuntimePaths, runtimePaths } from '#runtime/runtime-paths.ts'
import type { PodNetworking } from '#runtime/sandboxes/pod-networking.ts'
import { Sandboxes } from '#runtime/sandboxes/sandboxes.ts'
import { whyNoUsers } from '#runtime/sandboxes/why-no-users.ts'
import { sandboxStatus } from '#runtime/service/cri-views.ts'
import { StreamServer } from '#runtime/streams/stream-server.ts'
import type { ContainerEvent } from '#wire/cri/cri-messages.ts'

export type EmbeddedRuntimeOptions = {
  directory: string
  version: string
  networking: PodNetworking
  /** In a user namespace of its own; `hasOneUser` where that has no more than one. */
  rootless?: { hasOneUser: boolean }
  /** A program such as runc or crun, by its path, that makes containers in place of our own launcher, where it can. */
  ociRuntime?: string
}

export type EmbeddedRuntimeSeams = { files: Files; clock: Clock; random: Random; logger: Logger; processes: Processes; http(): HttpClient }

const eventTypes = { created: 0, started: 1, stopped: 2, deleted: 3 } as const
const nobody = 65_535

export class EmbeddedRuntime implements AsyncDisposable {
  readonly version: string
  readonly paths: RuntimePaths
  readonly images: ImageStore
  readonly sandboxes: Sandboxes
  readonly containers: Containers
  readonly networking: PodNetworking
  readonly streams: StreamServer
  readonly launcher: Launcher
  readonly cgroups: CgroupFiles | undefined
  readonly clock: Clock
  readonly files: Files
  readonly processes: Processes
  /** Why pods cannot have users of their own; undefined where they can. */
  readonly whyNoUsers: () => Promise<string | undefined>
  readonly #listeners: Set<(event: ContainerEvent) => void>
  readonly #stack: AsyncDisposableStack

  private constructor(
    parts: Omit<EmbeddedRuntime, typeof Symbol.asyncDispose | 'onEvent'>,
    listeners: Set<(event: ContainerEvent) => void>,
    stack: AsyncDisposableStack,
  ) {
    this.version = parts.version
    this.paths = parts.paths
    this.images = parts.images
    this.sandboxes = parts.sandboxes
    this.containers = parts.containers
    this.networking = parts.networking
    this.streams = parts.streams
    this.launcher = parts.launcher
    this.cgroups = parts.cgroups
    this.clock = parts.clock
    this.files = parts.files
    this.processes = parts.processes
    this.whyNoUsers = parts.whyNoUsers
    this.#listeners = listeners
    this.#stack = stack
  }

  /** Takes over what an agent before has left. Rejects where another uses the directory. */
  static async open(options: EmbeddedRuntimeOptions, seams: EmbeddedRuntimeSeams): Promise<EmbeddedRuntime> {
    const { files, clock, random, logger, processes, http } = seams
    const { directory, version, networking, rootless, ociRuntime } = options
    await using stack = new AsyncDisposableStack()
    const paths = runtimePaths(directory)
    await files.makeDirectory(paths.exits)
    stack.use(await lockDirectory(directory, paths.lock, { files, clock }))
    const launcher = stack.use(new Launcher())
    const table = await ProcessTable.open(files)
    // Root of a user namespace may have been given some: in a container around us, say.
    const cgroups = await findCgroups(files)
    const listeners = new Set<(event: ContainerEvent) => void>()
    const images: ImageStore = await ImageStore.open({
      ...{ directory: paths.images, files, clock, logger, http, architecture: thisProcessor },
      isRootless: rootless !== undefined,
      keepsOwners: !rootless?.hasOneUser,
      isUsed: (imageId) =>
        containers
          .all()
          .some((record) => record.imageId === imageId || record.config.mounts?.some(({ image }) => image?.image === imageId)),
    })
    const tellOf = async (sandbox: SandboxRecord, containerId: string, containerEventType: number) => {
      if (listeners.size === 0) return
      // Whoever hears of it looks for themselves.
      const isReady = await sandboxes.isReady(sandbox).catch(() => !sandbox.isStopped)
      const podSandboxStatus = sandboxStatus(sandbox, isReady)
      for (const listener of listeners) listener({ containerId, containerEventType, podSandboxStatus, containersStatuses: [] })
    }
    let whyNot: Promise<string | undefined> | undefined
    // Tried when somebody first asks: it starts a process.
    const whyNoPodUsers = () => {
      whyNot ??= whyNoUsers({ launcher, files, directory, isRootless: rootless !== undefined }).then((reason) => {
        if (reason !== undefined) logger.info('pods with hostUsers: false are refused', { reason })
        return reason
      })
      return whyNot
    }
    const shared = { paths, files, clock, random, logger, processes, launcher, table, cgroups }
    const sandboxes: Sandboxes = new Sandboxes({
      ...shared,
      networking,
      nobody: rootless?.hasOneUser ? 0 : nobody,
      whyNoUsers: whyNoPodUsers,
      onDeath: (record) => tellOf(record, record.id, eventTypes.stopped),
    })
    const containers: Containers = new Containers({
      ...shared,
      ...defined({
        oci: ociRuntime === undefined ? undefined : new OciRuntime({ program: ociRuntime, paths, files, processes, launcher }),
      }),
      findImage: (name) => images.find(name),
      context: {
        ...{
          paths,
          files,
          cgroups,
          processor: thisProcessor,
          isRootless: rootless !== undefined,
          hasOneUser: rootless?.hasOneUser ?? false,
        },
        ownCapabilities: boundingSetIn(await files.readText('/proc/self/status')),
      },
      onChange: (record, change) => void tell(record, change),
    })
    const tell = async (record: ContainerRecord, change: keyof typeof eventTypes) => {
      const sandbox = sandboxes.find(record.sandboxId)
      if (sandbox !== undefined) await tellOf(sandbox, record.id, eventTypes[change])
    }
    await sandboxes.load()
    // Before the first look: an end between the two would be missed.
    stack.use(files.watch(paths.exits, (name) => void (name === undefined ? containers.noticeAll() : containers.noticeEnd(name))))
    await containers.load()
    stack.defer(() => containers.leave())
    stack.defer(() => sandboxes.leave())
    const streams = stack.use(await StreamServer.start({ random, clock }))
    const parts = {
      version,
      paths,
      images,
      sandboxes,
      containers,
      networking,
      streams,
      launcher,
      cgroups,
      clock,
      files,
      processes,
      whyNoUsers: whyNoPodUsers,
    }
    return new EmbeddedRuntime(parts, listeners, stack.move())
  }

  onEvent(listener: (event: ContainerEvent) => void): Disposable {
    this.#listeners.add(listener)
    return { [Symbol.dispose]: () => void this.#listeners.delete(listener) }
  }

  /** Leaves everything running. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stack.disposeAsync()
  }
}
