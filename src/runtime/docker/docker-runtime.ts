/** Docker as a container runtime, spoken to in the words of CRI: what dockershim was in the kubelet. */
import type { Clock } from '#base/clock.ts'
import type { Files } from '#base/files.ts'
import type { GrpcError } from '#base/grpc.ts'
import type { Logger } from '#base/log.ts'
import type { Processes } from '#base/processes.ts'
import type { Random } from '#base/random.ts'
import type { UpgradeClient } from '#base/upgrade-client.ts'
import { lockDirectory } from '#runtime/directory-lock.ts'
import { DockerClient } from '#runtime/docker/docker-client.ts'
import { DockerContainers } from '#runtime/docker/docker-containers.ts'
import { DockerEvents } from '#runtime/docker/docker-events.ts'
import { DockerImages } from '#runtime/docker/docker-images.ts'
import { dockerLabel } from '#runtime/docker/docker-names.ts'
import { DockerSandboxes } from '#runtime/docker/docker-sandboxes.ts'
import { dockerService } from '#runtime/docker/docker-service.ts'
import type { DockerEvent, DockerInfo } from '#runtime/docker/docker-types.ts'
import { leastOomScoreAdjust } from '#runtime/docker/least-oom-score-adjust.ts'
import { runtimePaths } from '#runtime/runtime-paths.ts'
import type { PodNetworking } from '#runtime/sandboxes/pod-networking.ts'
import type { CriProvider } from '#runtime/service/cri-provider.ts'
import type { CriService } from '#runtime/service/cri-service.ts'
import { StreamServer } from '#runtime/streams/stream-server.ts'
import type { ContainerEvent } from '#wire/cri/cri-messages.ts'
import { sandboxStates } from '#wire/cri/cri-types.ts'

export type DockerRuntimeOptions = {
  /** `unix:///var/run/docker.sock`. */
  endpoint: string
  /** What Docker does not keep for us; whose containers are ours is known by it. */
  directory: string
  sandboxImage: string
  networking: PodNetworking
}

export type DockerRuntimeSeams = {
  files: Files
  clock: Clock
  random: Random
  logger: Logger
  processes: Processes
  /** By the endpoint's socket unless given. */
  http?(): UpgradeClient
}

type Listener = { onEvent(event: ContainerEvent): void; onEnd: ((error: GrpcError) => void) | undefined }

const eventTypes: Record<string, number> = { create: 0, start: 1, die: 2, destroy: 3 }

export class DockerRuntime implements CriProvider, AsyncDisposable {
  readonly docker: DockerClient
  readonly sandboxes: DockerSandboxes
  readonly containers: DockerContainers
  readonly images: DockerImages
  readonly streams: StreamServer
  readonly networking: PodNetworking
  readonly sandboxImage: string
  readonly clock: Clock
  readonly files: Files
  readonly processes: Processes
  readonly service: CriService
  readonly #listeners = new Set<Listener>()
  readonly #stack: AsyncDisposableStack

  private constructor(
    parts: Pick<DockerRuntime, 'docker' | 'sandboxes' | 'containers' | 'images' | 'streams'>,
    { networking, sandboxImage, directory }: DockerRuntimeOptions,
    { clock, files, processes, logger }: DockerRuntimeSeams,
    stack: AsyncDisposableStack,
  ) {
    this.docker = parts.docker
    this.sandboxes = parts.sandboxes
    this.containers = parts.containers
    this.images = parts.images
    this.streams = parts.streams
    this.networking = networking
    this.sandboxImage = sandboxImage
    this.clock = clock
    this.files = files
    this.processes = processes
    this.service = dockerService(this)
    this.#stack = stack
    const events = new DockerEvents({
      ...{ docker: this.docker, owner: directory, clock, logger },
      onEvent: (event) => void this.#tell(event),
      onConnected: () => {},
      onLost: (error) => {
        for (const { onEnd } of [...this.#listeners]) onEnd?.(error)
      },
    })
    stack.defer(() => events.stop())
  }

  /** Takes over what an agent before has left. Rejects where no Docker answers, or another uses the directory. */
  static async open(options: DockerRuntimeOptions, seams: DockerRuntimeSeams): Promise<DockerRuntime> {
    const { endpoint, directory, sandboxImage, networking } = options
    const { files, clock, random, logger } = seams
    await using stack = new AsyncDisposableStack()
    await files.makeDirectory(directory)
    stack.use(await lockDirectory(directory, runtimePaths(directory).lock, { files, clock }))
    const docker = stack.use(await DockerClient.connect(endpoint, clock, seams.http?.()))
    const { CgroupDriver } = await docker.json<DockerInfo>('GET', '/info')
    const context = {
      ...{ owner: directory, sandboxImage, cgroupDriver: CgroupDriver, files },
      leastOomScoreAdjust: await leastOomScoreAdjust(files),
    }
    const shared = { docker, files, clock, logger, context }
    const images = new DockerImages(docker, files, sandboxImage)
    const pull = (image: string) => images.pull(image, undefined)
    const sandboxes = new DockerSandboxes({ ...shared, directory, networking, pull })
    const containers = new DockerContainers({ ...shared, sandboxes })
    await sandboxes.load()
    await containers.load()
    stack.defer(() => containers.leave())
    const streams = stack.use(await StreamServer.start({ random, clock }))
    return new DockerRuntime({ docker, sandboxes, containers, images, streams }, options, seams, stack.move())
  }

  onEvent(onEvent: (event: ContainerEvent) => void, onEnd?: (error: GrpcError) => void): Disposable {
    const listener = { onEvent, onEnd }
    this.#listeners.add(listener)
    return { [Symbol.dispose]: () => void this.#listeners.delete(listener) }
  }

  importImages(archiveFile: string): Promise<string[]> {
    return this.images.import(archiveFile)
  }

  /** Leaves everything running. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stack.disposeAsync()
  }

  async #tell({ Action, Actor }: DockerEvent): Promise<void> {
    const containerEventType = eventTypes[Action]
    if (containerEventType === undefined) return
    // Docker tells of an end before its own lists know of it. To look at the container waits until they do.
    if (Action === 'die') await this.containers.inspect(Actor.ID).catch(() => {})
    const { Attributes } = Actor
    const id = Attributes[dockerLabel.sandboxId] ?? Actor.ID
    const metadata = {
      name: Attributes['io.kubernetes.pod.name'] ?? '',
      namespace: Attributes['io.kubernetes.pod.namespace'] ?? '',
      uid: Attributes['io.kubernetes.pod.uid'] ?? '',
      attempt: 0,
    }
    const podSandboxStatus = { id, metadata, state: sandboxStates.ready, createdAt: 0n, labels: {}, annotations: {}, runtimeHandler: '' }
    for (const { onEvent } of this.#listeners)
      onEvent({ containerId: Actor.ID, containerEventType, podSandboxStatus, containersStatuses: [] })
  }
}
