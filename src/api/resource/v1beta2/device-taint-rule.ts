import type { Check } from '#api/meta/check.ts'
import { ageColumn, nameColumn } from '#api/meta/columns.ts'
import { validateConditions } from '#api/meta/conditions.ts'
import { ageOf } from '#api/meta/human-duration.ts'
import { dns1123Label, mustBe } from '#api/meta/names.ts'
import { validateDriverName, validatePoolName } from '#api/resource/v1/device-names.ts'
import { stampTaints, validateDeviceTaint } from '#api/resource/v1/device-taints.ts'
import { DeviceTaintRule } from '#api/resource/v1beta2/kinds.gen.ts'
import type { V1beta2DeviceTaint, V1beta2DeviceTaintRuleSpec } from '#api/resource/v1beta2/types.gen.ts'
import { defineResource } from '#api/resource.ts'

const maxConditions = 8

export const deviceTaintRuleResource = defineResource(DeviceTaintRule, {
  featureGate: 'DRADeviceTaintRules',
  allowUnconditionalUpdate: true,
  defaultPropagation: 'Background',
  returnsDeletedObject: true,

  defaults(rule) {
    rule.spec ??= {} as V1beta2DeviceTaintRuleSpec
    rule.spec.taint ??= {} as V1beta2DeviceTaint
  },
  prepareForCreate(rule, { now }) {
    stampTaints([rule.spec.taint], now)
  },
  validate: (_object, check) => validateSpec(check.at('spec'), undefined),

  generation: 'spec',
  prepareForUpdate(next, prev, { now }) {
    const { taint } = next.spec
    // Tolerations count from the moment of the effect they tolerate.
    if (taint.effect !== prev.spec.taint.effect && taint.timeAdded === prev.spec.taint.timeAdded) taint.timeAdded = now
    stampTaints([taint], now)
  },
  validateUpdate: (_next, prev, check) => validateSpec(check.at('spec'), prev.spec),

  subresources: {
    status: {
      keepsMetadata: 'all',
      validateUpdate({ status }, _prev, check) {
        const conditions = status?.conditions ?? []
        validateConditions(check.at('status').at('conditions').or([]))
        if (conditions.length > maxConditions) check.at('status').at('conditions').tooMany(conditions.length, maxConditions)
      },
    },
  },

  columns: [
    nameColumn,
    { name: 'Key', type: 'string', description: { field: 'DeviceTaint.key' }, cell: ({ spec }) => spec.taint.key },
    { name: 'Value', type: 'string', description: { field: 'DeviceTaint.value' }, cell: ({ spec }) => spec.taint.value ?? '' },
    { name: 'Effect', type: 'string', description: { field: 'DeviceTaint.effect' }, cell: ({ spec }) => spec.taint.effect },
    {
      name: 'TimeAdded',
      type: 'string',
      description: { field: 'DeviceTaint.timeAdded' },
      cell: ({ spec }, { nowMs }) => (spec.taint.timeAdded ? ageOf(spec.taint.timeAdded, nowMs) : ''),
    },
    ageColumn,
  ],
})

function validateSpec(check: Check<V1beta2DeviceTaintRuleSpec>, prev: V1beta2DeviceTaintRuleSpec | undefined): void {
  const { deviceSelector } = check.value
  const { driver, pool, device } = deviceSelector ?? {}
  if (driver !== undefined) validateDriverName(driver, check.at('deviceSelector').at('driver'))
  if (pool !== undefined) validatePoolName(check.at('deviceSelector').at('pool').with(pool))
  if (device !== undefined) mustBe(dns1123Label, check.at('deviceSelector').at('device').with(device))
  validateDeviceTaint(check.at('taint'), prev?.taint)
}
