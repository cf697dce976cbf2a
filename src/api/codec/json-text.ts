import { markLargeIntegers } from './large-integers.ts'

// TypeScript's library does not have it yet.
const { rawJSON: rawJson } = JSON as typeof JSON & { rawJSON(text: string): unknown }

/**
 * As JSON.stringify, for objects that may hold integers too large for a number. Angle brackets and ampersands are escaped as Go
 * does it: clients compare the bytes of what has no type (the data of a ControllerRevision) with those they would write.
 */
export function jsonText(value: unknown, indent?: number): string {
  const text = plainJsonText(value, indent)
  // Outside of strings JSON has none of these.
  return escapable.test(text) ? text.replace(everyEscapable, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`) : text
}

const escapable = /[<>&\u2028\u2029]/
const everyEscapable = new RegExp(escapable, 'g')

function plainJsonText(value: unknown, indent?: number): string {
  try {
    return JSON.stringify(value, undefined, indent)
  } catch {
    markLargeIntegers(value)
    return JSON.stringify(value, (_key, each: unknown) => (typeof each === 'bigint' ? rawJson(String(each)) : each), indent)
  }
}
