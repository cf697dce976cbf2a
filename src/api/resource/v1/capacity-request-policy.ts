/** Rules for how much of a device's capacity one claim may ask for. */
import type { Check } from '#api/meta/check.ts'
import { compareQuantities, parseQuantity } from '#api/meta/quantity.ts'
import { boundedSet } from '#api/resource/v1/bounded.ts'
import type { V1CapacityRequestPolicy, V1CapacityRequestPolicyRange } from '#api/resource/v1/types.gen.ts'

const maxValues = 10

/** `check` stands at the policy of a device of that capacity. */
export function validateRequestPolicy(policy: V1CapacityRequestPolicy, capacity: string, check: Check): void {
  const { validValues, validRange, default: preset } = policy
  if (validValues?.length && validRange) {
    check.forbidden('exactly one policy can be specified, cannot specify "validValues" and "validRange" at the same time')
  } else if (validValues?.length) {
    if (!preset) check.at('default').required('required when validValues is defined')
    else validateValues(validValues, preset, capacity, check.at('validValues'))
  } else if (validRange) {
    if (!preset) check.at('default').required('required when validRange is defined')
    else validateRange(validRange, preset, capacity, check.at('validRange'))
  }
}

const shown = (quantity: string) => parseQuantity(quantity).toString()

function validateValues(values: readonly string[], preset: string, capacity: string, check: Check): void {
  for (const [index, value] of values.entries()) {
    const previous = values[index - 1]
    if (previous !== undefined && compareQuantities(previous, value) > 0) {
      check.at(index).invalid(shown(value), 'values must be sorted in ascending order')
    }
  }
  boundedSet(values, maxValues, check, {
    key: (value) => String(parseQuantity(value).value()),
    judge(value, at) {
      if (compareQuantities(value, capacity) > 0) at.invalid(shown(value), `option is larger than capacity value: ${shown(capacity)}`)
    },
  })
  const isListed = values.length <= maxValues && values.some((value) => compareQuantities(value, preset) === 0)
  if (!isListed) check.invalid(shown(preset), 'default value is not valid according to the requestPolicy')
}

function validateRange({ min, max, step }: V1CapacityRequestPolicyRange, preset: string, capacity: string, check: Check): void {
  if (min === undefined || min === null) {
    check.at('min').required('required when validRange is defined')
    return
  }
  if (compareQuantities(min, capacity) > 0) check.at('min').invalid(shown(min), `min is larger than capacity value: ${shown(capacity)}`)
  if (compareQuantities(preset, min) < 0) check.at('min').invalid(shown(preset), `default is less than min: ${shown(min)}`)
  if (max !== undefined) {
    if (compareQuantities(min, max) > 0) check.at('max').invalid(shown(min), `min is larger than max: ${shown(max)}`)
    if (compareQuantities(max, capacity) > 0) check.at('max').invalid(shown(max), `max is larger than capacity value: ${shown(capacity)}`)
    if (compareQuantities(preset, max) > 0) check.at('max').invalid(shown(preset), `default is more than max: ${shown(max)}`)
  }
  if (step === undefined) return
  const oneStep = parseQuantity(min).add(parseQuantity(step)).toString()
  if (compareQuantities(oneStep, capacity) > 0) {
    check.at('step').invalid(shown(step), `one step ${oneStep} is larger than capacity value: ${shown(capacity)}`)
  }
  mustBeOnStep(preset, min, step, check.at('step'))
  if (max !== undefined) mustBeOnStep(max, min, step, check.at('step'))
}

function mustBeOnStep(value: string, min: string, step: string, check: Check): void {
  const distance = parseQuantity(value).value() - parseQuantity(min).value()
  if (distance % parseQuantity(step).value() === 0) return
  check.invalid(shown(value), `value is not a multiple of a given step (${shown(step)}) from (${shown(min)})`)
}
