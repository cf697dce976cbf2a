/** One plugin, or all of them, asked about a pod: which nodes are feasible, why the others are not, and the scores. */
import type { V1Node, V1Pod } from '#api/core/v1/types.gen.ts'
import { podInfoOf } from '#scheduler/cache/pod-info.ts'
import type { WatchedKind, WatchedObjects } from '#scheduler/cluster-objects.ts'
import type { ConfiguredProfile } from '#scheduler/config/configuration.ts'
import { explain } from '#scheduler/explain.ts'
import { FakeCluster } from '#scheduler/testing/fake-cluster.ts'

export type Case = {
  nodes: V1Node[]
  /** Already placed. */
  pods?: V1Pod[]
  pod: V1Pod
  args?: Record<string, unknown>
  objects?: { [Kind in WatchedKind]?: WatchedObjects[Kind][] }
}

export type Verdict = { feasible: string[]; reasons: Record<string, string>; scores: Record<string, number>; refused: string | undefined }

/** Only this plugin decides, besides those that any profile needs. */
export async function validate(plugin: string, { nodes, pods = [], pod, args, objects = {} }: Case): Promise<Verdict> {
  const profile: ConfiguredProfile = {
    schedulerName: 'default-scheduler',
    plugins: {
      multiPoint: { disabled: [{ name: '*' }], enabled: [{ name: 'PrioritySort' }, { name: 'DefaultBinder' }, { name: plugin }] },
    },
    pluginConfig: args === undefined ? [] : [{ name: plugin, args }],
  }
  await using cluster = new FakeCluster({ configuration: { profiles: [profile] } })
  cluster.put('Node', ...nodes)
  for (const [kind, list] of Object.entries(objects)) for (const object of list) cluster.put(kind as WatchedKind, object)
  cluster.put('Pod', ...pods)
  const { nodes: verdicts, objections } = explain(cluster.scheduler, podInfoOf(pod))
  const verdict: Verdict = { feasible: [], reasons: {}, scores: {}, refused: objections[0]?.reason }
  for (const { node, objections: against, scores } of verdicts) {
    if (against[0] !== undefined) verdict.reasons[node] = against[0].reason
    else {
      verdict.feasible.push(node)
      if (scores[plugin] !== undefined) verdict.scores[node] = scores[plugin]
    }
  }
  verdict.feasible.sort()
  return verdict
}
