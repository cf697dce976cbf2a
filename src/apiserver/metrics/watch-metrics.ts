/** Events that watchers were sent. */
import type { Metrics } from '#base/metrics.ts'

type Resource = { readonly group: string; readonly version: string; readonly plural: string }

/** What one resource's watchers are sent. */
export type WatchMeasures = { sent(sizeBytes: number): void }

export class WatchMetrics {
  readonly #known = new Map<string, WatchMeasures>()
  readonly #make: (resource: Resource) => WatchMeasures

  constructor(metrics: Metrics) {
    const total = metrics.counter('apiserver_watch_events_total', 'Events that watchers were sent.')
    const sizes = metrics.histogram(
      'apiserver_watch_events_sizes',
      'Bytes of events that watchers were sent.',
      [1024, 2048, 4096, 8192, 16384, 32768, 65536, 131072],
    )
    this.#make = ({ group, version, plural }) => {
      const labels = { group, resource: plural, version }
      const [count, size] = [total.with(labels), sizes.with(labels)]
      return {
        sent(sizeBytes) {
          count.inc()
          size.observe(sizeBytes)
        },
      }
    }
  }

  of(resource: Resource): WatchMeasures {
    const key = `${resource.group}/${resource.version}/${resource.plural}`
    let measures = this.#known.get(key)
    if (measures === undefined) {
      measures = this.#make(resource)
      this.#known.set(key, measures)
    }
    return measures
  }
}
