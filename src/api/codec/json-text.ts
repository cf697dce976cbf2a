// TypeScript's library does not have it yet.
const { rawJSON: rawJson } = JSON as typeof JSON & { rawJSON(text: string): unknown }

/** As JSON.stringify, for objects that may hold integers too large for a number. */
export function jsonText(value: unknown, indent?: number): string {
  try {
    return JSON.stringify(value, undefined, indent)
  } catch {
    return JSON.stringify(value, (_key, each: unknown) => (typeof each === 'bigint' ? rawJson(String(each)) : each), indent)
  }
}
