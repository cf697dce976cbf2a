/** Deletes what nobody owns any more, in all kinds there are. */

import type { Kind } from '#api/kind.ts'
import { knownKinds } from '#api/known-kinds.gen.ts'
import { isConflict } from '#api/meta/server-response.ts'
import type { KubernetesObject } from '#api/resource.ts'
import { Scheme } from '#api/scheme.ts'
import { preferredResources } from '#client/discovery.ts'
import { EventRecorder } from '#client/events/event-recorder.ts'
import { RecentKeys } from '#client/recent-keys.ts'
import { ServedKinds } from '#client/served-kinds.ts'
import { WorkQueue } from '#client/work-queue/work-queue.ts'
import { type Collector, collect, orphan } from '#controllers/garbage-collector/collect.ts'
import { Graph } from '#controllers/garbage-collector/graph.ts'
import type { Controller, ControllerEnvironment, RunningController } from '#controllers/runtime/environment.ts'
import { ownMetrics } from '#controllers/runtime/own-metrics.ts'

const workers = 20
const rememberedAbsentOwners = 500
/** Kinds may come and go with custom resources. */
const discoveryPeriodMs = 30_000
/** Anybody may name owners of kinds that there are not: all that is served is not asked for more often than this because of them. */
const discoveryPauseMs = 2_000

/** Events are many, short-lived, and own nothing. */
const ignored: ReadonlySet<string> = new Set(['/events', 'events.k8s.io/events'])

/** Its kinds have moved to groups of their own, which serve the same objects: they need not be followed twice. */
const formerGroup = 'extensions'

const declared = ownMetrics((metrics) =>
  metrics.counter('garbagecollector_controller_resources_sync_error_total', 'How often the kinds to collect could not be learned'),
)

export const garbageCollector: Controller = {
  name: 'garbage-collector-controller',
  alias: 'garbagecollector',
  serviceAccount: 'generic-garbage-collector',
  start,
}

async function start(environment: ControllerEnvironment): Promise<RunningController> {
  const { informers, clock, metrics, settings } = environment
  const logger = environment.logger.with({ controller: garbageCollector.name })
  const client = await environment.clientFor(garbageCollector.serviceAccount)
  const events = new EventRecorder({ client, clock, logger, component: 'garbage-collector-controller' })
  const toDelete = new WorkQueue({ clock, observer: metrics.observer('garbage_collector_attempt_to_delete') })
  const toOrphan = new WorkQueue({ clock, observer: metrics.observer('garbage_collector_attempt_to_orphan') })
  metrics.follow('garbage_collector_attempt_to_delete', toDelete, () => clock.monotonic())
  metrics.follow('garbage_collector_attempt_to_orphan', toOrphan, () => clock.monotonic())
  const syncErrors = declared({ metricsRegistry: metrics.metrics })
  // Told from the start, as upstream does.
  syncErrors.inc({}, 0)
  const graph = new Graph({ toDelete: (uid) => toDelete.add(uid), toOrphan: (uid) => toOrphan.add(uid) })
  const monitors = new Map<string, Disposable & { kind: Kind }>()
  const served = new ServedKinds(client)

  const follow = async (): Promise<void> => {
    const before = served.scheme.revision
    await served.refresh()
    if (served.scheme.revision === before) return
    const wanted = new Map<string, Kind>()
    const resources = preferredResources(served.scheme.definitions(), ['list', 'watch', 'delete'])
    const moved = new Set(resources.flatMap(({ group, kind, plural }) => (group === formerGroup ? [] : `${plural} ${kind}`)))
    for (const resource of resources) {
      const { group, kind, plural, version } = resource
      const name = `${group}/${plural}`
      if (ignored.has(name) || (group === formerGroup && moved.has(`${plural} ${kind}`))) continue
      wanted.set(`${name}/${version}`, knownKind(resource))
    }
    for (const [name, monitor] of monitors) {
      if (wanted.has(name)) continue
      monitor[Symbol.dispose]()
      monitors.delete(name)
      // A kind that is no longer served would be asked for forever.
      if (!isBuiltIn(monitor.kind)) informers.drop(monitor.kind)
    }
    for (const [name, kind] of wanted) {
      if (monitors.has(name)) continue
      const observe = (object: KubernetesObject) => graph.observe(kind, object)
      const forget = ({ metadata }: KubernetesObject) => graph.remove(metadata?.uid ?? '')
      const handler = informers.of(kind).addHandler({ onAdd: observe, onUpdate: observe, onDelete: forget })
      monitors.set(name, Object.assign(handler, { kind }))
    }
  }
  await follow()
  let again: { sinceMs: number; done: Promise<void> } | undefined
  const followAgain = (): Promise<void> => {
    if (again === undefined || clock.monotonic() - again.sinceMs >= discoveryPauseMs) again = { sinceMs: clock.monotonic(), done: follow() }
    return again.done
  }

  const collector: Collector = {
    graph,
    client,
    clock,
    events,
    absent: new RecentKeys(rememberedAbsentOwners),
    requeue: (uid) => toDelete.add(uid),
    async resourceOf({ apiVersion, kind }) {
      const found = served.scheme.of({ apiVersion, kind })
      if (found !== undefined) return found
      await followAgain()
      return served.scheme.of({ apiVersion, kind })
    },
  }
  const work = async (queue: WorkQueue, step: (collector: Collector, uid: string) => Promise<void>): Promise<void> => {
    for (let uid = await queue.get(); uid !== undefined; uid = await queue.get()) {
      try {
        await step(collector, uid)
        queue.forget(uid)
      } catch (error) {
        if (!isConflict(error)) logger.warn('failed to garbage collect object', { uid, error: String(error) })
        queue.addRateLimited(uid)
      } finally {
        queue.done(uid)
      }
    }
  }
  const running: Promise<void>[] = []
  const timer = clock.every(discoveryPeriodMs, () => {
    follow().catch((error: unknown) => {
      syncErrors.inc()
      logger.warn('failed to discover resources for garbage collection', { error: String(error) })
    })
  })
  return {
    begin() {
      const count = settings.concurrency[garbageCollector.name] ?? workers
      for (let worker = 0; worker < count; worker++) running.push(work(toDelete, collect), work(toOrphan, orphan))
    },
    get isIdle() {
      return toDelete.isIdle && toOrphan.isIdle
    },
    async stop() {
      timer.cancel()
      for (const monitor of monitors.values()) monitor[Symbol.dispose]()
      toDelete.shutDown()
      toOrphan.shutDown()
      await Promise.all(running)
      await events[Symbol.asyncDispose]()
    },
  }
}

const known = new Scheme(knownKinds)

/** The definition that others use too, so that there is one cache for all. */
function knownKind(resource: Kind): Kind {
  return known.byResource(resource.group, resource.version, resource.plural) ?? resource
}

const isBuiltIn = (kind: Kind): boolean => known.byResource(kind.group, kind.version, kind.plural) === kind
