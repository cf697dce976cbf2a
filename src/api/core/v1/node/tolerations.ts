/** Which taints a pod puts up with. */
import type { V1Taint, V1Toleration } from '#api/core/v1/types.gen.ts'

export function tolerates(tolerations: readonly V1Toleration[] | undefined, taint: V1Taint): boolean {
  return tolerations?.some((toleration) => toleratesTaint(toleration, taint)) ?? false
}

/** The first taint that nothing tolerates. */
export function untolerated(taints: readonly V1Taint[], tolerations: readonly V1Toleration[] | undefined): V1Taint | undefined {
  return taints.find((taint) => !tolerates(tolerations, taint))
}

/** No operator means Equal, which matches whatever the key is if the toleration has none. Numbers are whole, of any size. */
export function toleratesTaint({ key, operator, value, effect }: V1Toleration, taint: V1Taint): boolean {
  if (effect && effect !== taint.effect) return false
  if (key && key !== taint.key) return false
  switch (operator ?? '') {
    case '':
    case 'Equal':
      return (value ?? '') === (taint.value ?? '')
    case 'Exists':
      return true
    case 'Lt':
      return isWhole(value) && isWhole(taint.value) && BigInt(taint.value) < BigInt(value)
    case 'Gt':
      return isWhole(value) && isWhole(taint.value) && BigInt(taint.value) > BigInt(value)
    default:
      return false
  }
}

const isWhole = (text: string | undefined): text is string => text !== undefined && /^-?(0|[1-9]\d*)$/.test(text)
