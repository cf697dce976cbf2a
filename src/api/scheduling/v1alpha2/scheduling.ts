import type { ResourceDefinition } from '#api/resource.ts'
import { podGroupResource } from '#api/scheduling/v1alpha2/pod-group.ts'
import { workloadResource } from '#api/scheduling/v1alpha2/workload.ts'

export const schedulingV1alpha2: readonly ResourceDefinition[] = [podGroupResource, workloadResource]
