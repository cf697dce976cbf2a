/** What is wrong with values of flags. */
import { isQuantity, parseQuantity } from '#api/meta/quantity.ts'
import { isRange } from '#base/ip-range.ts'

/** One range of addresses, or several with commas between them. */
export function checkRanges(text: string): string | undefined {
  return text.split(',').every(isRange) ? undefined : 'is not a valid range of addresses such as 10.96.0.0/16'
}

export function checkPortRange(text: string): string | undefined {
  const [, from, to] = /^(\d{1,5})-(\d{1,5})$/.exec(text) ?? []
  const isRange = from !== undefined && to !== undefined && Number(from) > 0 && Number(from) <= Number(to) && Number(to) < 65_536
  return isRange ? undefined : 'is not a valid range of ports such as 30000-32767'
}

export function checkAmount(text: string): string | undefined {
  return isQuantity(text) && parseQuantity(text).sign >= 0 ? undefined : 'is no amount such as 512Mi'
}
