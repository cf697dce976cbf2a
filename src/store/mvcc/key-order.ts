import type { KeyRange } from '#store/store.ts'

/**
 * JavaScript orders strings by UTF-16 units, etcd by UTF-8 bytes, which is the order of code points. The two differ only
 * between strings that both hold units from the surrogates up.
 */
export function isBeyondNativeOrder(key: string): boolean {
  return /[\ud800-\uffff]/.test(key)
}

export function unitsBefore(a: string, b: string): boolean {
  return a < b
}

export function codePointsBefore(a: string, b: string): boolean {
  const length = Math.min(a.length, b.length)
  for (let at = 0; at < length; at++) {
    const left = a.charCodeAt(at)
    const right = b.charCodeAt(at)
    if (left !== right) return codePointRank(left) < codePointRank(right)
  }
  return a.length < b.length
}

/** Surrogates stand for code points above every unit of the basic plane. */
function codePointRank(unit: number): number {
  if (unit < 0xd800) return unit
  return unit < 0xe000 ? unit + 0x2000 : unit - 0x800
}

export function isInRange(key: string, range: KeyRange): boolean {
  if (range.prefix !== undefined) return key.startsWith(range.prefix)
  if (range.end === undefined) return key === range.key
  const isBefore = isBeyondNativeOrder(key) ? codePointsBefore : unitsBefore
  return !isBefore(key, range.key) && (range.end === '\0' || isBefore(key, range.end))
}
