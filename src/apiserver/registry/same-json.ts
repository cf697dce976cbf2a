/** Whether two JSON values are the same, whatever the order of keys; an absent field and an undefined one are alike. */
export function sameJson(left: unknown, right: unknown): boolean {
  if (left === right) return true
  if (typeof left !== 'object' || typeof right !== 'object' || left === null || right === null) return false
  if (Array.isArray(left)) {
    if (!Array.isArray(right) || left.length !== right.length) return false
    for (let index = 0; index < left.length; index++) if (!sameJson(left[index], right[index])) return false
    return true
  }
  if (Array.isArray(right)) return false
  const leftFields = left as Record<string, unknown>
  const rightFields = right as Record<string, unknown>
  let count = 0
  for (const key in leftFields) {
    if (leftFields[key] === undefined) continue
    count++
    if (!sameJson(leftFields[key], rightFields[key])) return false
  }
  for (const key in rightFields) if (rightFields[key] !== undefined) count--
  return count === 0
}
