import { equalityOf } from '#api/meta/equality.ts'
import { aggregatedRules } from '#api/rbac/v1/aggregated-rules.ts'
import { ClusterRole } from '#api/rbac/v1/kinds.gen.ts'
import { defineController } from '#controllers/runtime/define-controller.ts'
import { on } from '#controllers/runtime/triggers.ts'

const sameRules = equalityOf(ClusterRole).at('rules')

/** Fills cluster roles that gather rules from others. */
export const clusterRoleAggregationController = defineController({
  name: 'clusterrole-aggregation-controller',
  alias: 'clusterrole-aggregation',
  queueName: 'ClusterRoleAggregator',
  serviceAccount: 'clusterrole-aggregation-controller',
  for: ClusterRole,
  ignores: ({ aggregationRule }) => aggregationRule === undefined,
  watches: [
    on(ClusterRole, function* (_role, cache) {
      for (const { aggregationRule, metadata } of cache.list(ClusterRole)) if (aggregationRule !== undefined) yield metadata.name ?? ''
    }),
  ],

  async reconcile(role, { cache, client }) {
    const rules = aggregatedRules(role, cache.list(ClusterRole))
    if (rules === undefined || sameRules(rules, role.rules ?? [])) return
    await client.apply(ClusterRole, { metadata: { name: role.metadata.name ?? '' }, rules } as typeof role, {
      fieldManager: 'clusterrole-aggregation-controller',
      force: true,
    })
  },
})
