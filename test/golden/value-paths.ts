/** Finding parts of a JSON value, and filling names into one. */
import { isFields, type Json } from './exact-json.ts'

/** `metadata.labels.app`, `items.0.metadata.name`. */
export function lookUp(value: Json | undefined, path: string): Json | undefined {
  let found: Json | undefined = value
  for (const part of path.split('.')) {
    if (Array.isArray(found)) found = found[Number(part)]
    else if (isFields(found)) found = found[part]
    else return undefined
  }
  return found
}

/** The part of an answer that a step is about; each of the parts is a key, or `key=value` for an item of a list. */
export function picked(value: Json, parts: readonly string[]): Json | undefined {
  let found: Json | undefined = value
  for (const part of parts) {
    if (Array.isArray(found)) {
      const [key = '', wanted] = part.split(/=(.*)/s)
      found = found.find((item) => lookUp(item, key) === wanted)
    } else found = isFields(found) ? found[part] : undefined
  }
  return found
}

/** Fills in `${name}` and `${REPEAT:x:1000}`; a text that is one name alone becomes that value, whatever its type. */
export function filled<T extends Json>(value: T, names: Readonly<Record<string, Json>>): T
export function filled(value: Json, names: Readonly<Record<string, Json>>): Json {
  if (Array.isArray(value)) return value.map((each) => filled(each, names))
  if (isFields(value))
    return Object.fromEntries(Object.entries(value).map(([key, each]) => [String(filled(key, names)), filled(each, names)]))
  if (typeof value !== 'string') return value
  const whole = /^\$\{(\w+)\}$/.exec(value)?.[1]
  if (whole !== undefined && names[whole] !== undefined) return names[whole]
  return value
    .replace(/\$\{REPEAT:(.):(\d+)\}/g, (_, char: string, count: string) => char.repeat(Number(count)))
    .replace(/\$\{(\w+)\}/g, (text, name: string) => (names[name] === undefined ? text : String(names[name])))
}
