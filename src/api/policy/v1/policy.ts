import { podDisruptionBudgetResource } from '#api/policy/v1/pod-disruption-budget.ts'
import type { ResourceDefinition } from '#api/resource.ts'

export const policyV1: readonly ResourceDefinition[] = [podDisruptionBudgetResource]
