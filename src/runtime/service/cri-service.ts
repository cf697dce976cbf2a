/** What CRI asks for, done by the embedded runtime. */
import { defined } from '#base/defined.ts'
import { usageOf } from '#runtime/cgroups/container-cgroup.ts'
import { runCommand } from '#runtime/containers/exec.ts'
import { usageOfProcesses } from '#runtime/containers/process-usage.ts'
import type { ContainerRecord } from '#runtime/records.ts'
import type { CriProvider } from '#runtime/service/cri-provider.ts'
import { containerStatus, containerView, type Filter, imageView, matches, sandboxStatus, sandboxView } from '#runtime/service/cri-views.ts'
import type { EmbeddedRuntime } from '#runtime/service/embedded-runtime.ts'
import { WrittenBytes } from '#runtime/service/written-bytes.ts'
import { conversation } from '#runtime/streams/converse.ts'
import { ForwardedPorts, portConversation } from '#runtime/streams/forward-ports.ts'
import { commandPartner, containerPartner } from '#runtime/streams/partners.ts'
import type { CriRequest, CriResponse, CriUnaryName } from '#wire/cri/cri-messages.ts'
import { type CriContainerStats, cgroupDrivers, namespaceModes } from '#wire/cri/cri-types.ts'

/** What is left out of a request is zero. */
export type CriService = { [Name in CriUnaryName]: (request: CriRequest<Name>) => Promise<CriResponse<Name>> }

const runtimeName = 'typernetes'

/** The embedded runtime for those who speak CRI. */
export function embeddedProvider(runtime: EmbeddedRuntime): CriProvider {
  return {
    service: criService(runtime),
    onEvent: (listener) => runtime.onEvent(listener),
    importImages: (archiveFile, onProgress) => runtime.images.import(archiveFile, onProgress),
  }
}

function criService(runtime: EmbeddedRuntime): CriService {
  return { ...ofRuntime(runtime), ...ofSandboxes(runtime), ...ofContainers(runtime), ...ofCommands(runtime), ...ofImages(runtime) }
}

function ofRuntime({ version, networking, whyNoUsers }: EmbeddedRuntime) {
  return {
    version: async () => ({ version: '0.1.0', runtimeName, runtimeVersion: version, runtimeApiVersion: 'v1' }),
    async status({ verbose = false }: CriRequest<'status'>) {
      const noUsers = await whyNoUsers()
      const problem = await networking.problem()
      const network = { type: 'NetworkReady', status: problem === undefined, reason: problem === undefined ? '' : 'NetworkPluginNotReady' }
      return {
        status: {
          conditions: [
            { type: 'RuntimeReady', status: true, reason: '', message: '' },
            { ...network, message: problem === undefined ? '' : `Network plugin returns error: ${problem}` },
          ],
        },
        info: (verbose && noUsers !== undefined ? { userNamespaces: noUsers } : {}) as Record<string, string>,
        runtimeHandlers: [{ name: '', features: { recursiveReadOnlyMounts: true, userNamespaces: noUsers === undefined } }],
        features: { supplementalGroupsPolicy: true, userNamespacesHostNetwork: false },
      }
    },
    updateRuntimeConfig: async () => ({}),
    runtimeConfig: async () => ({ linux: { cgroupDriver: cgroupDrivers.cgroupfs } }),
  }
}

function ofSandboxes({ sandboxes, containers }: EmbeddedRuntime) {
  const stop = async (id: string) => {
    const record = sandboxes.find(id)
    if (record === undefined) return undefined
    const own = containers.all().filter(({ sandboxId, state }) => sandboxId === record.id && state === 'running')
    await Promise.all(own.map((container) => containers.stop(container.id, 0)))
    await sandboxes.stop(record)
    return sandboxes.find(record.id)
  }
  return {
    async runPodSandbox({ config, runtimeHandler = '' }: CriRequest<'runPodSandbox'>) {
      return { podSandboxId: (await sandboxes.run(config, runtimeHandler)).id }
    },
    async stopPodSandbox({ podSandboxId }: CriRequest<'stopPodSandbox'>) {
      await stop(podSandboxId)
      return {}
    },
    async removePodSandbox({ podSandboxId }: CriRequest<'removePodSandbox'>) {
      const record = await stop(podSandboxId)
      if (record === undefined) return {}
      const own = containers.all().filter(({ sandboxId }) => sandboxId === record.id)
      await Promise.all(own.map((container) => containers.remove(container.id)))
      await sandboxes.remove(record)
      return {}
    },
    async podSandboxStatus({ podSandboxId, verbose = false }: CriRequest<'podSandboxStatus'>) {
      const record = sandboxes.get(podSandboxId)
      const info: Record<string, string> = verbose ? { info: JSON.stringify({ pid: record.process.pid }) } : {}
      return { status: sandboxStatus(record, await sandboxes.isReady(record)), info }
    },
    async listPodSandbox({ filter }: CriRequest<'listPodSandbox'>) {
      const items = await Promise.all(sandboxes.all().map(async (record) => sandboxView(record, await sandboxes.isReady(record))))
      return { items: items.filter((item) => matches(item, filter as Filter)) }
    },
  }
}

function ofContainers({ sandboxes, containers, images, cgroups, clock, files, paths }: EmbeddedRuntime) {
  const written = new WrittenBytes(files, clock)
  const stats = async (record: ContainerRecord): Promise<CriContainerStats> => {
    const { metadata, labels = {}, annotations = {} } = record.config
    const timestamp = BigInt(clock.nowMicros()) * 1000n
    const attributes = { id: record.id, metadata, labels, annotations }
    const { usedBytes, inodesUsed } = await written.of(record.id, paths.container(record.id).upper)
    const writableLayer = { timestamp, usedBytes: { value: usedBytes }, inodesUsed: { value: inodesUsed } }
    if (cgroups === undefined && record.process === undefined) return { attributes, writableLayer }
    const usage = cgroups === undefined ? usageOfProcesses(record.process?.pid ?? 0, files) : usageOf(cgroups, record.cgroup)
    const { cpuNanos, memoryBytes, workingSetBytes, rssBytes } = await usage
    return {
      ...{ attributes, writableLayer },
      cpu: { timestamp, usageCoreNanoSeconds: { value: cpuNanos } },
      memory: { timestamp, workingSetBytes: { value: workingSetBytes }, usageBytes: { value: memoryBytes }, rssBytes: { value: rssBytes } },
    }
  }
  return {
    async createContainer({ podSandboxId, config }: CriRequest<'createContainer'>) {
      return { containerId: await containers.create(sandboxes.get(podSandboxId), config) }
    },
    async startContainer({ containerId }: CriRequest<'startContainer'>) {
      const { id, sandboxId } = containers.get(containerId)
      await containers.start(id, sandboxes.get(sandboxId))
      return {}
    },
    async stopContainer({ containerId, timeout }: CriRequest<'stopContainer'>) {
      await containers.stop(containerId, timeout * 1000)
      return {}
    },
    async removeContainer({ containerId }: CriRequest<'removeContainer'>) {
      await containers.remove(containerId)
      written.forget(containerId)
      return {}
    },
    async listContainers({ filter }: CriRequest<'listContainers'>) {
      return {
        containers: containers
          .all()
          .map(containerView)
          .filter((item) => matches(item, filter as Filter)),
      }
    },
    async containerStatus({ containerId }: CriRequest<'containerStatus'>) {
      const record = containers.get(containerId)
      return { status: containerStatus(record, images.find(record.imageId)), info: {} }
    },
    async updateContainerResources({ containerId, linux }: CriRequest<'updateContainerResources'>) {
      await containers.update(containerId, linux)
      return {}
    },
    async reopenContainerLog({ containerId }: CriRequest<'reopenContainerLog'>) {
      await containers.output(containers.running(containerId).id)?.reopen()
      return {}
    },
    async containerStats({ containerId }: CriRequest<'containerStats'>) {
      return { stats: await stats(containers.get(containerId)) }
    },
    async listContainerStats({ filter }: CriRequest<'listContainerStats'>) {
      const running = containers.all().filter((record) => record.state === 'running' && matches(containerView(record), filter as Filter))
      return { stats: await Promise.all(running.map(stats)) }
    },
  }
}

function ofCommands(runtime: EmbeddedRuntime) {
  const { sandboxes, containers, streams, clock, paths } = runtime
  const forwarded = new ForwardedPorts()
  return {
    async execSync({ containerId, cmd, timeout = 0 }: CriRequest<'execSync'>) {
      return runCommand(containers.running(containerId), cmd, timeout * 1000, runtime)
    },
    async exec({ containerId, cmd, ...request }: CriRequest<'exec'>) {
      const record = containers.running(containerId)
      return {
        url: streams.urlFor(
          'exec',
          conversation(request, clock, () => commandPartner(record, cmd, request, runtime)),
        ),
      }
    },
    async attach({ containerId, ...request }: CriRequest<'attach'>) {
      const record = containers.running(containerId)
      return {
        url: streams.urlFor(
          'attach',
          conversation(request, clock, async () => containerPartner(record, containers, paths)),
        ),
      }
    },
    async portForward({ podSandboxId }: CriRequest<'portForward'>) {
      const { process, config } = sandboxes.get(podSandboxId)
      const isNodes = config.linux?.securityContext?.namespaceOptions?.network === namespaceModes.node
      return { url: streams.urlFor('portforward', portConversation(isNodes ? undefined : process.pid, forwarded)) }
    },
  }
}

function ofImages({ images, clock, paths }: EmbeddedRuntime) {
  return {
    async listImages({ filter }: CriRequest<'listImages'>) {
      const name = filter?.image.image ?? ''
      const found = name === '' ? images.all() : [images.find(name)].filter((image) => image !== undefined)
      return { images: found.map(imageView) }
    },
    async imageStatus({ image }: CriRequest<'imageStatus'>) {
      const found = images.find(image.image)
      return { ...defined({ image: found === undefined ? undefined : imageView(found) }), info: {} }
    },
    async pullImage({ image, auth }: CriRequest<'pullImage'>) {
      return { imageRef: await images.pull(image.image, auth) }
    },
    async removeImage({ image }: CriRequest<'removeImage'>) {
      await images.remove(image.image)
      return {}
    },
    async imageFsInfo() {
      const timestamp = BigInt(clock.nowMicros()) * 1000n
      const usage = { timestamp, fsId: { mountpoint: paths.images }, usedBytes: { value: images.usedBytes() }, inodesUsed: { value: 0 } }
      return {
        imageFilesystems: [usage],
        containerFilesystems: [{ ...usage, fsId: { mountpoint: paths.containers }, usedBytes: { value: 0 } }],
      }
    },
  }
}
