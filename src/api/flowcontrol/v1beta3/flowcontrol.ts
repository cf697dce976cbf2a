import { flowSchemaResource } from '#api/flowcontrol/v1/flow-schema.ts'
import {
  preserveZeroSharesAnnotation,
  priorityLevelConfigurationResource as priorityLevelConfigurationV1,
} from '#api/flowcontrol/v1/priority-level-configuration.ts'
import type { V1PriorityLevelConfiguration } from '#api/flowcontrol/v1/types.gen.ts'
import type { V1beta3PriorityLevelConfiguration } from '#api/flowcontrol/v1beta3/types.gen.ts'
import { setAnnotation } from '#api/meta/annotations.ts'
import { legacyVersion } from '#api/meta/legacy-version.ts'
import type { ResourceDefinition } from '#api/resource.ts'

const old = { version: 'v1beta3', deprecated: { deprecatedIn: '1.29', removedIn: '1.32' } } as const

/** Zero shares meant that nobody said; who means zero says so in an annotation. */
const priorityLevelConfigurationResource = legacyVersion<V1beta3PriorityLevelConfiguration, V1PriorityLevelConfiguration>(
  priorityLevelConfigurationV1,
  {
    ...old,
    defaults({ metadata, spec }) {
      const meansZero = metadata?.annotations?.[preserveZeroSharesAnnotation] !== undefined
      if (spec?.limited && !spec.limited.nominalConcurrencyShares) spec.limited.nominalConcurrencyShares = meansZero ? 0 : 30
    },
    toStored(level) {
      const { limited } = level.spec ?? {}
      if (limited) limited.nominalConcurrencyShares ??= 0
      if (level.metadata) setAnnotation(level.metadata, preserveZeroSharesAnnotation, undefined)
      return level as V1PriorityLevelConfiguration
    },
    fromStored(level) {
      if (level.spec?.limited?.nominalConcurrencyShares === 0) setAnnotation(level.metadata, preserveZeroSharesAnnotation, '')
      return level as V1beta3PriorityLevelConfiguration
    },
  },
)

export const flowcontrolV1beta3: readonly ResourceDefinition[] = [
  legacyVersion(flowSchemaResource, old),
  priorityLevelConfigurationResource,
]
