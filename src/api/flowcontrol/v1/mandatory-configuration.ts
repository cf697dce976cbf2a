/** The flow schemas and priority levels that every server has, and that always say the same. */
import type { V1FlowSchemaSpec, V1PolicyRulesWithSubjects, V1PriorityLevelConfigurationSpec } from '#api/flowcontrol/v1/types.gen.ts'

function everythingOf(...groups: string[]): V1PolicyRulesWithSubjects {
  return {
    subjects: groups.map((name) => ({ kind: 'Group', group: { name } })),
    resourceRules: [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'], clusterScope: true, namespaces: ['*'] }],
    nonResourceRules: [{ verbs: ['*'], nonResourceURLs: ['*'] }],
  }
}

export const mandatoryFlowSchemas: ReadonlyMap<string, V1FlowSchemaSpec> = new Map([
  ['exempt', { priorityLevelConfiguration: { name: 'exempt' }, matchingPrecedence: 1, rules: [everythingOf('system:masters')] }],
  [
    'catch-all',
    {
      priorityLevelConfiguration: { name: 'catch-all' },
      matchingPrecedence: 10_000,
      distinguisherMethod: { type: 'ByUser' },
      rules: [everythingOf('system:unauthenticated', 'system:authenticated')],
    },
  ],
])

export const mandatoryPriorityLevels: ReadonlyMap<string, V1PriorityLevelConfigurationSpec> = new Map([
  ['exempt', { type: 'Exempt', exempt: { nominalConcurrencyShares: 0, lendablePercent: 0 } }],
  ['catch-all', { type: 'Limited', limited: { nominalConcurrencyShares: 5, limitResponse: { type: 'Reject' }, lendablePercent: 0 } }],
])
