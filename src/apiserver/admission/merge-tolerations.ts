/** Tolerations that come from several sides. */
import type { V1Toleration } from '#api/core/v1/types.gen.ts'

/** What another one covers is left out; of equal ones the first stays. */
export function mergeTolerations(first: readonly V1Toleration[], second: readonly V1Toleration[]): V1Toleration[] {
  const all = [...first, ...second]
  const merged: V1Toleration[] = []
  for (const [index, toleration] of all.entries()) {
    if (merged.some((other) => covers(other, toleration))) continue
    const isCoveredLater = all.slice(index + 1).some((other) => !isSame(other, toleration) && covers(other, toleration))
    if (!isCoveredLater) merged.push(toleration)
  }
  return merged
}

/** Whether everything `narrow` tolerates is tolerated by `wide`. */
export function covers(wide: V1Toleration, narrow: V1Toleration): boolean {
  if (isSame(wide, narrow)) return true
  const [wideKey, wideEffect, wideOperator] = [wide.key ?? '', wide.effect ?? '', wide.operator ?? '']
  const coversAllKeys = wideKey === '' && wideOperator === 'Exists'
  if ((narrow.key ?? '') !== wideKey && !coversAllKeys) return false
  if ((narrow.effect ?? '') !== wideEffect && wideEffect !== '') return false
  if (wideEffect === 'NoExecute' && wide.tolerationSeconds !== undefined) {
    if (narrow.tolerationSeconds === undefined || narrow.tolerationSeconds > wide.tolerationSeconds) return false
  }
  if (wideOperator === 'Exists') return true
  if (wideOperator !== 'Equal' && wideOperator !== '') return false
  return narrow.operator === 'Equal' && (narrow.value ?? '') === (wide.value ?? '')
}

function isSame(one: V1Toleration, other: V1Toleration): boolean {
  return (
    (one.key ?? '') === (other.key ?? '') &&
    (one.operator ?? '') === (other.operator ?? '') &&
    (one.value ?? '') === (other.value ?? '') &&
    (one.effect ?? '') === (other.effect ?? '') &&
    one.tolerationSeconds === other.tolerationSeconds
  )
}
