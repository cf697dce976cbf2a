import { exponentialBuckets, type Labels, type Metrics } from '#base/metrics.ts'
import type { SlicePlan } from '#controllers/endpointslice/slices.ts'
import { ownMetrics } from '#controllers/runtime/own-metrics.ts'

/** Of one service: `desired` slices would do for its endpoints. */
export type SliceCounts = { endpoints: number; slices: number; desired: number }

/** What the controllers of slices count alike, each under its own name. */
export class SliceMetrics {
  readonly #counts = new Map<string, SliceCounts>()
  readonly #added
  readonly #removed
  readonly #changes

  constructor(metrics: Metrics, subsystem: string) {
    const buckets = exponentialBuckets(2, 2, 15)
    this.#added = metrics.histogram(`${subsystem}_endpoints_added_per_sync`, 'Endpoints that came, look by look', buckets)
    this.#removed = metrics.histogram(`${subsystem}_endpoints_removed_per_sync`, 'Endpoints that went, look by look', buckets)
    this.#changes = metrics.counter(`${subsystem}_changes`, 'Slices that were written, by what was done')
    metrics.measured(`${subsystem}_endpoints_desired`, 'Endpoints that there should be', () => this.#sum('endpoints'))
    metrics.measured(`${subsystem}_num_endpoint_slices`, 'Slices that there are', () => this.#sum('slices'))
    metrics.measured(`${subsystem}_desired_endpoint_slices`, 'Slices that would do, were they all full', () => this.#sum('desired'))
  }

  planned({ endpoints }: SlicePlan): void {
    this.#added.observe(endpoints.added)
    this.#removed.observe(endpoints.removed)
  }

  readonly wrote = (operation: 'create' | 'update' | 'delete'): void => this.#changes.inc({ operation })

  keep(service: string, counts: SliceCounts): void {
    this.#counts.set(service, counts)
  }

  forget(service: string): void {
    this.#counts.delete(service)
  }

  #sum(of: keyof SliceCounts): number {
    let sum = 0
    for (const counts of this.#counts.values()) sum += counts[of]
    return sum
  }
}

/** What the slices of some groups come to, once the plan is carried out. */
export function countsOf(
  groups: readonly { endpoints: readonly unknown[] }[],
  existing: number,
  { create, remove }: SlicePlan,
  limit: number,
): SliceCounts {
  const sizes = groups.map(({ endpoints }) => endpoints.length)
  return {
    endpoints: sizes.reduce((sum, size) => sum + size, 0),
    slices: existing + create.length - remove.length,
    desired: sizes.reduce((sum, size) => sum + Math.ceil(size / limit), 0),
  }
}

/** What Prometheus' own libraries take where nothing is said. */
const usualBuckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

export const endpointSliceMetrics = ownMetrics((metrics) => {
  const subsystem = 'endpoint_slice_controller'
  const distributions = new Map<string, string>()
  metrics.measured(`${subsystem}_services_count_by_traffic_distribution`, 'Services by whom their traffic prefers', () => {
    const counts = new Map<string, number>()
    for (const distribution of distributions.values()) counts.set(distribution, (counts.get(distribution) ?? 0) + 1)
    return [...counts].map(([traffic_distribution, count]): [Labels, number] => [{ traffic_distribution }, count])
  })
  return {
    slices: new SliceMetrics(metrics, subsystem),
    changed: metrics.histogram(`${subsystem}_endpointslices_changed_per_sync`, 'Slices that were written, look by look', usualBuckets),
    syncs: metrics.counter(`${subsystem}_syncs`, 'How often services were looked at, by how that ended'),
    distributions,
  }
})
