/** A cluster autoscaler at work against an API server: informers in front of it, writes behind it. */
import { DaemonSet } from '#api/apps/v1/kinds.gen.ts'
import type { V1DaemonSet } from '#api/apps/v1/types.gen.ts'
import { Job } from '#api/batch/v1/kinds.gen.ts'
import type { V1Job } from '#api/batch/v1/types.gen.ts'
import type { Clock } from '#base/clock.ts'
import type { Logger } from '#base/log.ts'
import { Metrics } from '#base/metrics.ts'
import type { Random } from '#base/random.ts'
import type { Client } from '#client/client.ts'
import { EventRecorder } from '#client/events/event-recorder.ts'
import { Informer } from '#client/informer/informer.ts'
import { ClusterAutoscaler } from '#cluster-autoscaler/cluster-autoscaler.ts'
import { autoscalerMetrics } from '#cluster-autoscaler/metrics.ts'
import type { AutoscalerOptions } from '#cluster-autoscaler/options.ts'
import type { NodeGroupProvider } from '#cluster-autoscaler/provider/node-group.ts'
import type { OwnerReplicas } from '#cluster-autoscaler/scale-down/pods-to-move.ts'
import { ClusterSnapshot } from '#cluster-autoscaler/snapshot/cluster-snapshot.ts'
import type { SchedulerConfiguration } from '#scheduler/config/configuration.ts'
import { InformerFeed } from '#scheduler/informer-feed.ts'

export type RunClusterAutoscalerOptions = {
  client: Client
  clock: Clock
  random: Random
  logger: Logger
  provider: NodeGroupProvider
  options: AutoscalerOptions
  metrics?: Metrics
  /** Of the scheduler that places the pods. */
  schedulerConfiguration?: SchedulerConfiguration
}

export type RunningClusterAutoscaler = {
  /** Follows the cluster; resolves when it is known, rejects when the signal aborts first. */
  follow(signal?: AbortSignal): Promise<void>
  /** Scales until the signal aborts; resolves when nothing is under way any more. */
  lead(signal: AbortSignal): Promise<void>
  stop(): Promise<void>
}

/** Following and leading are apart, so that one that waits to lead can begin at once. */
export function openClusterAutoscaler(given: RunClusterAutoscalerOptions): RunningClusterAutoscaler {
  const { client, clock, random, logger, metrics = new Metrics(), schedulerConfiguration } = given
  const snapshot = new ClusterSnapshot({ clock, random, ...(schedulerConfiguration ? { configuration: schedulerConfiguration } : {}) })
  const feed = new InformerFeed(snapshot, { client, clock, random, logger })
  const daemonSets = new Informer<V1DaemonSet>({ client, clock, random, logger, kind: DaemonSet, forgetsManagers: true })
  const jobs = new Informer<V1Job>({ client, clock, random, logger, kind: Job, forgetsManagers: true })
  const events = new EventRecorder({ client, clock, logger, component: 'cluster-autoscaler' })
  const counted = autoscalerMetrics(metrics)
  const replicasOf: OwnerReplicas = (kind, apiVersion, namespace, name) => {
    if (kind === 'ReplicationController') return snapshot.object('ReplicationController', namespace, name)?.spec?.replicas
    if (kind === 'ReplicaSet') return snapshot.object('ReplicaSet', namespace, name)?.spec?.replicas
    if (kind === 'Job') return jobs.get(namespace, name) === undefined ? undefined : 1
    if (kind === 'StatefulSet' && apiVersion.startsWith('apps/')) return snapshot.object('StatefulSet', namespace, name) && 1
    if (kind === 'DaemonSet' && apiVersion.startsWith('apps/')) return daemonSets.get(namespace, name) && 1
    return 'unknown'
  }
  return {
    async follow(signal) {
      daemonSets.start()
      jobs.start()
      await Promise.all([feed.start(signal), daemonSets.synced, jobs.synced])
    },
    async lead(signal) {
      const parts = { ...given, snapshot, events, metrics: counted, replicasOf, daemonSets: () => daemonSets.list() }
      await new ClusterAutoscaler(parts).run(signal)
    },
    async stop() {
      feed[Symbol.dispose]()
      daemonSets.stop()
      jobs.stop()
      snapshot.close()
      await events[Symbol.asyncDispose]()
    },
  }
}
