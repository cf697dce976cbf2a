import { yamlText } from '#api/codec/yaml.ts'
import { ConfigMap } from '#api/core/v1/kinds.gen.ts'
import type { V1ConfigMap } from '#api/core/v1/types.gen.ts'
import { isNotFound } from '#api/meta/server-response.ts'
import { formatTime } from '#api/meta/time.ts'
import { trimEndOf } from '#base/trim-end.ts'
import type { Client } from '#client/client.ts'
import type { ClusterState } from '#cluster-autoscaler/state/cluster-state.ts'
import type { Readiness } from '#cluster-autoscaler/state/readiness.ts'

type Condition = { status: string; lastProbeTime: string; lastTransitionTime: string }

/** Errors of providers may be whole pages. */
const longestMessage = 500

/** What users read in `kubectl -n kube-system get configmap cluster-autoscaler-status`: YAML, as upstream writes it since 1.30. */
export class StatusReport {
  /** Since when each condition has its status. */
  readonly #since = new Map<string, { status: string; at: string }>()

  text(state: ClusterState, candidates: ReadonlyMap<string, number>): string {
    const now = formatTime(state.nowMs)
    const condition = (name: string, status: string): Condition => {
      const known = this.#since.get(name)
      const at = known?.status === status ? known.at : now
      this.#since.set(name, { status, at })
      return { status, lastProbeTime: now, lastTransitionTime: at }
    }
    const health = (isHealthy: boolean) => (isHealthy ? 'Healthy' : 'Unhealthy')
    const scaleDown = (name: string, count: number) => ({
      ...condition(name, count > 0 ? 'CandidatesPresent' : 'NoCandidates'),
      ...(count > 0 ? { candidates: count } : {}),
    })
    let isAnyScalingUp = false
    const nodeGroups = [...state.groups].map(({ group, targetSize }) => {
      const { id, minSize, maxSize } = group
      const isHealthy = state.isGroupHealthy(id)
      const backoff = state.backoffOf(id)
      const isScalingUp = state.isScalingUp(id)
      isAnyScalingUp ||= isScalingUp
      const scaleUp = isScalingUp ? 'InProgress' : !isHealthy ? 'Unhealthy' : backoff !== undefined ? 'Backoff' : 'NoActivity'
      const backoffInfo = { errorCode: backoff?.code, errorMessage: backoff?.message.slice(0, longestMessage) }
      return {
        name: id,
        health: {
          ...condition(`${id}/health`, health(isHealthy)),
          ...{ nodeCounts: nodeCounts(state.readiness(id)), cloudProviderTarget: targetSize, minSize, maxSize },
        },
        scaleUp: { ...condition(`${id}/scaleUp`, scaleUp), ...(scaleUp === 'Backoff' ? { backoffInfo } : {}) },
        scaleDown: scaleDown(`${id}/scaleDown`, candidates.get(id) ?? 0),
      }
    })
    let total = 0
    for (const count of candidates.values()) total += count
    const clusterWide = {
      health: { ...condition('/health', health(state.isClusterHealthy())), nodeCounts: nodeCounts(state.total) },
      scaleUp: condition('/scaleUp', isAnyScalingUp ? 'InProgress' : 'NoActivity'),
      scaleDown: scaleDown('/scaleDown', total),
    }
    return yamlText({ time: goTime(state.nowMs), autoscalerStatus: 'Running', clusterWide, nodeGroups })
  }
}

function nodeCounts(readiness: Readiness) {
  const { registered, ready, notStarted, deleted, unready, longUnregistered, unregistered } = readiness
  return {
    registered: {
      ...{ total: registered.length, ready: ready.length, notStarted: notStarted.length, suspended: 0 },
      ...(deleted.length > 0 ? { beingDeleted: deleted.length } : {}),
      unready: { total: unready.length, resourceUnready: 0 },
    },
    longUnregistered: longUnregistered.length,
    unregistered: unregistered.length,
  }
}

const lastUpdated = 'cluster-autoscaler.kubernetes.io/last-updated'

/** As Go prints it: `2026-01-02 15:04:05.678 +0000 UTC`. */
const goTime = (ms: number): string => {
  const text = new Date(ms).toISOString().replace('T', ' ').slice(0, -1)
  return `${trimEndOf(trimEndOf(text, '0'), '.')} +0000 UTC`
}

export type StatusPlace = { namespace: string; name: string }

/** Creates it where it is missing; somebody else's labels and other keys stay. */
export async function writeStatus(client: Client, { namespace, name }: StatusPlace, status: string, nowMs: number): Promise<V1ConfigMap> {
  const annotations = { [lastUpdated]: goTime(nowMs) }
  try {
    return await client.patch(ConfigMap, { namespace, name }, { metadata: { annotations }, data: { status } }, { type: 'merge' })
  } catch (error) {
    if (!isNotFound(error)) throw error
    return await client.create(ConfigMap, { metadata: { namespace, name, annotations }, data: { status } })
  }
}

export const initializingStatus = (nowMs: number): string => yamlText({ time: goTime(nowMs), autoscalerStatus: 'Initializing' })
