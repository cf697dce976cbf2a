/** Which taints a node's state calls for. */

import { Node } from '#api/core/v1/kinds.gen.ts'
import type { V1Node, V1Taint } from '#api/core/v1/types.gen.ts'
import { findCondition } from '#api/meta/find-condition.ts'
import { formatTime } from '#api/meta/time.ts'
import type { Clock } from '#base/clock.ts'
import type { Client } from '#client/client.ts'
import { retryOnConflict } from '#client/retry.ts'

const notReadyTaint = 'node.kubernetes.io/not-ready'
const unreachableTaint = 'node.kubernetes.io/unreachable'

export const readyStatus = ({ status }: V1Node): string => findCondition(status?.conditions, 'Ready')?.status ?? ''

/** Condition, status of it, and the taint that follows from it. */
const bySign: readonly [condition: string, status: string, key: string][] = [
  ['Ready', 'False', notReadyTaint],
  ['Ready', 'Unknown', unreachableTaint],
  ['MemoryPressure', 'True', 'node.kubernetes.io/memory-pressure'],
  ['DiskPressure', 'True', 'node.kubernetes.io/disk-pressure'],
  ['NetworkUnavailable', 'True', 'node.kubernetes.io/network-unavailable'],
  ['PIDPressure', 'True', 'node.kubernetes.io/pid-pressure'],
]
const unschedulableTaint = 'node.kubernetes.io/unschedulable'
const noScheduleKeys: ReadonlySet<string> = new Set([...bySign.map(([, , key]) => key), unschedulableTaint])

/** Keep new pods away. */
export function wantedNoScheduleKeys({ status, spec }: V1Node): Set<string> {
  const keys = new Set<string>()
  for (const [type, value, key] of bySign) if (findCondition(status?.conditions, type)?.status === value) keys.add(key)
  if (spec?.unschedulable) keys.add(unschedulableTaint)
  return keys
}

/** Drive pods away. */
export function wantedNoExecuteKey(node: V1Node): string | undefined {
  const ready = readyStatus(node)
  return ready === 'False' ? notReadyTaint : ready === 'Unknown' ? unreachableTaint : undefined
}

const isOurs = ({ key, effect }: V1Taint): boolean =>
  (effect === 'NoSchedule' && noScheduleKeys.has(key)) || (effect === 'NoExecute' && (key === notReadyTaint || key === unreachableTaint))

export type WantedTaints = { noSchedule: ReadonlySet<string>; noExecute: string | undefined }

export function presentNoExecuteKeys({ spec }: V1Node): string[] {
  return (spec?.taints ?? []).filter((taint) => taint.effect === 'NoExecute' && isOurs(taint)).map(({ key }) => key)
}

export function hasTaints(node: V1Node, { noSchedule, noExecute }: WantedTaints): boolean {
  const ours = (node.spec?.taints ?? []).filter(isOurs)
  const schedule = ours.filter(({ effect }) => effect === 'NoSchedule')
  const execute = presentNoExecuteKeys(node)
  return (
    schedule.length === noSchedule.size &&
    schedule.every(({ key }) => noSchedule.has(key)) &&
    execute.length === (noExecute === undefined ? 0 : 1) &&
    (noExecute === undefined || execute[0] === noExecute)
  )
}

/** Leaves the taints of others alone, and those that stay with the time they were added. */
export async function writeTaints(client: Client, clock: Clock, name: string, wanted: (node: V1Node) => WantedTaints): Promise<void> {
  await retryOnConflict(clock, async () => {
    const node = await client.get(Node, '', name)
    const { noSchedule, noExecute } = wanted(node)
    if (hasTaints(node, { noSchedule, noExecute })) return
    const now = formatTime(clock.now())
    const before = node.spec?.taints ?? []
    const keep = (key: string, effect: string): V1Taint =>
      before.find((taint) => taint.key === key && taint.effect === effect) ?? { key, effect, timeAdded: now }
    const taints = [
      ...before.filter((taint) => !isOurs(taint)),
      ...[...noSchedule].map((key) => keep(key, 'NoSchedule')),
      ...(noExecute === undefined ? [] : [keep(noExecute, 'NoExecute')]),
    ]
    await client.update(Node, { ...node, spec: { ...node.spec, taints } })
  })
}
