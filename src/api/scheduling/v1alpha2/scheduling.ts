import type { ResourceDefinition } from '#api/resource.ts'
import { PodGroup } from '#api/scheduling/v1alpha2/pod-group.ts'
import { Workload } from '#api/scheduling/v1alpha2/workload.ts'

export const schedulingV1alpha2: readonly ResourceDefinition[] = [PodGroup, Workload]
