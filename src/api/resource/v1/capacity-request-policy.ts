/** Rules for how much of a device's capacity one claim may ask for. */
import type { Check } from '#api/meta/check.ts'
import { compareQuantities, parseQuantity } from '#api/meta/quantity.ts'
import { boundedSet } from '#api/resource/v1/bounded.ts'
import type { V1CapacityRequestPolicy, V1CapacityRequestPolicyRange } from '#api/resource/v1/types.gen.ts'

const maxValues = 10

/** `check` stands at the policy of a device of that capacity. */
export function validateRequestPolicy(check: Check<V1CapacityRequestPolicy>, capacity: string): void {
  const policy = check.value
  const { validValues, validRange, default: preset } = policy
  if (validValues?.length && validRange) {
    check.forbidden('exactly one policy can be specified, cannot specify "validValues" and "validRange" at the same time')
  } else if (validValues?.length) {
    if (!preset) check.at('default').required('required when validValues is defined')
    else validateValues(check.at('validValues').present, preset, capacity)
  } else if (validRange) {
    if (!preset) check.at('default').required('required when validRange is defined')
    else validateRange(check.at('validRange').present, preset, capacity)
  }
}

const shown = (quantity: string) => parseQuantity(quantity).toString()

function validateValues(check: Check<readonly string[]>, preset: string, capacity: string): void {
  const values = check.value
  for (const [index, value] of values.entries()) {
    const previous = values[index - 1]
    if (previous !== undefined && compareQuantities(previous, value) > 0) {
      check.at(index).invalid('values must be sorted in ascending order', shown(value))
    }
  }
  boundedSet(check.with(values), maxValues, {
    key: (value) => String(parseQuantity(value).value()),
    validate(at) {
      const value = at.value
      if (compareQuantities(value, capacity) > 0) at.invalid(`option is larger than capacity value: ${shown(capacity)}`, shown(value))
    },
  })
  const isListed = values.length <= maxValues && values.some((value) => compareQuantities(value, preset) === 0)
  if (!isListed) check.invalid('default value is not valid according to the requestPolicy', shown(preset))
}

function validateRange(check: Check<V1CapacityRequestPolicyRange>, preset: string, capacity: string): void {
  const { min, max, step } = check.value
  if (min === undefined || min === null) {
    check.at('min').required('required when validRange is defined')
    return
  }
  if (compareQuantities(min, capacity) > 0) check.at('min').invalid(`min is larger than capacity value: ${shown(capacity)}`, shown(min))
  if (compareQuantities(preset, min) < 0) check.at('min').invalid(`default is less than min: ${shown(min)}`, shown(preset))
  if (max !== undefined) {
    if (compareQuantities(min, max) > 0) check.at('max').invalid(`min is larger than max: ${shown(max)}`, shown(min))
    if (compareQuantities(max, capacity) > 0) check.at('max').invalid(`max is larger than capacity value: ${shown(capacity)}`, shown(max))
    if (compareQuantities(preset, max) > 0) check.at('max').invalid(`default is more than max: ${shown(max)}`, shown(preset))
  }
  if (step === undefined) return
  const oneStep = parseQuantity(min).add(parseQuantity(step)).toString()
  if (compareQuantities(oneStep, capacity) > 0) {
    check.at('step').invalid(`one step ${oneStep} is larger than capacity value: ${shown(capacity)}`, shown(step))
  }
  mustBeOnStep(preset, min, check.at('step').present)
  if (max !== undefined) mustBeOnStep(max, min, check.at('step').present)
}

function mustBeOnStep(value: string, min: string, check: Check<string>): void {
  const step = check.value
  const distance = parseQuantity(value).value() - parseQuantity(min).value()
  if (distance % parseQuantity(step).value() === 0) return
  check.invalid(`value is not a multiple of a given step (${shown(step)}) from (${shown(min)})`, shown(value))
}
