import { flowSchemaResource } from '#api/flowcontrol/v1/flow-schema.ts'
import { priorityLevelConfigurationResource } from '#api/flowcontrol/v1/priority-level-configuration.ts'
import type { V1PriorityLevelConfiguration } from '#api/flowcontrol/v1/types.gen.ts'
import type { V1beta1PriorityLevelConfiguration } from '#api/flowcontrol/v1beta1/types.gen.ts'
import { withAssuredShares } from '#api/flowcontrol/v1beta2/assured-shares.ts'
import { legacyVersion } from '#api/meta/legacy-version.ts'
import type { ResourceDefinition } from '#api/resource.ts'

const old = { version: 'v1beta1', deprecated: { deprecatedIn: '1.23', removedIn: '1.26' } } as const

export const flowcontrolV1beta1: readonly ResourceDefinition[] = [
  legacyVersion(flowSchemaResource, old),
  legacyVersion<V1beta1PriorityLevelConfiguration, V1PriorityLevelConfiguration>(priorityLevelConfigurationResource, {
    ...old,
    ...withAssuredShares,
  }),
]
