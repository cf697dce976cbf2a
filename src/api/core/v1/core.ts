import { Pod } from '#api/core/v1/pod/pod.ts'
import type { ResourceDefinition } from '#api/resource.ts'

export const coreV1: readonly ResourceDefinition[] = [Pod]
