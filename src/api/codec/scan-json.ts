const colon = 0x3a
const quote = 0x22
const backslash = 0x5c
const minus = 0x2d
const nine = 0x39

/**
 * Looks through the bytes of valid JSON for what JSON.parse hides: how many keys were written, and whether a number that
 * is a field's value has a fraction or an exponent, which no integer may have in Go, not even `1.0`.
 *
 * Counts never too few keys; too many where a string starts with a colon. -1 stands for such a number.
 */
export function countKeys(bytes: Uint8Array): number {
  let count = 0
  const { length } = bytes
  for (let index = 1; index < length; index++) {
    if (bytes[index] !== colon) continue
    // Most colons are preceded by a plain quote, and followed by another or a bracket.
    if ((bytes[index - 1] !== quote || bytes[index - 2] === backslash) && !followsKey(bytes, index)) continue
    count++
    const next = bytes[index + 1] as number
    if (next < quote || (next >= minus && next <= nine)) {
      if (hasFractionOrExponent(bytes, index + 1)) return -1
    }
  }
  return count
}

function followsKey(bytes: Uint8Array, index: number): boolean {
  let at = index - 1
  while (isSpace(bytes[at])) at--
  if (bytes[at] !== quote) return false
  if (bytes[at - 1] !== backslash) return true
  let backslashes = 1
  while (bytes[at - 1 - backslashes] === backslash) backslashes++
  return backslashes % 2 === 0
}

function hasFractionOrExponent(bytes: Uint8Array, start: number): boolean {
  let at = start
  while (isSpace(bytes[at])) at++
  if (bytes[at] === minus) at++
  if (!isDigit(bytes[at])) return false
  while (isDigit(bytes[at])) at++
  return bytes[at] === 0x2e || bytes[at] === 0x65 || bytes[at] === 0x45
}

/** The same for the items of lists; strings that look like it count as well. */
export function hasFractionInList(text: string): boolean {
  return /[[,]\s*-?\d+[.eE]/.test(text)
}

function isSpace(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09
}

function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= 0x30 && byte <= 0x39
}
