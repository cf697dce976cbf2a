/** Rules for taints of devices, and for what tolerates them. */
import type { Check } from '#api/meta/check.ts'
import { labelValue, mustBe, qualifiedName } from '#api/meta/names.ts'
import type { V1DeviceTaint, V1DeviceToleration } from '#api/resource/v1/types.gen.ts'

const effects = ['NoExecute', 'NoSchedule', 'None']

/** An effect that the stored taint already has is not validated again. */
export function validateDeviceTaint(check: Check<Partial<V1DeviceTaint>>, prev: V1DeviceTaint | undefined): void {
  const taint = check.value
  const { value, effect = '' } = taint
  mustBe(qualifiedName, check.at('key').or(''))
  if (value) mustBe(labelValue, check.at('value').present)
  if (prev && prev.effect === effect) return
  if (effect === '') check.at('effect').required()
  else if (!effects.includes(effect)) check.at('effect').or('').notSupported(effects)
}

export function validateDeviceToleration(check: Check<V1DeviceToleration>): void {
  const { key, operator = '', value = '', effect } = check.value
  if (key) mustBe(qualifiedName, check.at('key').present)
  if (operator === 'Exists') {
    if (value !== '') check.at('value').or('').invalid('must be empty for operator `Exists`')
  } else if (operator === 'Equal') mustBe(labelValue, check.at('value').or(''))
  else if (operator === '') check.at('operator').required()
  else check.at('operator').or('').notSupported(['Equal', 'Exists'])
  if (effect && !effects.includes(effect)) check.at('effect').notSupported(effects)
}

/** The moment a taint without one was added is now. */
export function stampTaints(taints: readonly V1DeviceTaint[] | undefined, now: string): void {
  for (const taint of taints ?? []) taint.timeAdded ??= now
}
