import { join } from 'node:path'
import type { V1Pod, V1Volume } from '#api/core/v1/types.gen.ts'
import { quoted } from '#api/meta/check.ts'
import { defined } from '#base/defined.ts'
import { errorMessage } from '#base/error-message.ts'
import { claimNameOf, volumeSpecOf } from '#kubelet/volumes/mountable/claimed-volume.ts'
import { growIfLarger, type VolumeEvents } from '#kubelet/volumes/mountable/grow-claims.ts'
import { deviceLink, mapDevice, unmapDevice } from '#kubelet/volumes/mountable/map-device.ts'
import { MountFailure } from '#kubelet/volumes/mountable/mount-failure.ts'
import type { MountPlugin, MountRequest, MountTools, VolumeRecord } from '#kubelet/volumes/mountable/mount-plugin.ts'
import { VolumeRecords } from '#kubelet/volumes/mountable/volume-records.ts'
import { sourceNameOf, type VolumeSpec } from '#kubelet/volumes/mountable/volume-spec.ts'
import { podUid } from '#kubelet/volumes/volume-plugin.ts'

export type MountedVolume = { path: string; devicePath?: string; isReadOnly: boolean; isManaged: boolean }

export type MountableVolumesOptions = MountTools & {
  plugins: readonly MountPlugin[]
  events: VolumeEvents
  /** The list of volumes in use has become another. */
  onInUse?(): void
}

/**
 * Volumes that live longer than pods do, or come from elsewhere. What has been begun for one volume ends before anything else is begun
 * for it; volumes do not wait for each other.
 */
export class MountableVolumes {
  readonly #options: MountableVolumesOptions
  readonly #plugins: readonly MountPlugin[]
  readonly records: VolumeRecords
  readonly #busy = new Map<string, Promise<unknown>>()
  /** Whose volumes are in use, though nothing is written down yet. */
  readonly #coming = new Map<string, number>()
  #isLoaded: Promise<void> | undefined

  constructor(options: MountableVolumesOptions) {
    this.#options = options
    this.#plugins = options.plugins
    this.records = new VolumeRecords(options)
  }

  /** Those that the cluster has attached, in upstream's names. */
  get inUse(): string[] {
    const names = new Set(this.#coming.keys())
    for (const { isAttachable, uniqueName } of this.records.all()) if (isAttachable) names.add(uniqueName)
    return [...names].sort()
  }

  /** Reads what earlier runs of the agent have mounted: before the cluster is told what is in use. */
  load(): Promise<void> {
    return this.#loaded()
  }

  /** Undefined for volumes that are none of these. */
  async setUp(volume: V1Volume, pod: V1Pod): Promise<MountedVolume | undefined> {
    const spec = await volumeSpecOf(volume, pod, this.#options.client)
    if (spec === undefined) return undefined
    await this.#loaded()
    const plugin = this.#pluginFor(spec)
    const uniqueName = plugin.idOf(spec, pod)
    const isAttachable = (await plugin.isAttachable?.(spec, this.#options)) ?? false
    if (isAttachable) await this.#attached(uniqueName)
    try {
      return await this.#inTurn(uniqueName, () => this.#mount(plugin, spec, pod, { uniqueName, isAttachable }))
    } finally {
      if (isAttachable) this.#came(uniqueName)
    }
  }

  /** Takes off all that was mounted for the pod. Rejects when something is left; may be repeated. */
  async tearDown(uid: string): Promise<void> {
    await this.#loaded()
    const failures: unknown[] = []
    for (const record of [...(await this.records.loadPod(uid))]) {
      await this.#inTurn(record.uniqueName, () => this.#unmount(record)).catch((error: unknown) => failures.push(error))
    }
    if (failures.length > 0) throw failures[0]
  }

  pluginNamed(name: string): MountPlugin | undefined {
    return this.#plugins.find((plugin) => plugin.name === name)
  }

  get tools(): MountTools {
    return this.#options
  }

  /** Volumes of a running pod: those that have become larger are, and those whose driver wants that are published again. Never rejects. */
  async refresh(volumes: readonly V1Volume[], pod: V1Pod): Promise<void> {
    const { events, logger } = this.#options
    for (const volume of volumes) {
      try {
        const found = await this.#requestFor(volume, pod)
        if (found === undefined) continue
        const { plugin, request } = found
        await this.#inTurn(request.uniqueName, async () => {
          await growIfLarger({ plugin, request, tools: this.#options, events })
          if (await plugin.mustRepublish?.(request.spec, this.#options)) await plugin.publish({ ...request, isFirst: false }, this.#options)
        })
      } catch (error) {
        logger.warn('failed to refresh volume', { pod: podUid(pod), volume: volume.name, error: errorMessage(error) })
      }
    }
  }

  /** The volume as the cluster has it now, with the plugin that has mounted it for the pod; undefined where it is none of these. */
  async #requestFor(volume: V1Volume, pod: V1Pod): Promise<{ plugin: MountPlugin; request: MountRequest } | undefined> {
    if (claimNameOf(volume, pod) === undefined && volume.csi === undefined) return undefined
    const spec = await volumeSpecOf(volume, pod, this.#options.client)
    if (spec === undefined) return undefined
    const plugin = this.#pluginFor(spec)
    return { plugin, request: this.#requestOf(plugin, spec, pod) }
  }

  #requestOf(plugin: MountPlugin, spec: VolumeSpec, pod: V1Pod): MountRequest {
    const { directories } = this.#options
    const own = spec.isBlock
      ? deviceLink(directories, podUid(pod), plugin.name, spec.name)
      : directories.volume(podUid(pod), plugin.name, spec.name)
    return { spec, pod, uniqueName: plugin.idOf(spec, pod), target: plugin.targetOf?.(spec, pod, this.#options) ?? own }
  }

  async #mount(
    plugin: MountPlugin,
    spec: VolumeSpec,
    pod: V1Pod,
    { uniqueName, isAttachable }: { uniqueName: string; isAttachable: boolean },
  ): Promise<MountedVolume> {
    const request = this.#requestOf(plugin, spec, pod)
    const uid = podUid(pod)
    const { isReadOnly, isBlock, name, podVolume, claim } = spec
    const isFirst = !this.records.isUsed(uniqueName, uid)
    // The scheduler knows of it as well, but not every pod comes by way of the scheduler.
    if (!isFirst && spec.accessModes.length === 1 && spec.accessModes[0] === 'ReadWriteOncePod') {
      throw failure(isBlock ? 'MapVolume.SetUpDevice' : 'MountVolume.SetUp', spec, new Error(usedByAnother))
    }
    const claimed = claim === undefined ? undefined : { namespace: claim.metadata?.namespace ?? '', name: claim.metadata?.name ?? '' }
    await this.records.add({
      ...{ plugin: plugin.name, uniqueName, podUid: uid, podVolume, name, target: request.target, isBlock, isReadOnly, isAttachable },
      source: { [plugin.source]: spec.source[plugin.source] },
      ...defined({ claim: claimed }),
    })
    await failingAs('MountDevice', spec, () => plugin.stage?.(request, this.#options))
    const published = await failingAs('SetUp', spec, () => plugin.publish({ ...request, isFirst }, this.#options))
    await growIfLarger({ plugin, request, tools: this.#options, events: this.#options.events })
    if (!isBlock) return { path: request.target, isReadOnly, isManaged: plugin.source !== 'hostPath' }
    const device = published?.devicePath
    await failingAs('SetUp', spec, async () => {
      if (device === undefined) throw new Error(`volume plugin ${plugin.name} gave no device for volume ${quoted(name)}`)
      await mapDevice({ device, link: request.target }, this.#options)
    })
    return { path: '', devicePath: request.target, isReadOnly, isManaged: false }
  }

  async #unmount(record: VolumeRecord): Promise<void> {
    const { mounts, files, directories } = this.#options
    const { target, isBlock, uniqueName, podUid: uid, name } = record
    const plugin = this.#plugins.find((each) => each.name === record.plugin)
    // A subPath keeps its volume busy.
    const parts = join(directories.subPaths(uid), record.podVolume)
    for (const place of await mounts.below(parts)) await mounts.unmount(place)
    if (isBlock) await unmapDevice(target, files)
    await plugin?.unpublish?.(record, this.#options)
    const isOwn = target.startsWith(`${directories.pod(uid)}/`)
    if (isOwn && !isBlock) {
      for (const place of await mounts.below(target)) await mounts.unmount(place)
      // Never what is in it: were it mounted still, it would be somebody's data.
      await files.removeOne(target)
    }
    if (!this.records.isUsed(uniqueName, uid)) await plugin?.unstage?.(record, this.#options)
    await this.records.remove(record)
    this.#options.logger.debug('volume unmounted', { volume: name, pod: uid })
    if (record.isAttachable) this.#options.onInUse?.()
  }

  async #attached(uniqueName: string): Promise<void> {
    this.#coming.set(uniqueName, (this.#coming.get(uniqueName) ?? 0) + 1)
    this.#options.onInUse?.()
    try {
      await this.#options.mustBeAttached(uniqueName)
    } catch (error) {
      this.#came(uniqueName)
      throw error
    }
  }

  #came(uniqueName: string): void {
    const left = (this.#coming.get(uniqueName) ?? 1) - 1
    if (left > 0) this.#coming.set(uniqueName, left)
    else this.#coming.delete(uniqueName)
  }

  #pluginFor(spec: VolumeSpec): MountPlugin {
    const source = sourceNameOf(spec.source)
    const plugin = this.#plugins.find((each) => each.source === source)
    if (plugin === undefined) throw new Error('no volume plugin matched')
    if (spec.isBlock && !plugin.canBlock) throw new Error(`volume plugin ${quoted(plugin.name)} does not support block volumes`)
    return plugin
  }

  #loaded(): Promise<void> {
    this.#isLoaded ??= this.records.load()
    return this.#isLoaded
  }

  #inTurn<T>(uniqueName: string, work: () => Promise<T>): Promise<T> {
    const done = (this.#busy.get(uniqueName) ?? Promise.resolve()).then(work, work)
    const settled = done.then(
      () => undefined,
      () => undefined,
    )
    this.#busy.set(uniqueName, settled)
    void settled.then(() => {
      if (this.#busy.get(uniqueName) === settled) this.#busy.delete(uniqueName)
    })
    return done
  }
}

async function failingAs<T>(step: 'MountDevice' | 'SetUp', spec: VolumeSpec, work: () => Promise<T> | undefined): Promise<T | undefined> {
  try {
    return await work()
  } catch (error) {
    if (!spec.isBlock) throw failure(`MountVolume.${step}`, spec, error)
    throw failure(step === 'SetUp' ? 'MapVolume.MapPodDevice' : 'MapVolume.SetUpDevice', spec, error)
  }
}

const usedByAnother = 'volume uses the ReadWriteOncePod access mode and is already in use by another pod'

const failure = (step: string, { name, isBlock }: VolumeSpec, error: unknown): MountFailure =>
  new MountFailure(isBlock ? 'FailedMapVolume' : 'FailedMount', `${step} failed for volume ${quoted(name)} : ${errorMessage(error)}`, error)
