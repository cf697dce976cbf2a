/** Containers of pods in Docker: made, started, taken over with their logs, ended, removed. */
import { join } from 'node:path'
import type { Clock } from '#base/clock.ts'
import type { Files } from '#base/files.ts'
import { GrpcError, grpcCodes } from '#base/grpc.ts'
import type { Logger } from '#base/log.ts'
import { withCdiDevices } from '#runtime/containers/cdi-devices.ts'
import { ContainerLog } from '#runtime/docker/container-log.ts'
import { containerRequest } from '#runtime/docker/container-request.ts'
import { containerStatus, containerView, hasFailedToStart } from '#runtime/docker/container-views.ts'
import { createContainer } from '#runtime/docker/create-container.ts'
import { type DockerClient, DockerError, ifFound } from '#runtime/docker/docker-client.ts'
import { containerName, dockerLabel, dockerTypes } from '#runtime/docker/docker-names.ts'
import { dockerResources } from '#runtime/docker/docker-resources.ts'
import { type DockerSandboxes, ownFilter } from '#runtime/docker/docker-sandboxes.ts'
import type { DockerImage, InspectedContainer, ListedContainer } from '#runtime/docker/docker-types.ts'
import type { RequestContext } from '#runtime/docker/sandbox-request.ts'
import type { ContainerConfig, CriContainer, CriContainerStatus, LinuxResources } from '#wire/cri/cri-types.ts'

export type DockerContainersOptions = {
  docker: DockerClient
  sandboxes: DockerSandboxes
  files: Files
  clock: Clock
  logger: Logger
  context: RequestContext
}

/** How long the last lines may take from Docker into the log. */
const logPatienceMs = 10_000
const stopSlackMs = 2 * 60_000

export class DockerContainers {
  readonly #options: DockerContainersOptions
  readonly #logs = new Map<string, ContainerLog>()

  constructor(options: DockerContainersOptions) {
    this.#options = options
  }

  /** Goes on with the logs where the agent before has left them. */
  async load(): Promise<void> {
    for (const { Id, State, Labels } of await this.#listed({})) {
      if (State === 'created' || !Labels[dockerLabel.logPath]) continue
      const found = await ifFound(this.inspect(Id))
      if (found !== undefined) this.#followLog(found, false)
    }
  }

  async create(podSandboxId: string, asked: ContainerConfig): Promise<string> {
    const { docker, sandboxes, files, context } = this.#options
    const config = await withCdiDevices(asked, files)
    const { id: sandboxId, config: sandbox } = sandboxes.get(podSandboxId)
    for (const { image, hostPath, containerPath } of config.mounts ?? []) {
      if (image !== undefined) throw new GrpcError(grpcCodes.unimplemented, `Docker cannot mount an image at ${containerPath}`)
      // As other runtimes do for paths that pods name.
      if ((await files.statTarget(hostPath)) === undefined) await files.makeDirectory(hostPath, { mode: 0o755 })
    }
    const logFile = sandbox.logDirectory && config.logPath ? join(sandbox.logDirectory, config.logPath) : ''
    const resolvConf = sandboxes.resolvConf(sandboxId)
    const hasResolvConf = (await files.stat(resolvConf)) !== undefined
    const place = { sandboxId, sandbox, logFile, resolvConf: hasResolvConf ? resolvConf : '' }
    return createContainer(docker, containerName(config.metadata, sandbox.metadata), await containerRequest(config, place, context))
  }

  async start(id: string): Promise<void> {
    const { docker } = this.#options
    try {
      await docker.json('POST', `/containers/${id}/start`)
    } catch (error) {
      if (error instanceof DockerError && error.status !== 404)
        throw new GrpcError(grpcCodes.unknown, `failed to start container: ${error.message}`)
      throw error
    }
    await this.#followLog(await this.inspect(id), true)?.opened
  }

  /** Resolves when it has ended. A later call may shorten the grace of an earlier one. */
  async stop(id: string, graceMs: number): Promise<void> {
    const query = { t: Math.ceil(graceMs / 1000) }
    await ifFound(this.#options.docker.json('POST', `/containers/${id}/stop`, { query, timeoutMs: graceMs + stopSlackMs }))
  }

  async remove(id: string): Promise<void> {
    await ifFound(this.#options.docker.json('DELETE', `/containers/${id}`, { query: { force: true, v: true } }))
    await this.#logs.get(id)?.leave()
    this.#logs.delete(id)
  }

  /** All that belong to a sandbox, in whatever state. */
  async idsOf(sandboxId: string): Promise<{ id: string; isRunning: boolean }[]> {
    const listed = await this.#listed({ [dockerLabel.sandboxId]: sandboxId })
    return listed.map(({ Id, State }) => ({ id: Id, isRunning: State === 'running' || State === 'paused' }))
  }

  async list(labels: Record<string, string>): Promise<CriContainer[]> {
    const listed = await this.#listed(labels)
    return Promise.all(
      listed.map(async (each) => {
        const inspected = each.State === 'created' ? await ifFound(this.inspect(each.Id)) : undefined
        return containerView(each, inspected !== undefined && hasFailedToStart(inspected))
      }),
    )
  }

  async status(id: string): Promise<CriContainerStatus> {
    const { docker, clock } = this.#options
    let inspected = await this.inspect(id)
    const log = this.#logs.get(inspected.Id)
    if (log !== undefined && !inspected.State.Running && inspected.State.Status !== 'created') {
      // Whoever hears of the end finds the last line.
      const over = new AbortController()
      await Promise.race([log.done, clock.sleep(logPatienceMs, over.signal).catch(() => {})])
      over.abort()
      inspected = await this.inspect(id)
    }
    return containerStatus(inspected, await ifFound(docker.json<DockerImage>('GET', `/images/${inspected.Image}/json`)))
  }

  inspect(id: string): Promise<InspectedContainer> {
    return this.#options.docker.json('GET', `/containers/${id}/json`)
  }

  async running(id: string): Promise<InspectedContainer> {
    const inspected = await this.inspect(id)
    if (!inspected.State.Running) throw new GrpcError(grpcCodes.unknown, `container is in ${inspected.State.Status} state`)
    return inspected
  }

  async update(id: string, resources: LinuxResources): Promise<void> {
    await this.#options.docker.json('POST', `/containers/${id}/update`, { body: dockerResources(resources) })
  }

  async reopenLog(id: string): Promise<void> {
    await this.#logs.get((await this.running(id)).Id)?.reopen()
  }

  /** Leaves everything running. */
  async leave(): Promise<void> {
    await Promise.all([...this.#logs.values()].map((log) => log.leave()))
  }

  #followLog({ Id, Config, LogPath = '' }: InspectedContainer, isNew: boolean): ContainerLog | undefined {
    const { docker, clock, files, logger } = this.#options
    const logFile = Config.Labels?.[dockerLabel.logPath] ?? ''
    if (logFile === '') return undefined
    const log = new ContainerLog({ id: Id, logFile, dockerFile: LogPath, isTerminal: Config.Tty, isNew }, { docker, clock, files, logger })
    this.#logs.set(Id, log)
    return log
  }

  #listed(labels: Record<string, string>): Promise<ListedContainer[]> {
    const { docker, context } = this.#options
    return docker.json('GET', '/containers/json', {
      query: { all: true, filters: ownFilter(dockerTypes.container, context.owner, labels) },
    })
  }
}
