import { flowSchemaResource } from '#api/flowcontrol/v1/flow-schema.ts'
import { priorityLevelConfigurationResource } from '#api/flowcontrol/v1/priority-level-configuration.ts'
import type { ResourceDefinition } from '#api/resource.ts'

export const flowcontrolV1: readonly ResourceDefinition[] = [flowSchemaResource, priorityLevelConfigurationResource]
