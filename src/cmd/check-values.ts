/** What is wrong with values of flags. */
import { FeatureGates } from '#api/meta/feature-gates.ts'
import { isQuantity, parseQuantity } from '#api/meta/quantity.ts'
import { errorMessage } from '#base/error-message.ts'
import { isRange } from '#base/ip-range.ts'

/** One range of addresses, or several with commas between them. */
export function checkRanges(text: string): string | undefined {
  return text.split(',').every(isRange) ? undefined : 'is not a valid range of addresses such as 10.96.0.0/16'
}

export function checkAddress(text: string): string | undefined {
  return !isRange(`${text}/32`) && !isRange(`${text}/128`) ? 'is not an IP address such as 127.0.0.1' : undefined
}

export function checkPortRange(text: string): string | undefined {
  const [, from, to] = /^(\d{1,5})-(\d{1,5})$/.exec(text) ?? []
  const isRange = from !== undefined && to !== undefined && Number(from) > 0 && Number(from) <= Number(to) && Number(to) < 65_536
  return isRange ? undefined : 'is not a valid range of ports such as 30000-32767'
}

export function checkAmount(text: string): string | undefined {
  return isQuantity(text) && parseQuantity(text).sign >= 0 ? undefined : 'is no amount such as 512Mi'
}

/** One of `A=true,B=false`. */
export function checkFeatureGate(text: string): string | undefined {
  try {
    new FeatureGates(text)
    return undefined
  } catch (error) {
    const [name = ''] = text.split('=', 1)
    const names = ['AllAlpha', 'AllBeta', ...new FeatureGates().entries().map(([gate]) => gate)]
    const near = names.find((gate) => gate.toLowerCase() === name.trim().toLowerCase())
    const hint = near === undefined || near === name ? '' : ` (did you mean ${near}?)`
    return `is refused: ${errorMessage(error)}${hint}; allowed are NAME=true and NAME=false for feature gates of Kubernetes, AllAlpha and AllBeta`
  }
}
