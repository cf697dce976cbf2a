import { Deployment, ReplicaSet } from '#api/apps/v1/kinds.gen.ts'
import { Pod } from '#api/core/v1/kinds.gen.ts'
import { controllerOf } from '#api/meta/owner-references.ts'
import { cachedSelector } from '#api/meta/selector.ts'
import { desiredBeforeScale, rollbackAnnotation } from '#controllers/deployment/revisions.ts'
import { rollBack } from '#controllers/deployment/roll-back.ts'
import { Rollout } from '#controllers/deployment/rollout.ts'
import { desiredTotal, isActiveSet, maxUnavailable, newSetSize, replicasOf } from '#controllers/deployment/sizes.ts'
import { isComplete } from '#controllers/deployment/status.ts'
import { defineController } from '#controllers/runtime/define-controller.ts'
import { on } from '#controllers/runtime/triggers.ts'
import { claimChildren, possibleOwners } from '#controllers/workload/claim-children.ts'
import { byAge, isDeleting } from '#controllers/workload/pods.ts'

/** Moves pods from one template to the next through replica sets, one for each template. */
export const deploymentController = defineController({
  name: 'deployment-controller',
  alias: 'deployment',
  serviceAccount: 'deployment-controller',
  for: Deployment,
  owns: [ReplicaSet],
  batchMs: 50,
  watches: [
    on(ReplicaSet, (set, cache) =>
      possibleOwners(cache, Deployment, set, ({ spec }, labels) => spec !== undefined && cachedSelector(spec.selector).matches(labels)),
    ),
    // A deployment that recreates waits for the last old pod to be gone.
    on(Pod, (pod, cache, { isGone }) => {
      if (!isGone) return []
      const { namespace = '' } = pod.metadata
      const set = cache.get(ReplicaSet, namespace, controllerOf(pod)?.name ?? '')
      const owner = set && controllerOf(set)
      const deployment = owner && cache.get(Deployment, namespace, owner.name)
      return deployment?.spec?.strategy?.type === 'Recreate' ? [`${namespace}/${owner?.name}`] : []
    }),
  ],

  async reconcile(deployment, context) {
    const { spec } = deployment
    if (spec === undefined) return
    if (Object.keys(spec.selector.matchLabels ?? {}).length === 0 && (spec.selector.matchExpressions ?? []).length === 0) {
      context.events.warning(
        Deployment,
        deployment,
        'SelectingAll',
        'This deployment is selecting all pods. A non-empty selector is required.',
      )
      return
    }
    const sets = await claimChildren(context, {
      ownerKind: Deployment,
      owner: deployment,
      childKind: ReplicaSet,
      selector: cachedSelector(spec.selector),
    })
    const rollout = new Rollout(deployment, sets, context)
    if (isDeleting(deployment)) {
      await rollout.syncNewSet({ creates: false })
      await rollout.writeCounts()
      return
    }
    await rollout.notePause()
    const goesBack = deployment.metadata.annotations?.[rollbackAnnotation] !== undefined
    if (spec.paused) return resize(rollout, { cleansUp: !goesBack })
    if (goesBack) return rollBack(rollout, context)
    const wasScaled = rollout.all
      .filter(isActiveSet)
      .some((set) => (desiredBeforeScale(set) ?? replicasOf(deployment)) !== replicasOf(deployment))
    if (wasScaled) return resize(rollout, { cleansUp: false })
    return spec.strategy?.type === 'Recreate' ? recreate(rollout) : roll(rollout)
  },
})

async function resize(rollout: Rollout, { cleansUp }: { cleansUp: boolean }): Promise<void> {
  await rollout.syncNewSet({ creates: false })
  await rollout.scaleAll()
  if (cleansUp) await rollout.cleanUp()
  await rollout.writeCounts()
}

/** One step up, or one step down; the change that follows from it brings the next. */
async function roll(rollout: Rollout): Promise<void> {
  await rollout.syncNewSet({ creates: true })
  if (!(await scaledUp(rollout)) && !(await scaledDown(rollout))) await finish(rollout)
  await rollout.writeRolloutStatus()
}

async function scaledUp(rollout: Rollout): Promise<boolean> {
  const { deployment, newSet, all } = rollout
  if (newSet === undefined || replicasOf(newSet) === replicasOf(deployment)) return false
  const size = replicasOf(newSet) > replicasOf(deployment) ? replicasOf(deployment) : newSetSize(deployment, all, newSet)
  return rollout.scale(newSet, size)
}

async function scaledDown(rollout: Rollout): Promise<boolean> {
  const { deployment, newSet } = rollout
  if (newSet === undefined || desiredTotal(rollout.oldSets) === 0) return false
  const minAvailable = replicasOf(deployment) - maxUnavailable(deployment)
  const newUnavailable = replicasOf(newSet) - (newSet.status?.availableReplicas ?? 0)
  // Pods of the new set that do not work yet must not make us lose more of the old ones.
  const mayGo = desiredTotal(rollout.all) - minAvailable - newUnavailable
  if (mayGo <= 0) return false
  let gone = 0
  // Those that do not work go first: nobody misses them, and they might block the roll.
  for (const set of rollout.oldSets.filter(isActiveSet).sort(byAge)) {
    const broken = replicasOf(set) - (set.status?.availableReplicas ?? 0)
    const count = Math.min(mayGo - gone, broken)
    if (count <= 0) continue
    await rollout.scale(set, replicasOf(set) - count)
    gone += count
  }
  // A set that was just scaled down may not have counted again: it has no more pods than it may have.
  const available = rollout.all.reduce((sum, set) => sum + Math.min(replicasOf(set), set.status?.availableReplicas ?? 0), 0)
  let spare = available - minAvailable
  for (const set of rollout.oldSets.filter(isActiveSet).sort(byAge)) {
    if (spare <= 0) break
    const count = Math.min(replicasOf(set), spare)
    await rollout.scale(set, replicasOf(set) - count)
    spare -= count
    gone += count
  }
  return gone > 0
}

async function recreate(rollout: Rollout): Promise<void> {
  await rollout.syncNewSet({ creates: false })
  let isScaled = false
  for (const set of rollout.oldSets.filter(isActiveSet)) isScaled = (await rollout.scale(set, 0)) || isScaled
  if (isScaled || rollout.hasOldPods()) return rollout.writeRolloutStatus()
  if (rollout.newSet === undefined) await rollout.syncNewSet({ creates: true })
  if (rollout.newSet !== undefined) await rollout.scale(rollout.newSet, replicasOf(rollout.deployment))
  await finish(rollout)
  await rollout.writeRolloutStatus()
}

async function finish(rollout: Rollout): Promise<void> {
  if (isComplete(rollout.deployment, rollout.deployment.status ?? {})) await rollout.cleanUp()
}
