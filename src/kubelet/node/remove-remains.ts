import type { V1Pod } from '#api/core/v1/types.gen.ts'
import type { PodCgroups } from '#kubelet/cgroups/pod-cgroups.ts'
import type { NodeRuntimeHelper } from '#kubelet/runtime-helper/node-runtime-helper.ts'
import type { Runtime } from '#kubelet/runtimes/runtime.ts'

export type RemainsOptions = {
  runtime: Pick<Runtime, 'podUids'>
  runtimeHelper: Pick<NodeRuntimeHelper, 'resume'>
  cgroups: Pick<PodCgroups, 'removeOrphans'> | undefined
  /** The API's pods of this node. */
  bound(): readonly V1Pod[]
  /** Those that the agent looks after, wherever they come from. */
  present(): readonly V1Pod[]
}

/** Takes up the volumes of the node's pods, and removes what is left of pods that are no more. */
export async function removeRemains({ runtime, runtimeHelper, cgroups, bound, present }: RemainsOptions): Promise<void> {
  const uidsOf = (pods: readonly V1Pod[]) => pods.map(({ metadata }) => metadata.uid ?? '')
  const others = [...(await runtime.podUids()), ...uidsOf(present())]
  const pods = bound()
  await runtimeHelper.resume(pods, others)
  const known = new Set([...others, ...uidsOf(pods)])
  await cgroups?.removeOrphans((uid) => known.has(uid))
}
