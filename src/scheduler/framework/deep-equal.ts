/** Whether two JSON values are the same; absent, empty list and empty map count as one. */
export function deepEqual(one: unknown, other: unknown): boolean {
  if (one === other) return true
  if (isNothing(one) && isNothing(other)) return true
  if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null) return false
  if (Array.isArray(one) !== Array.isArray(other)) return false
  const left = one as Record<string, unknown>
  const right = other as Record<string, unknown>
  for (const key of new Set([...Object.keys(left), ...Object.keys(right)])) if (!deepEqual(left[key], right[key])) return false
  return true
}

function isNothing(value: unknown): boolean {
  if (value === undefined || value === null) return true
  return typeof value === 'object' && Object.keys(value).length === 0
}
