import { Node } from '#api/core/v1/kinds.gen.ts'
import type { V1Node, V1Taint } from '#api/core/v1/types.gen.ts'
import type { Clock } from '#base/clock.ts'
import type { Client } from '#client/client.ts'
import { retryOnConflict } from '#client/retry.ts'
import { deletionCandidateTaint, toBeDeletedTaint } from '#cluster-autoscaler/snapshot/taints.ts'

type Seams = { client: Client; clock: Clock }

/** Keeps new pods away: the node goes. Its value is the second in which that was decided. */
export function markToBeDeleted(name: string, seams: Seams, cordons: boolean): Promise<void> {
  const taint: V1Taint = { key: toBeDeletedTaint, value: seconds(seams.clock), effect: 'NoSchedule' }
  return changed(name, seams, (node) => {
    const tainted = withTaint(node, taint)
    return cordons && tainted !== undefined ? { ...tainted, spec: { ...tainted.spec, unschedulable: true } } : tainted
  })
}

/** New pods go elsewhere where they can: the node may be gone soon. */
export function markDeletionCandidate(name: string, seams: Seams): Promise<void> {
  return changed(name, seams, (node) =>
    withTaint(node, { key: deletionCandidateTaint, value: seconds(seams.clock), effect: 'PreferNoSchedule' }),
  )
}

export function removeTaint(name: string, key: string, seams: Seams, uncordons = false): Promise<void> {
  return changed(name, seams, (node) => {
    const taints = node.spec?.taints ?? []
    const left = taints.filter((taint) => taint.key !== key)
    if (left.length === taints.length) return undefined
    const { taints: _, unschedulable, ...spec } = node.spec ?? {}
    const kept = uncordons || unschedulable === undefined ? {} : { unschedulable }
    return { ...node, spec: { ...spec, ...kept, ...(left.length > 0 ? { taints: left } : {}) } }
  })
}

const seconds = (clock: Clock): string => String(Math.floor(clock.now() / 1000))

function withTaint(node: V1Node, taint: V1Taint): V1Node | undefined {
  const taints = node.spec?.taints ?? []
  if (taints.some(({ key }) => key === taint.key)) return undefined
  return { ...node, spec: { ...node.spec, taints: [...taints, taint] } }
}

/** Of the node as it is now, since the kubelet and others write to it all the time. */
async function changed(name: string, { client, clock }: Seams, change: (node: V1Node) => V1Node | undefined): Promise<void> {
  await retryOnConflict(clock, async () => {
    const next = change(await client.get(Node, '', name))
    if (next !== undefined) await client.update(Node, next)
  })
}
