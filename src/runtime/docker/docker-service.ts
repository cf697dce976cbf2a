/** What CRI asks for, done by Docker. */
import { defined } from '#base/defined.ts'
import { attachPartner, execPartner, runInContainer } from '#runtime/docker/docker-exec.ts'
import type { DockerRuntime } from '#runtime/docker/docker-runtime.ts'
import { hasOwnNetwork } from '#runtime/docker/docker-sandboxes.ts'
import { containerStats } from '#runtime/docker/docker-stats.ts'
import type { DockerInfo } from '#runtime/docker/docker-types.ts'
import type { CriService } from '#runtime/service/cri-service.ts'
import { type Filter, matches } from '#runtime/service/cri-views.ts'
import { WrittenBytes } from '#runtime/service/written-bytes.ts'
import { conversation } from '#runtime/streams/converse.ts'
import { ForwardedPorts, portConversation } from '#runtime/streams/forward-ports.ts'
import type { CriRequest } from '#wire/cri/cri-messages.ts'
import { cgroupDrivers, containerStates } from '#wire/cri/cri-types.ts'

export function dockerService(runtime: DockerRuntime): CriService {
  return { ...ofRuntime(runtime), ...ofSandboxes(runtime), ...ofContainers(runtime), ...ofCommands(runtime), ...ofImages(runtime) }
}

function ofRuntime({ docker, networking, sandboxImage }: DockerRuntime) {
  const info = () => docker.json<DockerInfo>('GET', '/info')
  return {
    version: async () => ({
      version: '0.1.0',
      runtimeName: 'docker',
      runtimeVersion: (await info()).ServerVersion,
      runtimeApiVersion: 'v1',
    }),
    async status({ verbose = false }: CriRequest<'status'>) {
      const [problem, down] = await Promise.all([
        networking.problem(),
        docker.json('GET', '/version').then(
          () => undefined,
          (error: unknown) => String(error),
        ),
      ])
      const condition = (type: string, trouble: string | undefined, reason: string) => ({
        ...{ type, status: trouble === undefined, reason: trouble === undefined ? '' : reason, message: trouble ?? '' },
      })
      const network = problem === undefined ? undefined : `docker: network plugin is not ready: ${problem}`
      const words: Record<string, string> = verbose ? { config: JSON.stringify({ sandboxImage }) } : {}
      return {
        status: {
          conditions: [
            condition(
              'RuntimeReady',
              down === undefined ? undefined : `docker: failed to get docker version: ${down}`,
              'DockerDaemonNotReady',
            ),
            condition('NetworkReady', network, 'NetworkPluginNotReady'),
          ],
        },
        info: words,
        runtimeHandlers: [{ name: '', features: { recursiveReadOnlyMounts: false, userNamespaces: false } }],
        features: { supplementalGroupsPolicy: false, userNamespacesHostNetwork: false },
      }
    },
    updateRuntimeConfig: async () => ({}),
    runtimeConfig: async () => ({
      linux: { cgroupDriver: (await info()).CgroupDriver === 'systemd' ? cgroupDrivers.systemd : cgroupDrivers.cgroupfs },
    }),
  }
}

function ofSandboxes({ sandboxes, containers }: DockerRuntime) {
  const stop = async (podSandboxId: string) => {
    const running = (await containers.idsOf(podSandboxId)).filter(({ isRunning }) => isRunning)
    await Promise.all(running.map(({ id }) => containers.stop(id, 0)))
    await sandboxes.stop(podSandboxId)
  }
  return {
    async runPodSandbox({ config, runtimeHandler = '' }: CriRequest<'runPodSandbox'>) {
      return { podSandboxId: await sandboxes.run(config, runtimeHandler) }
    },
    async stopPodSandbox({ podSandboxId }: CriRequest<'stopPodSandbox'>) {
      await stop(podSandboxId)
      return {}
    },
    async removePodSandbox({ podSandboxId }: CriRequest<'removePodSandbox'>) {
      await stop(podSandboxId)
      await Promise.all((await containers.idsOf(podSandboxId)).map(({ id }) => containers.remove(id)))
      await sandboxes.remove(podSandboxId)
      return {}
    },
    async podSandboxStatus({ podSandboxId, verbose = false }: CriRequest<'podSandboxStatus'>) {
      const { status, pid } = await sandboxes.status(podSandboxId)
      const info: Record<string, string> = verbose ? { info: JSON.stringify({ pid }) } : {}
      return { status, info }
    },
    async listPodSandbox({ filter }: CriRequest<'listPodSandbox'>) {
      const items = await sandboxes.list(filter?.labelSelector)
      return { items: items.filter((item) => matches(item, filter as Filter)) }
    },
  }
}

function ofContainers({ containers, docker, clock, files }: DockerRuntime) {
  const written = new WrittenBytes(files, clock)
  const list = async (filter: Filter = {}) => (await containers.list(filter.labelSelector ?? {})).filter((item) => matches(item, filter))
  return {
    async createContainer({ podSandboxId, config }: CriRequest<'createContainer'>) {
      return { containerId: await containers.create(podSandboxId, config) }
    },
    async startContainer({ containerId }: CriRequest<'startContainer'>) {
      await containers.start(containerId)
      return {}
    },
    async stopContainer({ containerId, timeout = 0 }: CriRequest<'stopContainer'>) {
      await containers.stop(containerId, timeout * 1000)
      return {}
    },
    async removeContainer({ containerId }: CriRequest<'removeContainer'>) {
      await containers.remove(containerId)
      written.forget(containerId)
      return {}
    },
    listContainers: async ({ filter }: CriRequest<'listContainers'>) => ({ containers: await list(filter as Filter) }),
    containerStatus: async ({ containerId }: CriRequest<'containerStatus'>) => ({ status: await containers.status(containerId), info: {} }),
    async updateContainerResources({ containerId, linux }: CriRequest<'updateContainerResources'>) {
      await containers.update(containerId, linux)
      return {}
    },
    async reopenContainerLog({ containerId }: CriRequest<'reopenContainerLog'>) {
      await containers.reopenLog(containerId)
      return {}
    },
    async containerStats({ containerId }: CriRequest<'containerStats'>) {
      return { stats: await containerStats(await containers.inspect(containerId), written, { docker, clock }) }
    },
    async listContainerStats({ filter }: CriRequest<'listContainerStats'>) {
      const running = (await list(filter as Filter)).filter(({ state }) => state === containerStates.running)
      const stats = await Promise.all(
        running.map(async ({ id }) => containerStats(await containers.inspect(id), written, { docker, clock })),
      )
      return { stats }
    },
  }
}

function ofCommands(runtime: DockerRuntime) {
  const { containers, sandboxes, streams, clock } = runtime
  const forwarded = new ForwardedPorts()
  return {
    async execSync({ containerId, cmd, timeout = 0 }: CriRequest<'execSync'>) {
      return runInContainer((await containers.running(containerId)).Id, cmd, timeout * 1000, runtime)
    },
    async exec({ containerId, cmd, ...request }: CriRequest<'exec'>) {
      const container = await containers.running(containerId)
      const talk = conversation(request, clock, () => execPartner(container, cmd, request, runtime))
      return { url: streams.urlFor('exec', talk) }
    },
    async attach({ containerId, ...request }: CriRequest<'attach'>) {
      const container = await containers.running(containerId)
      const talk = conversation(request, clock, () => attachPartner(container, request, runtime))
      return { url: streams.urlFor('attach', talk) }
    },
    async portForward({ podSandboxId }: CriRequest<'portForward'>) {
      const { config } = sandboxes.get(podSandboxId)
      const pid = hasOwnNetwork(config) ? await sandboxes.pid(podSandboxId) : undefined
      return { url: streams.urlFor('portforward', portConversation(pid, forwarded)) }
    },
  }
}

function ofImages({ images, clock, docker }: DockerRuntime) {
  return {
    listImages: async ({ filter }: CriRequest<'listImages'>) => ({ images: await images.list(filter?.image.image ?? '') }),
    imageStatus: async ({ image }: CriRequest<'imageStatus'>) => ({ ...defined({ image: await images.find(image.image) }), info: {} }),
    pullImage: async ({ image, auth }: CriRequest<'pullImage'>) => ({ imageRef: await images.pull(image.image, auth) }),
    async removeImage({ image }: CriRequest<'removeImage'>) {
      await images.remove(image.image)
      return {}
    },
    async imageFsInfo() {
      const { DockerRootDir } = await docker.json<DockerInfo>('GET', '/info')
      const timestamp = BigInt(clock.nowMicros()) * 1000n
      const usage = {
        timestamp,
        fsId: { mountpoint: DockerRootDir },
        usedBytes: { value: await images.usedBytes() },
        inodesUsed: { value: 0 },
      }
      return { imageFilesystems: [usage], containerFilesystems: [{ ...usage, usedBytes: { value: 0 } }] }
    },
  }
}
