import type { ResourceDefinition } from '#api/resource.ts'
import { PriorityClass } from '#api/scheduling/v1/priority-class.ts'

export const schedulingV1: readonly ResourceDefinition[] = [PriorityClass]
