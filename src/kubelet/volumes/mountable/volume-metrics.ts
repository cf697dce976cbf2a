/** How full claimed volumes are, as Prometheus reads it: `kubelet_volume_stats_*`. */
import type { Clock } from '#base/clock.ts'
import type { Host } from '#base/host.ts'
import type { VolumeStats } from '#kubelet/volumes/mountable/mount-plugin.ts'
import type { MountableVolumes } from '#kubelet/volumes/mountable/mountable-volumes.ts'

export type VolumeMetricsOptions = { volumes: MountableVolumes; host: Pick<Host, 'fileSystem'>; clock: Clock }

const keptMs = 60_000
const longestMs = 10_000

const families: readonly (readonly [keyof VolumeStats, string, string])[] = [
  ['capacityBytes', 'kubelet_volume_stats_capacity_bytes', 'Capacity in bytes of the volume'],
  ['availableBytes', 'kubelet_volume_stats_available_bytes', 'Number of available bytes in the volume'],
  ['usedBytes', 'kubelet_volume_stats_used_bytes', 'Number of used bytes in the volume'],
  ['inodes', 'kubelet_volume_stats_inodes', 'Maximum number of inodes in the volume'],
  ['inodesFree', 'kubelet_volume_stats_inodes_free', 'Number of free inodes in the volume'],
  ['inodesUsed', 'kubelet_volume_stats_inodes_used', 'Number of used inodes in the volume'],
  ['isAbnormal', 'kubelet_volume_stats_health_status_abnormal', '1 where the driver says that the volume is not well, else 0.'],
]

/** Asked for at most once a minute, since drivers may take long; one that does not answer in time is left out. */
export function volumeMetrics({ volumes, host, clock }: VolumeMetricsOptions): () => Promise<string> {
  let kept: { atMs: number; text: Promise<string> } | undefined
  /** By where it is mounted. A server that is gone never answers, and each question holds one of the few threads that all files share. */
  const unanswered = new Set<string>()
  const statsOf = async (
    record: Parameters<NonNullable<ReturnType<MountableVolumes['pluginNamed']>>['stats'] & {}>[0],
  ): Promise<VolumeStats | undefined> => {
    const { target } = record
    if (unanswered.has(target)) return undefined
    unanswered.add(target)
    const plugin = volumes.pluginNamed(record.plugin)
    try {
      return await (plugin?.stats === undefined ? host.fileSystem(target) : plugin.stats(record, volumes.tools))
    } finally {
      unanswered.delete(target)
    }
  }
  const collect = async (): Promise<string> => {
    const found = new Map<string, VolumeStats>()
    await Promise.all(
      [...volumes.records.all()].map(async (record) => {
        const { claim, isBlock } = record
        if (claim === undefined || (isBlock && volumes.pluginNamed(record.plugin)?.stats === undefined)) return
        const over = new AbortController()
        const late = clock.sleep(longestMs, over.signal).catch(() => undefined)
        // A volume that cannot be measured has no figures this time.
        const stats = await Promise.race([statsOf(record).catch(() => undefined), late])
        over.abort()
        if (stats) found.set(`namespace="${claim.namespace}",persistentvolumeclaim="${claim.name}"`, stats)
      }),
    )
    return textOf(found)
  }
  return () => {
    if (kept === undefined || clock.now() - kept.atMs >= keptMs) kept = { atMs: clock.now(), text: collect() }
    return kept.text
  }
}

function textOf(found: ReadonlyMap<string, VolumeStats>): string {
  let text = ''
  for (const [key, name, help] of families) {
    const lines = [...found]
      .filter(([, stats]) => stats[key] !== undefined)
      .map(([labels, stats]) => `${name}{${labels}} ${Number(stats[key])}\n`)
    if (lines.length > 0) text += `# HELP ${name} [ALPHA] ${help}\n# TYPE ${name} gauge\n${lines.join('')}`
  }
  return text
}
