/** Validates tolerations and the effects of taints. */
import type { PodValidationOptions } from '#api/core/v1/pod-spec/validation-options.ts'
import type { V1Toleration } from '#api/core/v1/types.gen.ts'
import { type Check, quoted } from '#api/meta/check.ts'
import { decimalInteger } from '#api/meta/formats.ts'
import { labelValue, qualifiedName } from '#api/meta/names.ts'

const effects = ['NoSchedule', 'PreferNoSchedule', 'NoExecute']

/** `check` stands at the effect. */
export function validateTaintEffect(check: Check<string>): void {
  const effect = check.value
  if (!effects.includes(effect)) check.notSupported(effects)
}

/** `check` stands at the list. */
export function validateTolerations(check: Check<readonly V1Toleration[]>, options: PodValidationOptions): void {
  const tolerations = check.value
  for (let index = 0; index < tolerations.length; index++) {
    validateToleration(check.at(index), options)
  }
}

function validateToleration(check: Check<V1Toleration>, options: PodValidationOptions): void {
  const toleration = check.value
  const { key = '', operator = '', value = '', effect = '', tolerationSeconds } = toleration
  if (key !== '') for (const message of qualifiedName(key)) check.at('key').or('').invalid(message)
  else if (operator !== 'Exists') {
    check.at('operator').or('').invalid('operator must be Exists when `key` is empty, which means "match all values and all keys"')
  }
  if (tolerationSeconds !== undefined && effect !== 'NoExecute') {
    check.at('effect').or('').invalid("effect must be 'NoExecute' when `tolerationSeconds` is set")
  }
  switch (operator) {
    case 'Equal':
    case '': {
      const messages = labelValue(value)
      if (messages.length > 0) check.at('operator').invalid(messages.join(';'), value)
      break
    }
    case 'Exists':
      if (value !== '') check.at('operator').invalid("value must be empty when `operator` is 'Exists'", value)
      break
    case 'Lt':
    case 'Gt':
      if (options.allowComparingTolerations) validateNumber(check.at('value').or(''))
      else check.at('operator').or('').notSupported(['Equal', 'Exists', 'Lt', 'Gt'])
      break
    default:
      check.at('operator').or('').notSupported(['Equal', 'Exists'])
  }
  if (effect !== '') validateTaintEffect(check.at('effect').or(''))
}

const largestInt64 = 2n ** 63n - 1n

/** Canonical, and no larger than Go's int64. */
function validateNumber(check: Check<string>): void {
  const value = check.value
  for (const message of decimalInteger(value)) check.invalid(message)
  if (!/^[+-]?[0-9]+$/.test(value)) check.invalid(`strconv.ParseInt: parsing ${quoted(value)}: invalid syntax`)
  else {
    const number = BigInt(value.replace(/^\+/, ''))
    if (number > largestInt64 || number < -largestInt64 - 1n) {
      check.invalid(`strconv.ParseInt: parsing ${quoted(value)}: value out of range`)
    }
  }
}
