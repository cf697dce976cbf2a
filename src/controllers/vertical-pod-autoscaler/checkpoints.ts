import { VerticalPodAutoscalerCheckpoint } from '#api/autoscaling/vertical/definitions.ts'
import { ignoreAlreadyExists, isNotFound } from '#api/meta/server-response.ts'
import { formatTime, parseTime } from '#api/meta/time.ts'
import type { Client } from '#client/client.ts'
import type { HistogramCheckpoint } from '#controllers/vertical-pod-autoscaler/histogram.ts'
import { UsageHistory } from '#controllers/vertical-pod-autoscaler/usage-history.ts'

type Place = { namespace: string; vpaName: string; container: string }
type StoredHistogram = NonNullable<NonNullable<VerticalPodAutoscalerCheckpoint['status']>['cpuHistogram']>

const version = 'v3'
const nameOf = ({ vpaName, container }: Place): string => `${vpaName}-${container}`

export async function saveCheckpoint(client: Client, place: Place, history: UsageHistory, nowMs: number): Promise<void> {
  const { namespace, vpaName, container } = place
  const name = nameOf(place)
  const spec = { vpaObjectName: vpaName, containerName: container }
  const { cpu, memory, firstMs, lastMs, samples } = history.save()
  const status = {
    ...{ lastUpdateTime: formatTime(nowMs), version, totalSamplesCount: samples },
    ...{ firstSampleStart: formatTime(firstMs), lastSampleStart: formatTime(lastMs) },
    ...{ cpuHistogram: stored(cpu), memoryHistogram: stored(memory) },
  }
  // Unlike a patch, this drops buckets that have become empty.
  const apply = () =>
    client.apply(
      VerticalPodAutoscalerCheckpoint,
      { metadata: { namespace, name }, status },
      { subresource: 'status', fieldManager: 'vpa-recommender', force: true },
    )
  await apply().catch(async (error: unknown) => {
    if (!isNotFound(error)) throw error
    await client.create(VerticalPodAutoscalerCheckpoint, { metadata: { namespace, name }, spec }).catch(ignoreAlreadyExists)
    await apply()
  })
}

/** Undefined for one that is empty, or of another version. */
export function loadCheckpoint({
  spec,
  status,
}: VerticalPodAutoscalerCheckpoint): { container: string; vpaName: string; history: UsageHistory } | undefined {
  const { containerName: container, vpaObjectName: vpaName } = spec
  if (container === undefined || vpaName === undefined || status?.version !== version) return undefined
  const { cpuHistogram = {}, memoryHistogram = {}, firstSampleStart = '', lastSampleStart = '', totalSamplesCount: samples = 0 } = status
  const history = UsageHistory.load({
    ...{ cpu: restored(cpuHistogram), memory: restored(memoryHistogram), samples },
    ...{ firstMs: parseTime(firstSampleStart), lastMs: parseTime(lastSampleStart) },
  })
  return { container, vpaName, history }
}

const stored = ({ referenceMs, bucketWeights, totalWeight }: HistogramCheckpoint): StoredHistogram => ({
  ...{ referenceTimestamp: formatTime(referenceMs), bucketWeights, totalWeight },
})
const restored = ({ referenceTimestamp, bucketWeights = {}, totalWeight = 0 }: StoredHistogram): HistogramCheckpoint => ({
  ...{ referenceMs: referenceTimestamp ? parseTime(referenceTimestamp) : 0, bucketWeights, totalWeight },
})
