/** Pods' sandboxes in Docker: a container that waits and holds the namespaces, and a network by CNI. */
import { join } from 'node:path'
import type { Clock } from '#base/clock.ts'
import type { Files } from '#base/files.ts'
import { GrpcError, grpcCodes } from '#base/grpc.ts'
import type { Logger } from '#base/log.ts'
import { createContainer } from '#runtime/docker/create-container.ts'
import { type DockerClient, DockerError, ifFound } from '#runtime/docker/docker-client.ts'
import { dockerLabel, dockerTypes, labelsIn, metadataIn, nanosOf, sandboxName } from '#runtime/docker/docker-names.ts'
import type { InspectedContainer, ListedContainer } from '#runtime/docker/docker-types.ts'
import { type RequestContext, sandboxRequest } from '#runtime/docker/sandbox-request.ts'
import { Records } from '#runtime/records.ts'
import type { PodNetworking } from '#runtime/sandboxes/pod-networking.ts'
import { resolvConfOf } from '#runtime/sandboxes/resolv-conf.ts'
import { type CriSandbox, type CriSandboxStatus, namespaceModes, type SandboxConfig, sandboxStates } from '#wire/cri/cri-types.ts'

/** What Docker does not keep for us. */
export type DockerSandboxRecord = {
  id: string
  config: SandboxConfig
  createdNanos: string
  ips: string[]
  /** Has no network any more. */
  isStopped: boolean
}

export type DockerSandboxesOptions = {
  docker: DockerClient
  directory: string
  files: Files
  clock: Clock
  logger: Logger
  networking: PodNetworking
  context: RequestContext
  /** For the image of sandboxes, where Docker has it not. */
  pull(image: string): Promise<string>
}

export class DockerSandboxes {
  readonly #options: DockerSandboxesOptions
  readonly #records: Records<DockerSandboxRecord>
  readonly #directory: string
  readonly #stopping = new Map<string, Promise<void>>()

  constructor(options: DockerSandboxesOptions) {
    this.#options = options
    this.#directory = join(options.directory, 'sandboxes')
    this.#records = new Records(options.files, this.#directory, 'sandbox.json')
  }

  /** Takes over what is there; what was never finished goes. */
  async load(): Promise<void> {
    const { docker, files } = this.#options
    const { unfinished } = await this.#records.load()
    for (const id of unfinished) await files.remove(join(this.#directory, id))
    for (const { Id } of await this.#listed()) {
      if (this.#records.get(Id) === undefined)
        await ifFound(docker.json('DELETE', `/containers/${Id}`, { query: { force: true, v: true } }))
    }
  }

  get(id: string): DockerSandboxRecord {
    const record = this.#records.find(id)
    if (record === undefined) throw new GrpcError(grpcCodes.notFound, `sandbox "${id}" not found`)
    return record
  }

  resolvConf(id: string): string {
    return join(this.#directory, id, 'resolv.conf')
  }

  async run(config: SandboxConfig, runtimeHandler: string): Promise<string> {
    if (runtimeHandler !== '') throw new GrpcError(grpcCodes.invalidArgument, `no runtime for "${runtimeHandler}" is configured`)
    const { docker, context, files, networking, clock } = this.#options
    const createdNanos = String(BigInt(clock.nowMicros()) * 1000n)
    const request = await sandboxRequest(config, context)
    const create = () => createContainer(docker, sandboxName(config.metadata), request)
    const id = await create().catch(async (error: unknown) => {
      if (!(error instanceof DockerError) || error.status !== 404) throw error
      await this.#options.pull(context.sandboxImage)
      return create()
    })
    await using undo = new AsyncDisposableStack()
    undo.defer(async () => void (await ifFound(docker.json('DELETE', `/containers/${id}`, { query: { force: true, v: true } }))))
    undo.defer(() => files.remove(join(this.#directory, id)))
    await docker.json('POST', `/containers/${id}/start`)
    const text = await resolvConfOf(config, files)
    await files.makeDirectory(join(this.#directory, id), { mode: 0o755 })
    if (text !== undefined) await files.write(this.resolvConf(id), text, { mode: 0o644, survivesPowerCut: false })
    const ips = hasOwnNetwork(config) ? await networking.attach({ id, namespacePath: await this.#namespaceOf(id), config }) : []
    await this.#records.save({ id, config, createdNanos, ips, isStopped: false })
    undo.move()
    return id
  }

  /** Its containers have been ended before. */
  async stop(id: string): Promise<void> {
    const record = this.#records.find(id)
    if (record === undefined) return
    const under = this.#stopping.get(record.id)
    if (under !== undefined) return under
    const stopping = this.#stop(record).finally(() => this.#stopping.delete(record.id))
    this.#stopping.set(record.id, stopping)
    return stopping
  }

  async remove(id: string): Promise<void> {
    const { docker, files } = this.#options
    const record = this.#records.find(id)
    if (record === undefined) return
    await this.stop(record.id)
    await ifFound(docker.json('DELETE', `/containers/${record.id}`, { query: { force: true, v: true } }))
    this.#records.forget(record.id)
    await files.remove(join(this.#directory, record.id))
  }

  /** The process that holds its namespaces; 0 where it has ended. */
  async pid(id: string): Promise<number> {
    const found = await ifFound(this.#options.docker.json<InspectedContainer>('GET', `/containers/${this.get(id).id}/json`))
    return found?.State.Pid ?? 0
  }

  async list(labelSelector: Record<string, string> = {}): Promise<CriSandbox[]> {
    const listed = await this.#listed(labelSelector)
    return listed.flatMap(({ Id, Names, Labels, State }) => {
      const record = this.#records.get(Id)
      // One that is being made has no record yet, and is nobody's business.
      if (record === undefined) return []
      const { labels, annotations } = labelsIn(Labels)
      const metadata = record.config.metadata ?? metadataIn(Names[0] ?? '')?.pod
      const state = State === 'running' && !record.isStopped ? sandboxStates.ready : sandboxStates.notReady
      return [{ id: Id, metadata, state, createdAt: BigInt(record.createdNanos), labels, annotations, runtimeHandler: '' }]
    })
  }

  async status(id: string): Promise<{ status: CriSandboxStatus; pid: number }> {
    const { config, ips, isStopped, ...record } = this.get(id)
    const found = await ifFound(this.#options.docker.json<InspectedContainer>('GET', `/containers/${record.id}/json`))
    const { labels = {}, annotations = {}, metadata } = config
    const isReady = !isStopped && (found?.State.Running ?? false)
    const [ip = '', ...others] = isReady ? ips : []
    const createdAt = BigInt(record.createdNanos) || nanosOf(found?.Created ?? '')
    return {
      status: {
        ...{ id: record.id, metadata, createdAt, labels, annotations, runtimeHandler: '' },
        state: isReady ? sandboxStates.ready : sandboxStates.notReady,
        network: { ip, additionalIps: others.map((each) => ({ ip: each })) },
      },
      pid: found?.State.Pid ?? 0,
    }
  }

  async #stop(record: DockerSandboxRecord): Promise<void> {
    const { docker, networking } = this.#options
    if (!record.isStopped && hasOwnNetwork(record.config)) {
      const pid = await this.pid(record.id)
      const namespacePath = pid > 0 ? `/proc/${pid}/ns/net` : ''
      await networking.detach({ id: record.id, namespacePath, config: record.config })
    }
    await this.#records.save({ ...record, isStopped: true })
    await ifFound(docker.json('POST', `/containers/${record.id}/stop`, { query: { t: 0 } }))
  }

  async #namespaceOf(id: string): Promise<string> {
    const { State } = await this.#options.docker.json<InspectedContainer>('GET', `/containers/${id}/json`)
    if (!State.Running) throw new Error(`the process of the sandbox ${id} ended as soon as it was started: ${State.Error}`)
    return `/proc/${State.Pid}/ns/net`
  }

  #listed(labelSelector: Record<string, string> = {}): Promise<ListedContainer[]> {
    const { docker, context } = this.#options
    return docker.json('GET', '/containers/json', {
      query: { all: true, filters: ownFilter(dockerTypes.sandbox, context.owner, labelSelector) },
    })
  }
}

/** Those of ours alone, whoever else uses the same Docker. */
export function ownFilter(type: string, owner: string, labels: Record<string, string>): string {
  const wanted = { [dockerLabel.type]: type, [dockerLabel.owner]: owner, ...labels }
  return JSON.stringify({ label: Object.entries(wanted).map(([key, value]) => `${key}=${value}`) })
}

export const hasOwnNetwork = ({ linux }: SandboxConfig): boolean =>
  linux?.securityContext?.namespaceOptions?.network !== namespaceModes.node
