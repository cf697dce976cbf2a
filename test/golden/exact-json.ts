/** JSON whose numbers keep their spelling: an int64 does not lose its last digits, and `1.0` is sent as `1.0`. */

export type Json = null | boolean | number | string | ExactNumber | Json[] | { [key: string]: Json }
export type Fields = { [key: string]: Json }

/** A number that a double would spell otherwise. */
export class ExactNumber {
  readonly source: string

  constructor(source: string) {
    this.source = source
  }

  toJSON(): unknown {
    return rawJson(this.source)
  }
}

type Reviver = (this: unknown, key: string, value: unknown, context: { source?: string }) => unknown
const parseWithSource = JSON.parse as (text: string, reviver: Reviver) => unknown
const { rawJSON: rawJson } = JSON as unknown as { rawJSON(source: string): unknown }

export function parseExactly(text: string): Json {
  return parseWithSource(text, (_key, value, { source }) =>
    typeof value === 'number' && source !== undefined && source !== String(value) ? new ExactNumber(source) : value,
  ) as Json
}

export function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof ExactNumber)
}

/** Equal as numbers, digit for digit where both are whole. */
export function sameNumber(left: number | ExactNumber, right: number | ExactNumber): boolean {
  const [one, other] = [sourceOf(left), sourceOf(right)]
  if (/^-?\d+$/.test(one) && /^-?\d+$/.test(other)) return BigInt(one) === BigInt(other)
  return Number(one) === Number(other)
}

const sourceOf = (value: number | ExactNumber): string => (typeof value === 'number' ? String(value) : value.source)

/** One text for equal values, whatever the order of their keys; recorded lists without an order are sorted by it. */
export function sortKeyOf(value: Json | undefined): string {
  if (Array.isArray(value)) return `[${value.map(sortKeyOf).join(', ')}]`
  if (isFields(value)) {
    const fields = Object.keys(value).sort()
    return `{${fields.map((key) => `${asciiText(key)}: ${sortKeyOf(value[key])}`).join(', ')}}`
  }
  return typeof value === 'string' ? asciiText(value) : JSON.stringify(value ?? null)
}

const asciiText = (text: string): string =>
  JSON.stringify(text).replace(/[\u007f-\uffff]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`)

const lineWidth = 140

/** A value that fits is one line, so that a change of one answer is a change of few lines and the file stays short. */
export function diffableJson(value: Json, indent = '', room = lineWidth): string {
  const line = JSON.stringify(value)
  if (typeof value !== 'object' || value === null || value instanceof ExactNumber || indent.length + line.length <= room) return line
  const deeper = `${indent} `
  if (Array.isArray(value)) return `[\n${value.map((each) => `${deeper}${diffableJson(each, deeper)}`).join(',\n')}\n${indent}]`
  const fields = Object.entries(value).map(([key, each]) => {
    const name = `${JSON.stringify(key)}: `
    return `${deeper}${name}${diffableJson(each, deeper, lineWidth - name.length)}`
  })
  return `{\n${fields.join(',\n')}\n${indent}}`
}
