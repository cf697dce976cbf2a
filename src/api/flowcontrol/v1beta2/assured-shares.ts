/** Of v1beta1 and v1beta2: the shares of a limited level had another name, and zero meant that nobody said. */
import type { V1PriorityLevelConfiguration } from '#api/flowcontrol/v1/types.gen.ts'
import type { V1beta2PriorityLevelConfiguration } from '#api/flowcontrol/v1beta2/types.gen.ts'

export const withAssuredShares = {
  defaults({ spec }: V1beta2PriorityLevelConfiguration) {
    if (spec?.limited) spec.limited.assuredConcurrencyShares ||= 30
  },
  toStored(level: V1beta2PriorityLevelConfiguration): V1PriorityLevelConfiguration {
    if (!level.spec?.limited) return level as V1PriorityLevelConfiguration
    const { assuredConcurrencyShares: nominalConcurrencyShares = 0, ...limited } = level.spec.limited
    return { ...level, spec: { ...level.spec, limited: { ...limited, nominalConcurrencyShares } } }
  },
  fromStored(level: V1PriorityLevelConfiguration): V1beta2PriorityLevelConfiguration {
    if (!level.spec?.limited) return level as V1beta2PriorityLevelConfiguration
    const { nominalConcurrencyShares: assuredConcurrencyShares = 0, ...limited } = level.spec.limited
    return { ...level, spec: { ...level.spec, limited: { ...limited, assuredConcurrencyShares } } } as V1beta2PriorityLevelConfiguration
  },
}
