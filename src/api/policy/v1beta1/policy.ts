import { podDisruptionBudgetResource } from '#api/policy/v1beta1/pod-disruption-budget.ts'
import { podSecurityPolicyResource } from '#api/policy/v1beta1/pod-security-policy.ts'
import type { ResourceDefinition } from '#api/resource.ts'

export const policyV1beta1: readonly ResourceDefinition[] = [podDisruptionBudgetResource, podSecurityPolicyResource]
