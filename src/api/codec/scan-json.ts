import { atOnce, type Steps } from '#base/steps.ts'

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
  return atOnce(countingKeys(bytes))
}

/** Of a step: code that has not run often takes some milliseconds for it. */
const stepBytes = 256 * 1024

/** As `countKeys`, in steps. */
export function* countingKeys(bytes: Uint8Array): Steps<number> {
  let count = 0
  for (let start = 1; start < bytes.length; start += stepBytes) {
    if (start > 1) yield
    const more = countKeysIn(bytes, start, Math.min(start + stepBytes, bytes.length))
    if (more < 0) return -1
    count += more
  }
  return count
}

/** Of those whose colon is from `start` on and before `end`. */
function countKeysIn(bytes: Uint8Array, start: number, end: number): number {
  let count = 0
  for (let index = start; index < end; index++) {
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
  let at = afterRun(bytes, start, isSpace, notSpace)
  if (bytes[at] === minus) at++
  if (!isDigit(bytes[at])) return false
  at = afterRun(bytes, at, isDigit, notDigit)
  return bytes[at] === 0x2e || bytes[at] === 0x65 || bytes[at] === 0x45
}

const notSpace = /[^ \n\r\t]/
const notDigit = /[^0-9]/
const shortRun = 32
const pieceBytes = 64 * 1024

/** The first byte from `start` on that is another. Long runs are left to a regular expression, which is machine code from the start. */
function afterRun(bytes: Uint8Array, start: number, isIn: (byte: number | undefined) => boolean, other: RegExp): number {
  let at = start
  for (const end = start + shortRun; at < end; at++) if (!isIn(bytes[at])) return at
  while (at < bytes.length) {
    const piece = Buffer.from(bytes.buffer, bytes.byteOffset + at, Math.min(pieceBytes, bytes.length - at)).toString('latin1')
    const found = piece.search(other)
    if (found >= 0) return at + found
    at += piece.length
  }
  return at
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
