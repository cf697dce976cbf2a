/** How much of something a simulated container uses as time goes by. */
import { isQuantity, parseQuantity } from '#api/meta/quantity.ts'
import { durationMs, scriptDomain } from '#kubelet/runtimes/simulated/script-words.ts'

/** Points in order of time, with straight lines between them; the last value stays. */
export type Curve = { atMs: number; value: number }[]

/** `100m`, or `100m,500m@1m,100m@2m30s`: an amount, and from when on. */
export function curveOf(what: string, text: string): Curve {
  const points = text.split(',').map((point) => {
    const [amount = '', time = '0'] = point.trim().split('@')
    if (!isQuantity(amount)) throw new Error(`annotation ${scriptDomain}/${what}: ${amount} is not a valid amount such as 100m or 64Mi`)
    return { atMs: durationMs(what, time), value: parseQuantity(amount).toNumber() }
  })
  return points.sort((one, other) => one.atMs - other.atMs)
}

export function valueAt(curve: Curve, ageMs: number): number {
  const next = curve.findIndex(({ atMs }) => atMs > ageMs)
  const before = curve[next === -1 ? curve.length - 1 : next - 1]
  const after = next === -1 ? undefined : curve[next]
  if (before === undefined) return curve[0]?.value ?? 0
  if (after === undefined) return before.value
  return before.value + ((after.value - before.value) * (ageMs - before.atMs)) / (after.atMs - before.atMs)
}

/** The area below the curve from the beginning on: an amount of cores gives seconds of processor time, times 1000. */
export function areaUntil(curve: Curve, ageMs: number): number {
  let area = 0
  let fromMs = 0
  for (const { atMs } of [...curve, { atMs: ageMs }]) {
    const toMs = Math.min(atMs, ageMs)
    if (toMs <= fromMs) continue
    area += ((valueAt(curve, fromMs) + valueAt(curve, toMs)) / 2) * (toMs - fromMs)
    fromMs = toMs
  }
  return area
}

/** When the curve first rises above a limit; undefined when it never does. */
export function firstAbove(curve: Curve, limit: number): number | undefined {
  for (const [index, { atMs, value }] of curve.entries()) {
    if (value <= limit) continue
    const before = curve[index - 1]
    if (before === undefined) return atMs
    return atMs - ((atMs - before.atMs) * (value - limit)) / (value - before.value)
  }
  return undefined
}
