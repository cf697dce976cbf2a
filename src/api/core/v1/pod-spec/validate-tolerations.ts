/** Judges tolerations and the effects of taints. */
import type { PodValidationOptions } from '#api/core/v1/pod-spec/validation-options.ts'
import type { V1Toleration } from '#api/core/v1/types.gen.ts'
import { type Check, quoted } from '#api/meta/check.ts'
import { decimalInteger } from '#api/meta/formats.ts'
import { labelValue, qualifiedName } from '#api/meta/names.ts'

const effects = ['NoSchedule', 'PreferNoSchedule', 'NoExecute']

/** `check` stands at the effect. */
export function validateTaintEffect(effect: string, check: Check): void {
  if (!effects.includes(effect)) check.notSupported(effect, effects)
}

/** `check` stands at the list. */
export function validateTolerations(tolerations: readonly V1Toleration[], check: Check, options: PodValidationOptions): void {
  for (let index = 0; index < tolerations.length; index++) {
    validateToleration(tolerations[index] as V1Toleration, check.at(index), options)
  }
}

function validateToleration(toleration: V1Toleration, check: Check, options: PodValidationOptions): void {
  const { key = '', operator = '', value = '', effect = '', tolerationSeconds } = toleration
  if (key !== '') for (const message of qualifiedName(key)) check.at('key').invalid(key, message)
  else if (operator !== 'Exists') {
    check.at('operator').invalid(operator, 'operator must be Exists when `key` is empty, which means "match all values and all keys"')
  }
  if (tolerationSeconds !== undefined && effect !== 'NoExecute') {
    check.at('effect').invalid(effect, "effect must be 'NoExecute' when `tolerationSeconds` is set")
  }
  switch (operator) {
    case 'Equal':
    case '': {
      const messages = labelValue(value)
      if (messages.length > 0) check.at('operator').invalid(value, messages.join(';'))
      break
    }
    case 'Exists':
      if (value !== '') check.at('operator').invalid(value, "value must be empty when `operator` is 'Exists'")
      break
    case 'Lt':
    case 'Gt':
      if (options.allowComparingTolerations) validateNumber(value, check.at('value'))
      else check.at('operator').notSupported(operator, ['Equal', 'Exists', 'Lt', 'Gt'])
      break
    default:
      check.at('operator').notSupported(operator, ['Equal', 'Exists'])
  }
  if (effect !== '') validateTaintEffect(effect, check.at('effect'))
}

const largestInt64 = 2n ** 63n - 1n

/** Canonical, and no larger than Go's int64. */
function validateNumber(value: string, check: Check): void {
  for (const message of decimalInteger(value)) check.invalid(value, message)
  if (!/^[+-]?[0-9]+$/.test(value)) check.invalid(value, `strconv.ParseInt: parsing ${quoted(value)}: invalid syntax`)
  else {
    const number = BigInt(value.replace(/^\+/, ''))
    if (number > largestInt64 || number < -largestInt64 - 1n) {
      check.invalid(value, `strconv.ParseInt: parsing ${quoted(value)}: value out of range`)
    }
  }
}
