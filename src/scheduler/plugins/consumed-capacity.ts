/** How much of a device's capacity a request takes: devices may be shared, and give only certain amounts. */
import { parseQuantity, type Quantity, quantityOf } from '#api/meta/quantity.ts'
import type { V1CapacityRequestPolicy, V1CapacityRequirements, V1Device, V1DeviceCapacity } from '#api/resource/v1/types.gen.ts'

export type Amounts = ReadonlyMap<string, Quantity>

/** Undefined when the device does not have what is asked for, or does not give it out in such amounts. */
export function consumedCapacity({ capacity = {} }: V1Device, wanted: V1CapacityRequirements | undefined): Amounts | undefined {
  const requests = wanted?.requests ?? {}
  if (Object.keys(requests).some((name) => capacity[name] === undefined)) return undefined
  const amounts = new Map<string, Quantity>()
  for (const [name, each] of Object.entries(capacity)) {
    const asked = requests[name]
    const amount = asked === undefined ? unasked(each) : rounded(parseQuantity(asked), each.requestPolicy)
    if (!isGiven(amount, each.requestPolicy)) return undefined
    amounts.set(name, amount)
  }
  return amounts
}

/** Who does not say gets the default, or everything. */
const unasked = ({ value, requestPolicy }: V1DeviceCapacity): Quantity => parseQuantity(requestPolicy?.default ?? value)

/** Up to the next amount that is given out. */
function rounded(asked: Quantity, policy: V1CapacityRequestPolicy | undefined): Quantity {
  const { validRange: range, validValues: values } = policy ?? {}
  if (range?.min !== undefined) {
    const min = parseQuantity(range.min)
    if (asked.compare(min) < 0) return min
    if (range.step === undefined) return asked
    const step = parseQuantity(range.step).scaledValue(0)
    const above = asked.scaledValue(0) - min.scaledValue(0)
    const steps = above / step + (above % step === 0n ? 0n : 1n)
    return quantityOf(min.scaledValue(0) + step * steps, 'BinarySI')
  }
  return values?.map(parseQuantity).find((value) => asked.compare(value) <= 0) ?? asked
}

function isGiven(amount: Quantity, policy: V1CapacityRequestPolicy | undefined): boolean {
  const { validRange: range, validValues: values = [], default: usual } = policy ?? {}
  if (usual && amount.equals(parseQuantity(usual))) return true
  if (range !== undefined) {
    if (range.max !== undefined && amount.compare(parseQuantity(range.max)) > 0) return false
    if (range.step === undefined) return true
    return (amount.scaledValue(0) - parseQuantity(range.min).scaledValue(0)) % parseQuantity(range.step).scaledValue(0) === 0n
  }
  return values.length === 0 || values.some((value) => amount.equals(parseQuantity(value)))
}
