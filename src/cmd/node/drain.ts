/** Moves the pods of a node elsewhere, as `kubectl drain` does: no new ones, and those that are there are evicted. */

import { Node, Pod } from '#api/core/v1/kinds.gen.ts'
import { isPodFinished } from '#api/core/v1/pod/pod-state.ts'
import type { V1Pod } from '#api/core/v1/types.gen.ts'
import { controllerOf } from '#api/meta/owner-references.ts'
import { isReason } from '#api/meta/server-response.ts'
import type { Clock } from '#base/clock.ts'
import type { Client } from '#client/client.ts'

export type DrainOptions = {
  clock: Clock
  /** 0: for ever. */
  timeoutMs: number
  /** Deletes pods that nobody would make anew. */
  force: boolean
  print(line: string): void
}

const retryMs = 1000

export async function drain(client: Client, node: string, { clock, timeoutMs, force, print }: DrainOptions): Promise<void> {
  await client.patch(Node, { name: node }, { spec: { unschedulable: true } }, { type: 'merge' })
  const untilMs = timeoutMs === 0 ? Number.POSITIVE_INFINITY : clock.monotonic() + timeoutMs
  const first = await podsToMove(client, node)
  const lonely = first.filter((pod) => controllerOf(pod) === undefined)
  if (lonely.length > 0 && !force) {
    const names = lonely.map(({ metadata }) => `${metadata.namespace}/${metadata.name}`).join(', ')
    throw new Error(`nobody would make these pods anew: ${names}; --force deletes them`)
  }
  for (const { metadata } of first) print(`Evicting pod ${metadata.namespace}/${metadata.name}`)
  for (let left = first; left.length > 0; left = await podsToMove(client, node)) {
    if (clock.monotonic() > untilMs) {
      throw new Error(`${left.length} pods have not left node ${node} in time: ${left.map(({ metadata }) => metadata.name).join(', ')}`)
    }
    await Promise.all(left.filter(({ metadata }) => metadata.deletionTimestamp === undefined).map((pod) => evict(client, pod)))
    await clock.sleep(retryMs)
  }
}

/** Those of daemon sets are made for the node, and mirrors cannot be moved. */
async function podsToMove(client: Client, node: string): Promise<V1Pod[]> {
  const { items } = await client.list(Pod, { fieldSelector: `spec.nodeName=${node}` })
  return items.filter((pod) => {
    const isOfDaemonSet = controllerOf(pod)?.kind === 'DaemonSet'
    const isMirror = pod.metadata.annotations?.['kubernetes.io/config.mirror'] !== undefined
    return !isMirror && (isPodFinished(pod) || !isOfDaemonSet)
  })
}

/** A budget that allows none now may allow one later. */
async function evict(client: Client, { metadata: { namespace = '', name = '' } }: V1Pod): Promise<void> {
  const eviction = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { namespace, name } }
  try {
    await client.subresource('POST', Pod, { namespace, name }, 'eviction', eviction)
  } catch (error) {
    if (!isReason(error, 'NotFound') && !isReason(error, 'TooManyRequests')) throw error
  }
}
