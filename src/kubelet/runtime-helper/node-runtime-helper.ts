import { join } from 'node:path'
import { Pod } from '#api/core/v1/kinds.gen.ts'
import { isPodFinished } from '#api/core/v1/pod/pod-state.ts'
import type { V1Container, V1Pod, V1Service } from '#api/core/v1/types.gen.ts'
import { quoted } from '#api/meta/check.ts'
import { isNotFound } from '#api/meta/server-response.ts'
import { notFound } from '#api/meta/status-error.ts'
import { RuntimeClass } from '#api/node/v1/kinds.gen.ts'
import type { Clock, Timer } from '#base/clock.ts'
import { defined } from '#base/defined.ts'
import { errorMessage } from '#base/error-message.ts'
import type { Files } from '#base/files.ts'
import type { Logger } from '#base/log.ts'
import type { Mounts } from '#base/mounts.ts'
import { omitEmpty } from '#base/omit-empty.ts'
import type { Processes } from '#base/processes.ts'
import type { Random } from '#base/random.ts'
import type { Client } from '#client/client.ts'
import type { EventRecorder } from '#client/events/event-recorder.ts'
import type { Informer } from '#client/informer/informer.ts'
import type { CsiVolumeOptions } from '#kubelet/csi/csi-volume.ts'
import type { ClaimManager } from '#kubelet/dra/claim-manager.ts'
import { containerVariables } from '#kubelet/environment/container-variables.ts'
import { valueInEnvFile } from '#kubelet/environment/env-file.ts'
import { expandVariables, TextLimit } from '#kubelet/environment/expand-variables.ts'
import { hostnameAndDomain, kernelHostname } from '#kubelet/environment/hostname.ts'
import { hostsFile } from '#kubelet/environment/hosts-file.ts'
import { type DnsSettings, podDns } from '#kubelet/environment/pod-dns.ts'
import { type ContainerContext, type RuntimeHelper, StartFailure } from '#kubelet/pod-worker/runtime-helper.ts'
import { volumeDevices, volumeMounts } from '#kubelet/runtime-helper/container-mounts.ts'
import { type ImageMounter, imageVolumes } from '#kubelet/runtime-helper/image-volumes.ts'
import { removeLogs, removeOrphans, removePod, removeVolumes } from '#kubelet/runtime-helper/orphaned-pods.ts'
import { PodDirectories } from '#kubelet/runtime-helper/pod-directories.ts'
import type { ContainerExtras, ContainerPlan, DnsPlan, Mount, Placement, SandboxPlan } from '#kubelet/runtimes/plans.ts'
import type { MountableVolumes } from '#kubelet/volumes/mountable/mountable-volumes.ts'
import { PodVolumes, type ReadyVolume } from '#kubelet/volumes/pod-volumes.ts'
import { podUid } from '#kubelet/volumes/volume-plugin.ts'

/** Gets images onto the node. Rejects with a `StartFailure`. */
export type ImageSource = {
  /** Resolves with what the runtime calls the image. `tell` is for events about the container. */
  ensureImage(pod: V1Pod, container: V1Container, tell: ContainerContext['tell'], signal: AbortSignal): Promise<string>
}

export type NodeRuntimeHelperOptions = {
  client: Client
  clock: Clock
  random: Random
  logger: Logger
  events: Pick<EventRecorder, 'warning'> & Partial<Pick<EventRecorder, 'normal'>>
  files: Files
  mounts: Mounts
  processes: Processes
  nodeName: string
  csi?: Omit<CsiVolumeOptions, 'tokens'>
  /** Absent where images cannot be volumes. */
  mounter?: ImageMounter
  /** The list of volumes in use has become another. */
  onVolumesInUse?(): void
  images: ImageSource
  services: Pick<Informer<V1Service>, 'list' | 'hasSynced' | 'synced'>
  /** Everything of pods is below it: `/var/lib/kubelet`. */
  rootDirectory: string
  /** `/var/log/pods` */
  logDirectory: string
  dns: DnsSettings
  /** The node's addresses, the first one first. */
  hostIps: readonly string[]
  /** What pods may have of the node. */
  allocatable(): { [resource: string]: string }
  /** What the container has for itself, and where it is to run; absent where the node hands out nothing of the kind. */
  forContainer?(
    pod: V1Pod,
    container: V1Container,
  ): Promise<{ extras: ContainerExtras | undefined; placement: Placement | undefined; cdiDevices: string[] }>
  /** Dynamic resources; absent where the node has none. */
  claims?: Pick<ClaimManager, 'prepare' | 'unprepare'>
  /** Whether the runtime can make a mount read-only with all that is below it. */
  supportsRecursiveReadOnly?: boolean
  /** The gate GitRepoVolumeDriver is on. */
  clonesRepositories?: boolean
}

const staticPod = 'kubernetes.io/config.source'
const firstOrphanRetryMs = 2000
const longestOrphanRetryMs = 120_000
const envFileLimitBytes = 1024 * 1024

/** What pods need on a real node: files, volumes, names and variables. */
export class NodeRuntimeHelper implements RuntimeHelper {
  readonly #options: NodeRuntimeHelperOptions
  readonly #directories: PodDirectories
  readonly #volumes: PodVolumes
  #orphanTimer: Timer | undefined
  #isStopped = false

  private constructor(options: NodeRuntimeHelperOptions, directories: PodDirectories) {
    this.#options = options
    this.#directories = directories
    this.#volumes = new PodVolumes({ ...options, directories })
  }

  static async open(options: NodeRuntimeHelperOptions): Promise<NodeRuntimeHelper> {
    const { files, rootDirectory, logDirectory } = options
    await files.makeDirectory(join(rootDirectory, 'pods'), { mode: 0o750 })
    const root = (await files.realPath(rootDirectory)) ?? rootDirectory
    const helper = new NodeRuntimeHelper(options, new PodDirectories({ root, logRoot: logDirectory }))
    await helper.mountable.load()
    return helper
  }

  get directories(): PodDirectories {
    return this.#directories
  }

  async prepareSandbox(pod: V1Pod, signal: AbortSignal): Promise<SandboxPlan> {
    const { files, dns } = this.#options
    const uid = podUid(pod)
    const logDirectory = this.#directories.logs(pod)
    await files.makeDirectory(this.#directories.volumes(uid), { mode: 0o750 })
    await files.makeDirectory(this.#directories.plugins(uid), { mode: 0o750 })
    await files.makeDirectory(logDirectory, { mode: 0o755 })
    await this.#volumes.setUp(pod, signal)
    await this.#options.claims?.prepare(pod).catch((error: unknown): never => {
      throw new StartFailure('FailedPrepareDynamicResources', `Failed to prepare dynamic resources: ${errorMessage(error)}`)
    })
    try {
      return {
        hostname: kernelHostname(pod, dns.clusterDomain),
        dns: await this.#dnsOf(pod),
        logDirectory,
        runtimeHandler: await this.#runtimeHandler(pod),
      }
    } catch (error) {
      throw new StartFailure('FailedCreatePodSandBox', `Failed to create pod sandbox: ${errorMessage(error)}`)
    }
  }

  async prepareContainer(pod: V1Pod, container: V1Container, context: ContainerContext, signal: AbortSignal): Promise<ContainerPlan> {
    const { files, images } = this.#options
    const imageRef = await images.ensureImage(pod, container, context.tell, signal)
    // The agent may be younger than the sandbox, and the container younger than both.
    await this.#volumes.setUp(pod, signal)
    await files.makeDirectory(this.#directories.containerLogs(pod, container.name), { mode: 0o755 })
    const { mounter } = this.#options
    const imagesOf = await imageVolumes(pod, container, context, signal, { ...this.#options, mounter, directories: this.#directories })
    try {
      const plan = { imageRef, ...(await this.#planOf(pod, container, context.ips, imagesOf, signal)) }
      const own = await this.#options.forContainer?.(pod, container)
      return own === undefined ? plan : withExtras(plan, own)
    } catch (error) {
      throw new StartFailure('CreateContainerConfigError', errorMessage(error))
    }
  }

  async refresh(pod: V1Pod): Promise<void> {
    if (!isPodFinished(pod)) await this.#volumes.refresh(pod)
  }

  async finish(pod: V1Pod): Promise<void> {
    await this.#options.claims?.unprepare(pod)
    await this.#volumes.forget(podUid(pod))
    await this.#volumes.mountable.tearDown(podUid(pod))
    await removeVolumes(this.#options, this.#directories, podUid(pod))
  }

  async cleanUp(pod: V1Pod): Promise<void> {
    await this.#volumes.forget(podUid(pod))
    await this.#volumes.mountable.tearDown(podUid(pod))
    // Logs whose pod has no directory any more would be nobody's.
    await removeLogs(this.#options, this.#directories, podUid(pod))
    await removePod(this.#options, this.#directories, podUid(pod))
  }

  /**
   * Takes up where an earlier run of the agent has ended; to be called once, before pods are looked after. Files of these pods are kept
   * up to date again. What is left of any others is removed, so `pods` must be all there are, those whose containers still run included;
   * `alsoKnown` are uids of which no more is known than that something of them runs.
   */
  async resume(pods: readonly V1Pod[], alsoKnown: readonly string[] = []): Promise<void> {
    const known = new Set([...pods.map(podUid), ...alsoKnown])
    await this.#removeOrphans((uid) => known.has(uid))
    for (const pod of pods) if (!isPodFinished(pod)) void this.#volumes.refresh(pod)
  }

  /** A driver that is not there yet, or a server that does not answer, may be there later. */
  async #removeOrphans(isKnown: (uid: string) => boolean, retryMs = firstOrphanRetryMs): Promise<void> {
    const { mountable } = this.#volumes
    const left = await removeOrphans({ ...this.#options, tearDown: (uid) => mountable.tearDown(uid) }, this.#directories, isKnown)
    if (left.length === 0 || this.#isStopped) return
    this.#orphanTimer = this.#options.clock.after(retryMs, () => {
      const orphans = new Set(left)
      const again = this.#removeOrphans((uid) => !orphans.has(uid), Math.min(longestOrphanRetryMs, retryMs * 2))
      again.catch((error: unknown) => this.#options.logger.warn('failed to remove orphaned pods', { error: String(error) }))
    })
  }

  get mountable(): MountableVolumes {
    return this.#volumes.mountable
  }

  /** Whether a pod of this node has the volume still. */
  usesVolume(uniqueName: string): boolean {
    return this.#volumes.mountable.records.isUsed(uniqueName, '')
  }

  /** Attached volumes that pods of this node have, or are about to. */
  get volumesInUse(): string[] {
    return this.#volumes.mountable.inUse
  }

  /** What is there stays, and is kept up to date no more. */
  stop(): void {
    this.#isStopped = true
    this.#orphanTimer?.cancel()
    this.#volumes.stop()
  }

  /** Resolves when changes that have been heard of are on disk. */
  settled(): Promise<void> {
    return this.#volumes.settled()
  }

  async #planOf(
    pod: V1Pod,
    container: V1Container,
    ips: readonly string[],
    imagesOf: ReadonlyMap<string, ReadyVolume>,
    signal: AbortSignal,
  ): Promise<Omit<ContainerPlan, 'imageRef'>> {
    const { logger, supportsRecursiveReadOnly = false } = this.#options
    const variables = await this.#variables(pod, container, ips, signal)
    const mounts = await volumeMounts(pod, container, variables, {
      volumes: this.#volumes,
      images: imagesOf,
      logger,
      supportsRecursiveReadOnly,
    })
    const mountsHosts = container.volumeMounts?.some(({ mountPath }) => mountPath === '/etc/hosts') ?? false
    if (!mountsHosts && (ips.length > 0 || pod.spec.hostNetwork)) mounts.push(await this.#hostsMount(pod, ips))
    const terminationMessageFile = await this.#terminationMessageFile(pod, container)
    if (terminationMessageFile !== undefined) {
      const path = container.terminationMessagePath ?? ''
      const containerPath = path.startsWith('/') ? path : `/${path}`
      mounts.push({ containerPath, hostPath: terminationMessageFile, isReadOnly: false, mustRelabel: true })
    }
    const lookUp = new TextLimit().counting((name) => variables.get(name))
    const filledIn = (texts: string[] = []) => texts.map((text) => expandVariables(text, lookUp))
    return {
      env: [...variables].map(([name, value]) => ({ name, value })),
      mounts,
      devices: volumeDevices(pod, container, this.#volumes),
      ...defined({
        command: container.command?.length ? filledIn(container.command) : undefined,
        args: container.args?.length ? filledIn(container.args) : undefined,
      }),
      ...defined({ terminationMessageFile }),
    }
  }

  async #variables(pod: V1Pod, container: V1Container, podIps: readonly string[], signal: AbortSignal): Promise<Map<string, string>> {
    const { services, hostIps, allocatable } = this.#options
    // Static pods may be what the API itself runs in.
    const isStatic = ['file', 'http'].includes(pod.metadata.annotations?.[staticPod] ?? 'api')
    if (!isStatic && !services.hasSynced) await Promise.race([services.synced, aborted(signal)])
    const { configMaps, secrets } = this.#volumes.tools
    return containerVariables(pod, container, {
      // A pod with the network of its node has the node's addresses, whatever its sandbox says.
      ...{
        podIps: podIps.length === 0 && pod.spec.hostNetwork ? hostIps : podIps,
        hostIps,
        services: services.list(),
        allocatable: allocatable(),
      },
      configMap: (namespace, name) => configMaps.get(namespace, name),
      secret: (namespace, name) => secrets.get(namespace, name),
      fileKey: (volume, path, key) => this.#fileKey(pod, volume, path, key),
    })
  }

  async #fileKey(pod: V1Pod, volumeName: string, path: string, key: string): Promise<string> {
    const { files, logger } = this.#options
    const volume = this.#volumes.ready(podUid(pod), volumeName)
    if (volume === undefined) throw new Error(`cannot find the volume ${quoted(volumeName)} referenced by FileKeyRef`)
    try {
      await using file = await files.pinBelow(volume.path, path)
      return valueInEnvFile(await file.readText(envFileLimitBytes), key)
    } catch (error) {
      logger.warn('failed to read environment variables from file', { pod: podUid(pod), volume: volumeName, path, error: String(error) })
      throw new Error("couldn't parse env file")
    }
  }

  async #hostsMount(pod: V1Pod, ips: readonly string[]): Promise<Mount> {
    const { files, dns } = this.#options
    const path = this.#directories.hostsFile(podUid(pod))
    const nodeHosts = pod.spec.hostNetwork ? ((await files.readTextIfPresent('/etc/hosts')) ?? '') : ''
    const text = hostsFile(pod, { ...hostnameAndDomain(pod, dns.clusterDomain), ips, nodeHosts })
    // In place: containers that run already have this very file mounted.
    await using file = await files.open(path, 'w', 0o644)
    await file.write(Buffer.from(text))
    await files.setMode(path, 0o644)
    return { containerPath: '/etc/hosts', hostPath: path, isReadOnly: false, mustRelabel: true }
  }

  async #terminationMessageFile(pod: V1Pod, { name, terminationMessagePath = '' }: V1Container): Promise<string | undefined> {
    if (terminationMessagePath === '') return undefined
    const { files, random } = this.#options
    const directory = this.#directories.container(podUid(pod), name)
    await files.makeDirectory(directory, { mode: 0o750 })
    const path = join(directory, Buffer.from(random.bytes(4)).toString('hex'))
    await files.createExclusive(path, '')
    // Whoever the container runs as.
    await files.setMode(path, 0o666)
    return path
  }

  async #dnsOf(pod: V1Pod): Promise<DnsPlan> {
    const { files, dns, events, hostIps } = this.#options
    const nodeResolvConf = dns.resolvConf === '' ? '' : await files.readText(dns.resolvConf)
    const { plan, warnings } = podDns(pod, dns, nodeResolvConf, hostIps)
    for (const { reason, message } of warnings) events.warning(Pod, pod, reason, message)
    return plan
  }

  async #runtimeHandler({ spec: { runtimeClassName = '' } }: V1Pod): Promise<string> {
    if (runtimeClassName === '') return ''
    try {
      return (await this.#options.client.get(RuntimeClass, '', runtimeClassName)).handler
    } catch (error) {
      throw isNotFound(error) ? notFound({ group: 'node.k8s.io', resource: 'runtimeclass' }, runtimeClassName) : error
    }
  }
}

type Own = Awaited<ReturnType<NonNullable<NodeRuntimeHelperOptions['forContainer']>>>

/** What the pod says itself comes after what devices say, and so counts. */
function withExtras(plan: ContainerPlan, { extras, placement, cdiDevices }: Own): ContainerPlan {
  const placed = { ...plan, ...defined({ placement }), ...omitEmpty({ cdiDevices }) }
  if (extras === undefined) return placed
  return {
    ...placed,
    env: [...extras.env, ...plan.env],
    mounts: [...extras.mounts, ...plan.mounts],
    devices: [...extras.devices, ...(plan.devices ?? [])],
    annotations: extras.annotations,
    cdiDevices: [...new Set([...extras.cdiDevices, ...cdiDevices])],
  }
}

const aborted = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason)
    else signal.addEventListener('abort', () => reject(signal.reason), { once: true })
  })
