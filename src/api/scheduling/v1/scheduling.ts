import type { ResourceDefinition } from '#api/resource.ts'
import { priorityClassResource } from '#api/scheduling/v1/priority-class.ts'

export const schedulingV1: readonly ResourceDefinition[] = [priorityClassResource]
