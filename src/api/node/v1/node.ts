import { runtimeClassResource } from '#api/node/v1/runtime-class.ts'
import type { ResourceDefinition } from '#api/resource.ts'

export const nodeV1: readonly ResourceDefinition[] = [runtimeClassResource]
