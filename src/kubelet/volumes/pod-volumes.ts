import { ConfigMap, Pod, Secret } from '#api/core/v1/kinds.gen.ts'
import type { V1Pod, V1Volume } from '#api/core/v1/types.gen.ts'
import { isForbidden } from '#api/meta/server-response.ts'
import { backoffMs } from '#base/backoff.ts'
import type { Clock, Timer } from '#base/clock.ts'
import { defined } from '#base/defined.ts'
import { errorMessage } from '#base/error-message.ts'
import type { Files } from '#base/files.ts'
import type { Logger } from '#base/log.ts'
import type { Mounts } from '#base/mounts.ts'
import type { Processes } from '#base/processes.ts'
import type { Random } from '#base/random.ts'
import type { Client } from '#client/client.ts'
import type { EventRecorder } from '#client/events/event-recorder.ts'
import { type CsiVolumeOptions, csiVolume } from '#kubelet/csi/csi-volume.ts'
import { podText } from '#kubelet/pod-worker/next-steps.ts'
import { StartFailure } from '#kubelet/pod-worker/runtime-helper.ts'
import type { PodDirectories } from '#kubelet/runtime-helper/pod-directories.ts'
import { VolumeNotReady } from '#kubelet/volumes/mountable/claimed-volume.ts'
import { MountFailure } from '#kubelet/volumes/mountable/mount-failure.ts'
import { mountPlugins } from '#kubelet/volumes/mountable/mount-plugins.ts'
import { MountableVolumes } from '#kubelet/volumes/mountable/mountable-volumes.ts'
import { waitForAttach } from '#kubelet/volumes/mountable/wait-for-attach.ts'
import { ServiceAccountTokens } from '#kubelet/volumes/service-account-tokens.ts'
import { TrustBundles } from '#kubelet/volumes/trust-bundles.ts'
import { shownConfigMaps, shownSecrets, showsTrustBundles, usedVolumes } from '#kubelet/volumes/used-volumes.ts'
import { podUid, type VolumePlugin, type VolumeTools } from '#kubelet/volumes/volume-plugin.ts'
import { volumePlugins } from '#kubelet/volumes/volume-plugins.ts'
import { WatchedObjects } from '#kubelet/volumes/watched-objects.ts'

export type PodVolumesOptions = {
  client: Client
  clock: Clock
  random: Random
  logger: Logger
  events: Pick<EventRecorder, 'warning'> & Partial<Pick<EventRecorder, 'normal'>>
  files: Files
  mounts: Mounts
  processes: Processes
  directories: PodDirectories
  nodeName: string
  /** Absent where no CSI driver can be. */
  csi?: Omit<CsiVolumeOptions, 'tokens'>
  /** The list of volumes in use has become another. */
  onVolumesInUse?(): void
  allocatable(): { [resource: string]: string }
  /** The gate GitRepoVolumeDriver is on. */
  clonesRepositories?: boolean
}

/** A volume as it is on the node. */
export type ReadyVolume = {
  path: string
  isReadOnly: boolean
  isManaged: boolean
  devicePath?: string
  /** The runtime itself mounts it. */
  image?: { reference: string; imageRef: string }
}

type PodEntry = {
  /** As it was seen last. */
  pod: V1Pod
  ready: Map<string, ReadyVolume>
  /** Ends when all that was begun for the pod's volumes has ended: one thing at a time. */
  last: Promise<unknown>
  isRefreshDue: boolean
  /** Objects have been read that volumes are being made of. */
  isSettingUp: boolean
  /** For tokens that end, and for what could not be brought up to date. */
  nextRefresh?: Timer
  /** Called when an object the pod uses has changed. */
  wake?: () => void
}

type Problem = { volume: string; error: unknown }

const firstRetryMs = 500
const longestRetryMs = 122_000
/** A claim that is about to be bound is worth a look. */
const longestClaimRetryMs = 2000
const syncPeriodMs = 60_000
const longWaitMs = 123_000
/** Who authorizes may see a pod later than its node does. */
const patience = { tries: 5, firstMs: 50 }

/** The volumes of all pods of the node: set up before containers start, kept up to date while they run. */
export class PodVolumes {
  readonly #options: PodVolumesOptions
  readonly #tools: VolumeTools
  readonly mountable: MountableVolumes
  readonly #pods = new Map<string, PodEntry>()
  #isStopped = false

  constructor(options: PodVolumesOptions) {
    this.#options = options
    const { client, clock, random, logger, files, mounts, directories, allocatable } = options
    const watching = { client, clock, random, logger, onChange: (uid: string, isFirst: boolean) => this.#objectChanged(uid, isFirst) }
    this.#tools = {
      ...{ files, mounts, processes: options.processes, clock, random, directories, allocatable },
      clonesRepositories: options.clonesRepositories ?? false,
      configMaps: new WatchedObjects({ ...watching, kind: ConfigMap }),
      secrets: new WatchedObjects({ ...watching, kind: Secret }),
      tokens: new ServiceAccountTokens({ client, clock, random, logger }),
      trustBundles: new TrustBundles({ client, clock, random, logger, onChange: () => this.#trustBundlesChanged() }),
    }
    const { processes, nodeName, onVolumesInUse, csi } = options
    const csiPlugins = csi === undefined ? [] : [csiVolume({ ...csi, tokens: this.#tools.tokens })]
    this.mountable = new MountableVolumes({
      ...{ client, clock, logger, files, mounts, processes, directories, nodeName, events: options.events },
      plugins: [...mountPlugins, ...csiPlugins],
      mustBeAttached: (uniqueName) => waitForAttach(uniqueName, nodeName, { client, clock }),
      ...defined({ onInUse: onVolumesInUse }),
    })
  }

  get tools(): VolumeTools {
    return this.#tools
  }

  /**
   * Resolves when all volumes that containers of the pod use are there, however long that takes: what is missing is waited for.
   * Rejects when aborted, and for kinds of volumes that this node does not know.
   */
  async setUp(pod: V1Pod, signal: AbortSignal): Promise<void> {
    const entry = this.#entryOf(pod)
    let unwarnedSinceMs = this.#options.clock.now()
    for (let tries = 0; ; tries++) {
      signal.throwIfAborted()
      const changed = new Promise<void>((resolve) => {
        entry.wake = resolve
      })
      const problems = await this.#inTurn(entry, async () => {
        entry.isSettingUp = true
        return this.#setUpMissing(entry).finally(() => {
          entry.isSettingUp = false
        })
      })
      if (problems.length === 0) return
      signal.throwIfAborted()
      const isEarly = tries < patience.tries && problems.every(({ error }) => isRefusal(error))
      if (!isEarly) this.#tellOf(problems, entry.pod)
      if (this.#options.clock.now() - unwarnedSinceMs >= longWaitMs) {
        unwarnedSinceMs = this.#options.clock.now()
        const which = `unmounted volumes=[${problems.map(({ volume }) => volume).join(' ')}], unattached volumes=[], failed to process volumes=[]`
        this.#warn(entry.pod, `Unable to attach or mount volumes: ${which}: context deadline exceeded`)
      }
      const longestMs = problems.every(({ error }) => error instanceof VolumeNotReady) ? longestClaimRetryMs : longestRetryMs
      const pauseMs = isEarly ? patience.firstMs * 2 ** tries : backoffMs(tries, { firstMs: firstRetryMs, longestMs })
      await this.#pause(pauseMs, changed, signal)
    }
  }

  /** Where the volume is; undefined before it is set up. */
  ready(uid: string, volume: string): ReadyVolume | undefined {
    return this.#pods.get(uid)?.ready.get(volume)
  }

  /**
   * Brings volumes that show objects up to date with them and with the pod, those as well that an earlier run of the agent has set up.
   * Never rejects: what fails is told in events, stays as it was, and is tried again later.
   */
  async refresh(pod: V1Pod): Promise<void> {
    const before = this.#pods.get(podUid(pod))
    const isSame = before !== undefined && before.ready.size > 0 && showsTheSame(before.pod, pod)
    const entry = this.#entryOf(pod)
    if (!isSame) await this.#refresh(entry)
    await this.#inTurn(entry, () =>
      this.mountable.refresh(
        usedVolumes(pod).filter(({ name }) => entry.ready.has(name)),
        pod,
      ),
    )
  }

  /** Nothing is watched for the pod any more. What is on disk stays; resolves when nobody changes it any more. */
  async forget(uid: string): Promise<void> {
    const entry = this.#pods.get(uid)
    this.#pods.delete(uid)
    entry?.nextRefresh?.cancel()
    const { configMaps, secrets, tokens } = this.#tools
    configMaps.use(uid, '', new Set())
    secrets.use(uid, '', new Set())
    tokens.forget(uid)
    await entry?.last
  }

  stop(): void {
    this.#isStopped = true
    for (const { nextRefresh } of this.#pods.values()) nextRefresh?.cancel()
    this.#tools.configMaps.stop()
    this.#tools.secrets.stop()
    this.#tools.trustBundles.stop()
  }

  /** Resolves when everything that has been begun is done. */
  async settled(): Promise<void> {
    for (const { last } of this.#pods.values()) await last
  }

  #entryOf(pod: V1Pod): PodEntry {
    const uid = podUid(pod)
    const entry = this.#pods.get(uid) ?? { pod, ready: new Map(), last: Promise.resolve(), isRefreshDue: false, isSettingUp: false }
    entry.pod = pod
    this.#pods.set(uid, entry)
    const { namespace = '' } = pod.metadata
    const volumes = usedVolumes(pod)
    this.#tools.configMaps.use(uid, namespace, shownConfigMaps(volumes))
    this.#tools.secrets.use(uid, namespace, shownSecrets(volumes))
    return entry
  }

  /** Nobody waits for it: a disk that cannot be read now is tried again with the next sync. */
  async #refresh(entry: PodEntry): Promise<void> {
    const { clock, logger } = this.#options
    try {
      const problems = await this.#inTurn(entry, async () => {
        entry.isRefreshDue = false
        return this.#setUpEach(entry, await this.#mirrorsThere(entry))
      })
      this.#tellOf(problems, entry.pod)
      if (problems.length === 0) return
    } catch (error) {
      logger.warn('failed to update the volumes of a pod', { pod: podText(entry.pod.metadata), error: errorMessage(error) })
    }
    this.#planRefresh(entry, clock.now() + syncPeriodMs)
  }

  #setUpMissing(entry: PodEntry): Promise<Problem[]> {
    return this.#setUpEach(
      entry,
      usedVolumes(entry.pod).filter(({ name }) => !entry.ready.has(name)),
    )
  }

  async #mirrorsThere({ pod, ready }: PodEntry): Promise<V1Volume[]> {
    const there: V1Volume[] = []
    for (const volume of usedVolumes(pod)) {
      const plugin = pluginOf(volume)
      if (!plugin?.mirrorsObjects) continue
      const path = plugin.pathOf(volume, pod, this.#tools)
      if (ready.has(volume.name) || (await this.#tools.files.stat(path)) !== undefined) there.push(volume)
    }
    return there
  }

  async #setUpEach(entry: PodEntry, volumes: readonly V1Volume[]): Promise<Problem[]> {
    if (this.#isGone(entry)) return []
    const problems: Problem[] = []
    // One after the other, but for those of other machines: these may take long, and shall not keep each other waiting.
    const others = volumes.filter((volume) => pluginOf(volume) === undefined)
    const waiting = others.map((volume) => this.#setUpOne(entry, volume, problems))
    for (const volume of volumes) if (!others.includes(volume)) await this.#setUpOne(entry, volume, problems)
    await Promise.all(waiting)
    this.#planRefresh(entry, this.#tools.tokens.nextRotationMs(podUid(entry.pod)))
    return problems
  }

  async #setUpOne(entry: PodEntry, volume: V1Volume, problems: Problem[]): Promise<void> {
    try {
      entry.ready.set(volume.name, await this.#readyVolume(volume, entry.pod))
    } catch (error) {
      if (error instanceof StartFailure) throw error
      problems.push({ volume: volume.name, error })
    }
  }

  async #readyVolume(volume: V1Volume, pod: V1Pod): Promise<ReadyVolume> {
    const plugin = pluginOf(volume)
    if (plugin === undefined) {
      const mounted = await this.mountable.setUp(volume, pod)
      if (mounted === undefined) throw unknownKind(volume)
      return mounted
    }
    await plugin.setUp(volume, pod, this.#tools)
    return { path: plugin.pathOf(volume, pod, this.#tools), isReadOnly: plugin.isReadOnly, isManaged: plugin.isManaged }
  }

  #inTurn<T>(entry: PodEntry, work: () => Promise<T>): Promise<T> {
    const done = entry.last.then(work, work)
    // Whoever asked gets the failure; the next one only waits for its end.
    entry.last = done.catch(() => undefined)
    return done
  }

  #objectChanged(uid: string, isFirst: boolean): void {
    const entry = this.#pods.get(uid)
    if (entry === undefined) return
    entry.wake?.()
    // Before its volumes are there, whoever sets them up sees the change, unless that goes on already.
    if (entry.isRefreshDue || (entry.ready.size === 0 && (isFirst || !entry.isSettingUp))) return
    entry.isRefreshDue = true
    this.#options.clock.soon(() => {
      if (!this.#isGone(entry)) void this.#refresh(entry)
    })
  }

  #trustBundlesChanged(): void {
    for (const [uid, { pod }] of this.#pods) if (showsTrustBundles(usedVolumes(pod))) this.#objectChanged(uid, false)
  }

  #planRefresh(entry: PodEntry, atMs: number | undefined): void {
    const { clock } = this.#options
    entry.nextRefresh?.cancel()
    if (atMs === undefined || this.#isGone(entry)) return
    entry.nextRefresh = clock.after(Math.max(0, atMs - clock.now()), () => void this.#refresh(entry))
  }

  #isGone(entry: PodEntry): boolean {
    return this.#isStopped || this.#pods.get(podUid(entry.pod)) !== entry
  }

  async #pause(ms: number, changed: Promise<void>, signal: AbortSignal): Promise<void> {
    const over = new AbortController()
    const sleep = this.#options.clock.sleep(ms, AbortSignal.any([signal, over.signal]))
    try {
      await Promise.race([changed, sleep])
    } finally {
      over.abort()
      // It was aborted by the line above.
      sleep.catch(() => undefined)
    }
  }

  #tellOf(problems: readonly Problem[], pod: V1Pod): void {
    for (const { volume, error } of problems) {
      const why = errorMessage(error)
      if (error instanceof MountFailure) this.#warn(pod, why, error.reason)
      else if (error instanceof VolumeNotReady) this.#warn(pod, `${notProcessed(volume)}: ${why}`)
      else this.#warn(pod, `MountVolume.SetUp failed for volume "${volume}" : ${why}`)
    }
  }

  #warn(pod: V1Pod, message: string, reason: string = 'FailedMount'): void {
    this.#options.events.warning(Pod, pod, reason, message)
  }
}

/** Whoever starts the pod tells of it. */
function unknownKind({ name, ...source }: V1Volume): StartFailure {
  const kind = Object.keys(source)[0] ?? 'unknown'
  return new StartFailure('FailedMount', `${notProcessed(name)}: no volume plugin matched: ${kind}`, longestRetryMs)
}

const notProcessed = (volume: string): string =>
  `Unable to attach or mount volumes: unmounted volumes=[${volume}], unattached volumes=[], failed to process volumes=[${volume}]`

const isRefusal = (error: unknown): boolean => isForbidden(error) || (error instanceof Error && isForbidden(error.cause))

/** Whether all that volumes can show of the pods themselves is the same. */
const showsTheSame = (left: V1Pod, right: V1Pod): boolean =>
  left === right || JSON.stringify(shownOf(left)) === JSON.stringify(shownOf(right))

const shownOf = ({ metadata, spec }: V1Pod): unknown => [
  ...[metadata.labels, metadata.annotations, spec.resources, spec.ephemeralContainers?.length],
  ...[...spec.containers, ...(spec.initContainers ?? [])].map(({ resources }) => resources),
]

const pluginOf = (volume: V1Volume): VolumePlugin | undefined => volumePlugins.find(({ source }) => volume[source] !== undefined)
