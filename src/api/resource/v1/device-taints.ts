/** Rules for taints of devices, and for what tolerates them. */
import type { Check } from '#api/meta/check.ts'
import { labelValue, mustBe, qualifiedName } from '#api/meta/names.ts'
import type { V1DeviceTaint, V1DeviceToleration } from '#api/resource/v1/types.gen.ts'

const effects = ['NoExecute', 'NoSchedule', 'None']

/** An effect that the stored taint already has is not judged again. */
export function validateDeviceTaint(taint: Partial<V1DeviceTaint>, prev: V1DeviceTaint | undefined, check: Check): void {
  const { key = '', value, effect = '' } = taint
  mustBe(qualifiedName, key, check.at('key'))
  if (value) mustBe(labelValue, value, check.at('value'))
  if (prev && prev.effect === effect) return
  if (effect === '') check.at('effect').required()
  else if (!effects.includes(effect)) check.at('effect').notSupported(effect, effects)
}

export function validateDeviceToleration({ key, operator = '', value = '', effect }: V1DeviceToleration, check: Check): void {
  if (key) mustBe(qualifiedName, key, check.at('key'))
  if (operator === 'Exists') {
    if (value !== '') check.at('value').invalid(value, 'must be empty for operator `Exists`')
  } else if (operator === 'Equal') mustBe(labelValue, value, check.at('value'))
  else if (operator === '') check.at('operator').required()
  else check.at('operator').notSupported(operator, ['Equal', 'Exists'])
  if (effect && !effects.includes(effect)) check.at('effect').notSupported(effect, effects)
}

/** The moment a taint without one was added is now. */
export function stampTaints(taints: readonly V1DeviceTaint[] | undefined, now: string): void {
  for (const taint of taints ?? []) taint.timeAdded ??= now
}
