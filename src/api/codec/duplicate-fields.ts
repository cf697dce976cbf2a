import { quoted } from '#api/meta/check.ts'
import { entriesOf, itemsOf, kindOf, type Node, readExactly } from './exact-json.ts'
import { countKeys } from './scan-json.ts'

const maxErrors = 100
const maxDepth = 500

/** Complaints about keys that come twice in JSON of no particular type, which `value` was parsed from. */
export function duplicateFields(bytes: Uint8Array, text: string, value: unknown): string[] {
  if (countKeys(bytes) === keysIn(value, 0)) return []
  const errors: string[] = []
  const visit = (node: Node, path: string): void => {
    const kind = kindOf(node)
    if (kind === 'array') {
      for (const [index, item] of itemsOf(node).entries()) visit(item, `${path}[${index}]`)
      return
    }
    if (kind !== 'object') return
    const seen = new Set<string>()
    for (const [key, child] of entriesOf(node)) {
      const place = path === '' ? key : `${path}.${key}`
      const error = `duplicate field ${quoted(place)}`
      if (seen.has(key) && errors.length < maxErrors && !errors.includes(error)) errors.push(error)
      seen.add(key)
      visit(child, place)
    }
  }
  visit(readExactly(text), '')
  return errors
}

/** NaN where it is nested too deep to tell. */
export function keysIn(value: unknown, depth: number): number {
  if (typeof value !== 'object' || value === null) return 0
  if (depth > maxDepth) return Number.NaN
  let keys = 0
  if (Array.isArray(value)) {
    for (const item of value) keys += keysIn(item, depth + 1)
    return keys
  }
  const object = value as Record<string, unknown>
  for (const key in object) keys += 1 + keysIn(object[key], depth + 1)
  return keys
}
