/** How many claims and volumes there are, and how long it takes to make and to remove volumes. Names are upstream's. */

import { PersistentVolume, PersistentVolumeClaim } from '#api/core/v1/kinds.gen.ts'
import type { V1PersistentVolume } from '#api/core/v1/types.gen.ts'
import { classNameOf } from '#api/core/v1/volume/matching-volume.ts'
import type { Clock } from '#base/clock.ts'
import type { Labels, Metrics } from '#base/metrics.ts'
import type { Cache } from '#controllers/runtime/cache.ts'

type Operation = 'provision' | 'delete'

const buckets = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 25, 50, 120, 300, 600]

export class BinderMetrics {
  readonly #clock: Clock
  readonly #started = new Map<string, { plugin: string; operation: Operation; atMs: number }>()
  readonly #seconds
  readonly #errors
  readonly #deprecatedErrors
  readonly #assigned
  readonly #assignFailures

  constructor(metrics: Metrics, cache: Cache, clock: Clock) {
    this.#clock = clock
    this.#seconds = metrics.histogram('volume_operation_total_seconds', 'How long operations on volumes took.', buckets)
    this.#errors = metrics.counter('volume_operation_errors_total', 'Volume operations that failed')
    this.#deprecatedErrors = metrics.counter('volume_operation_total_errors', 'Volume operations that failed')
    this.#assigned = metrics.counter('retroactive_storageclass_total', 'Claims that were given a default class after they were made')
    this.#assignFailures = metrics.counter('retroactive_storageclass_errors_total', 'Claims that could not be given a default class')
    const volumes = () => cache.list(PersistentVolume)
    const claims = () => cache.list(PersistentVolumeClaim)
    const isBound = ({ status }: { status?: { phase?: string } }) => status?.phase === 'Bound'
    const ofVolume = ({ spec }: V1PersistentVolume) => ({ storage_class: spec.storageClassName ?? '' })
    const ofClaim = (claim: ReturnType<typeof claims>[number]) => ({
      namespace: claim.metadata.namespace ?? '',
      storage_class: classNameOf(claim),
      volume_attributes_class: claim.spec.volumeAttributesClassName ?? '',
    })
    const count = <T>(name: string, help: string, list: () => readonly T[], labels: (each: T) => Labels) =>
      metrics.measured(name, help, () => counted(list().map(labels)))
    const bound =
      <T extends { status?: { phase?: string } }>(list: () => readonly T[]) =>
      () =>
        list().filter(isBound)
    const unbound =
      <T extends { status?: { phase?: string } }>(list: () => readonly T[]) =>
      () =>
        list().filter((each) => !isBound(each))
    count('pv_collector_total_pv_count', 'Persistent volumes', volumes, (volume) => ({
      plugin_name: pluginNameOf(volume),
      volume_mode: volume.spec.volumeMode ?? 'Filesystem',
    }))
    count('pv_collector_bound_pv_count', 'Persistent volumes that are bound', bound(volumes), ofVolume)
    count('pv_collector_unbound_pv_count', 'Persistent volumes that are not bound', unbound(volumes), ofVolume)
    count('pv_collector_bound_pvc_count', 'Claims that are bound', bound(claims), ofClaim)
    count('pv_collector_unbound_pvc_count', 'Claims that are not bound', unbound(claims), ofClaim)
  }

  /** From now on, unless it began before. */
  begin(key: string, plugin: string, operation: Operation): void {
    if (!this.#started.has(key)) this.#started.set(key, { plugin, operation, atMs: this.#clock.monotonic() })
  }
  forget(key: string): void {
    this.#started.delete(key)
  }
  succeeded(key: string): void {
    const started = this.#started.get(key)
    if (started === undefined) return
    this.#started.delete(key)
    const { plugin, operation, atMs } = started
    this.#seconds.observe((this.#clock.monotonic() - atMs) / 1000, { operation_name: operation, plugin_name: plugin })
  }
  failed(key: string): void {
    const started = this.#started.get(key)
    if (started === undefined) return
    const labels = { operation_name: started.operation, plugin_name: started.plugin }
    this.#errors.inc(labels)
    this.#deprecatedErrors.inc(labels)
  }

  assignedClass(isDone: boolean): void {
    this.#assigned.inc()
    if (!isDone) this.#assignFailures.inc()
  }
}

function counted(labels: readonly Labels[]): Iterable<readonly [Labels, number]> {
  const counts = new Map<string, [Labels, number]>()
  for (const each of labels) {
    const key = JSON.stringify(each)
    const found = counts.get(key)
    if (found === undefined) counts.set(key, [each, 1])
    else found[1]++
  }
  return counts.values()
}

const plugins: Readonly<Record<string, string>> = {
  hostPath: 'kubernetes.io/host-path',
  nfs: 'kubernetes.io/nfs',
  local: 'kubernetes.io/local-volume',
  iscsi: 'kubernetes.io/iscsi',
  fc: 'kubernetes.io/fc',
  flexVolume: 'flexvolume',
}

function pluginNameOf({ spec }: V1PersistentVolume): string {
  if (spec.csi) return `kubernetes.io/csi:${spec.csi.driver}`
  const source = Object.keys(plugins).find((name) => name in spec)
  return source === undefined ? 'N/A' : (plugins[source] ?? 'N/A')
}
