/** What is measured of the store and of what lies in it. */

import type { Clock } from '#base/clock.ts'
import { defined } from '#base/defined.ts'
import type { Labels, Metrics } from '#base/metrics.ts'
import type { Operation, Store, Transaction } from '#store/store.ts'

const buckets = [0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 45, 60]

type ResourceName = { readonly group: string; readonly resource: string }
const nobody: ResourceName = { group: '', resource: '' }
type Measures = { readonly total: { inc(): void }; failed(): void; readonly duration: { observe(seconds: number): void } }

/** Whose keys begin so: `/registry/pods/`. */
export type PrefixOwner = (prefix: string) => ResourceName | undefined

/** The store, with every read and write timed. Nobody waits for the measuring. */
export function measuredStore(store: Store, metrics: Metrics, clock: Clock, findOwner: PrefixOwner): Store {
  const total = metrics.counter('etcd_requests_total', 'Reads and writes of the store.')
  const errors = metrics.counter('etcd_request_errors_total', 'Reads and writes of the store that failed.')
  const durations = metrics.histogram('etcd_request_duration_seconds', 'How long reads and writes of the store took.', buckets)
  const known = new Map<string, Measures>()
  const measuresFor = (operation: string, key: string): Measures => {
    const [short, long] = startsOf(key)
    const { group, resource } = findOwner(long) ?? findOwner(short) ?? nobody
    const name = `${operation} ${group} ${resource}`
    let measures = known.get(name)
    if (measures === undefined) {
      const labels = { group, operation, resource }
      measures = { total: total.with(labels), failed: () => errors.inc(labels), duration: durations.with(labels) }
      known.set(name, measures)
    }
    return measures
  }
  const timed = <T>(operation: string, key: string, run: () => Promise<T>): Promise<T> => {
    const measures = measuresFor(operation, key)
    const startedMs = clock.monotonic()
    const done = () => {
      measures.total.inc()
      measures.duration.observe((clock.monotonic() - startedMs) / 1000)
    }
    const result = run()
    result.then(done, () => {
      measures.failed()
      done()
    })
    return result
  }
  return {
    get revision() {
      return store.revision
    },
    get compactedRevision() {
      return store.compactedRevision
    },
    get trouble() {
      return store.trouble
    },
    range(request) {
      const isOne = request.prefix === undefined && request.end === undefined
      return timed(isOne ? 'get' : 'list', request.prefix ?? request.key ?? '', () => store.range(request))
    },
    txn(transaction, onEvaluated) {
      const { operation, key } = natureOf(transaction)
      return timed(operation, key, () => store.txn(transaction, onEvaluated))
    },
    watch: (request) => store.watch(request),
    grantLease: (ttlSeconds, id) => store.grantLease(ttlSeconds, id),
    keepLeaseAlive: (id) => store.keepLeaseAlive(id),
    revokeLease: (id) => store.revokeLease(id),
    leases: () => store.leases(),
    leaseKeys: (id) => store.leaseKeys(id),
    compact: (revision) => store.compact(revision),
    size: () => store.size(),
    close: () => store.close(),
    [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
    ...defined({
      defragment: store.defragment ? () => store.defragment?.() ?? Promise.resolve() : undefined,
      alarm: store.alarm ? () => store.alarm?.() ?? Promise.resolve(undefined) : undefined,
    }),
  }
}

/** What a key of a resource may begin with: `/registry/pods/`, or `/registry/services/specs/`. */
function startsOf(key: string): [short: string, long: string] {
  const start = key.indexOf('/', 1)
  const end = key.indexOf('/', start + 1) + 1
  return [key.slice(0, end), key.slice(0, key.indexOf('/', end) + 1)]
}

function natureOf({ compare = [], success }: Transaction): { operation: string; key: string } {
  const [first] = success
  const key = keyOf(first)
  if (first !== undefined && 'delete' in first) return { operation: 'delete', key }
  const isCreate = compare.some((each) => each.target !== 'value' && each.op === '=' && Number(each.value) === 0)
  return { operation: isCreate ? 'create' : 'update', key }
}

function keyOf(operation: Operation | undefined): string {
  if (operation === undefined) return ''
  if ('put' in operation) return operation.put.key
  if ('delete' in operation) return operation.delete.key ?? operation.delete.prefix ?? ''
  return operation.range.key ?? operation.range.prefix ?? ''
}

export type StoredResource = ResourceName & { readonly count: number; readonly revision: number; readonly watchers: number }

/** What is there, looked up when somebody asks. */
export function measureResources(metrics: Metrics, store: Store, resources: () => Iterable<StoredResource>): void {
  const each = (read: (resource: StoredResource) => number, labels: (resource: StoredResource) => Labels) => () =>
    [...resources()].map((resource) => [labels(resource), read(resource)] as const)
  const named = ({ group, resource }: StoredResource): Labels => ({ group, resource })
  const joined = ({ group, resource }: StoredResource): Labels => ({ resource: group === '' ? resource : `${resource}.${group}` })
  metrics.measured(
    'apiserver_resource_objects',
    'Objects that are stored.',
    each(({ count }) => count, named),
  )
  metrics.measured(
    'apiserver_storage_objects',
    'Objects that are stored; apiserver_resource_objects tells the group apart.',
    each(({ count }) => count, joined),
  )
  metrics.measured(
    'apiserver_watch_cache_resource_version',
    'The newest revision in memory.',
    each(({ revision }) => revision, named),
  )
  metrics.measured(
    'apiserver_registered_watchers',
    'Watches that are open.',
    each(({ watchers }) => watchers, named),
  )
  let sizeBytes: number | undefined
  // The size has to be waited for, so this time the one of last time is told.
  const refresh = () =>
    void store.size().then(
      ({ totalBytes }) => {
        sizeBytes = totalBytes
      },
      () => undefined,
    )
  metrics.measured('apiserver_storage_size_bytes', 'Bytes that the store takes.', () => {
    refresh()
    return sizeBytes === undefined ? undefined : [[{ storage_cluster_id: '0' }, sizeBytes]]
  })
}
