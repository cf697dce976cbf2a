/** A short name for a pod template, and for what is made of it. */
import { sortedJson } from '#controllers/workload/sorted-json.ts'

/**
 * Equal templates have equal hashes; `collisionCount` makes another one of those that are taken by something else.
 * Upstream hashes the memory layout of its own structures, so its values are others; nobody may compare them.
 */
export function templateHash(template: object, collisionCount?: number): string {
  return safeEncoded(fnv32a(`${sortedJson(template)}${collisionCount ?? ''}`))
}

function fnv32a(text: string): number {
  let hash = 0x811c9dc5
  for (const byte of Buffer.from(text)) hash = Math.imul(hash ^ byte, 0x01000193) >>> 0
  return hash
}

const alphabet = 'bcdfghjklmnpqrstvwxz2456789'

/** The number's digits in letters that spell no words. */
function safeEncoded(value: number): string {
  return [...String(value)].map((digit) => alphabet[digit.charCodeAt(0) % alphabet.length]).join('')
}
