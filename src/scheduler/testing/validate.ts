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

export type PluginResult = {
  feasible: string[]
  reasons: Record<string, string>
  scores: Record<string, number>
  refused: string | undefined
}

/** Only this plugin decides, besides those that any profile needs. */
export async function validate(plugin: string, { nodes, pods = [], pod, args, objects = {} }: Case): Promise<PluginResult> {
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
  const { nodes: results, objections } = explain(cluster.scheduler, podInfoOf(pod))
  const result: PluginResult = { feasible: [], reasons: {}, scores: {}, refused: objections[0]?.reason }
  for (const { node, objections: against, scores } of results) {
    if (against[0] !== undefined) result.reasons[node] = against[0].reason
    else {
      result.feasible.push(node)
      if (scores[plugin] !== undefined) result.scores[node] = scores[plugin]
    }
  }
  result.feasible.sort()
  return result
}
