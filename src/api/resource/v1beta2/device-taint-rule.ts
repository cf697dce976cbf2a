import type { Check } from '#api/meta/check.ts'
import { ageColumn, nameColumn } from '#api/meta/columns.ts'
import { validateConditions } from '#api/meta/conditions.ts'
import { ageOf } from '#api/meta/human-duration.ts'
import { dns1123Label, mustBe } from '#api/meta/names.ts'
import { putBack } from '#api/meta/put-back.ts'
import { resetObjectMetaForStatus } from '#api/meta/reset-object-meta-for-status.ts'
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
  resetFields: ['status'],

  defaults(rule) {
    rule.spec ??= {} as V1beta2DeviceTaintRuleSpec
    rule.spec.taint ??= {} as V1beta2DeviceTaint
  },
  prepareForCreate(rule, { now }) {
    delete rule.status
    stampTaints([rule.spec.taint], now)
  },
  validate: ({ spec }, check) => validateSpec(spec, undefined, check.at('spec')),

  generation: 'spec',
  prepareForUpdate(next, prev, { now }) {
    putBack(next, prev, 'status')
    const { taint } = next.spec
    // Tolerations count from the moment of the effect they tolerate.
    if (taint.effect !== prev.spec.taint.effect && taint.timeAdded === prev.spec.taint.timeAdded) taint.timeAdded = now
    stampTaints([taint], now)
  },
  validateUpdate: (next, prev, check) => validateSpec(next.spec, prev.spec, check.at('spec')),

  subresources: {
    status: {
      resetFields: ['metadata', 'spec'],
      prepareForUpdate(next, prev) {
        putBack(next, prev, 'spec')
        resetObjectMetaForStatus(next.metadata, prev.metadata)
      },
      validateUpdate({ status }, _prev, check) {
        const conditions = status?.conditions ?? []
        validateConditions(conditions, check.at('status.conditions'))
        if (conditions.length > maxConditions) check.at('status.conditions').tooMany(conditions.length, maxConditions)
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

function validateSpec(
  { deviceSelector, taint }: V1beta2DeviceTaintRuleSpec,
  prev: V1beta2DeviceTaintRuleSpec | undefined,
  check: Check,
): void {
  const { driver, pool, device } = deviceSelector ?? {}
  if (driver !== undefined) validateDriverName(driver, check.at('deviceSelector.driver'))
  if (pool !== undefined) validatePoolName(pool, check.at('deviceSelector.pool'))
  if (device !== undefined) mustBe(dns1123Label, device, check.at('deviceSelector.device'))
  validateDeviceTaint(taint, prev?.taint, check.at('taint'))
}
