/** What a container of Docker's uses, in the words of CRI. */
import type { Clock } from '#base/clock.ts'
import { type DockerClient, ifFound } from '#runtime/docker/docker-client.ts'
import { labelsIn, metadataIn } from '#runtime/docker/docker-names.ts'
import type { DockerStats, InspectedContainer } from '#runtime/docker/docker-types.ts'
import type { WrittenBytes } from '#runtime/service/written-bytes.ts'
import type { CriContainerStats } from '#wire/cri/cri-types.ts'

export async function containerStats(
  inspected: InspectedContainer,
  written: WrittenBytes,
  { docker, clock }: { docker: DockerClient; clock: Clock },
): Promise<CriContainerStats> {
  const { Id, Name, Config, GraphDriver, State } = inspected
  const { labels, annotations } = labelsIn(Config.Labels ?? {})
  const metadata = metadataIn(Name)?.container
  const timestamp = BigInt(clock.nowMicros()) * 1000n
  const attributes = { id: Id, labels, annotations, ...(metadata && { metadata }) }
  const upper = GraphDriver?.Data?.UpperDir
  const layer = upper === undefined ? undefined : await written.of(Id, upper)
  const writableLayer = layer && {
    ...{ timestamp, fsId: { mountpoint: upper ?? '' } },
    ...{ usedBytes: { value: layer.usedBytes }, inodesUsed: { value: layer.inodesUsed } },
  }
  const query = { stream: 'false', 'one-shot': 'true' }
  const stats = State.Running ? await ifFound(docker.json<DockerStats>('GET', `/containers/${Id}/stats`, { query })) : undefined
  return { attributes, ...(stats && usageIn(stats, timestamp)), ...(writableLayer && { writableLayer }) }
}

export function usageIn({ cpu_stats = {}, memory_stats = {} }: DockerStats, timestamp: bigint): Pick<CriContainerStats, 'cpu' | 'memory'> {
  const { usage = 0, stats = {} } = memory_stats
  // The names are those of the kernel's files: of cgroup v1, and of v2.
  const inactive = stats['total_inactive_file'] ?? stats['inactive_file'] ?? 0
  const rss = stats['total_rss'] ?? stats['rss'] ?? stats['anon'] ?? 0
  const value = (number: number) => ({ value: BigInt(Math.max(0, Math.trunc(number))) })
  return {
    cpu: { timestamp, usageCoreNanoSeconds: value(cpu_stats.cpu_usage?.total_usage ?? 0) },
    memory: { timestamp, usageBytes: value(usage), workingSetBytes: value(usage - inactive), rssBytes: value(rss) },
  }
}
