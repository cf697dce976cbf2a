/** More that strings can do. Positions count code points. */

import { formatted } from '#api/cel/library/string-format.ts'
import { keyText } from '#api/cel/standard/collections.ts'
import { dyn, int, listOf, string } from '#api/cel/types/cel-type.ts'
import { declare, type FunctionDeclaration, member, plain } from '#api/cel/types/declarations.ts'
import { codePointCount } from '#api/cel/values/size.ts'
import { ArrayList, CelError, type CelList } from '#api/cel/values/value.ts'
import { shortEscapes } from '#api/meta/check.ts'

const outOfRange = (index: bigint) => new CelError(`index out of range: ${index}`)

/** Where the code point stands in the text; most texts have no pairs of units, and need not be read for it. */
function unitAt(text: string, point: number): number {
  if (codePointCount(text) === text.length) return point
  let unit = 0
  for (let left = point; left > 0 && unit < text.length; left--) unit += (text.codePointAt(unit) as number) > 0xffff ? 2 : 1
  return unit
}
const pointAt = (text: string, unit: number): bigint =>
  BigInt(codePointCount(text) === text.length ? unit : codePointCount(text.slice(0, unit)))

function charAt(text: string, index: bigint): string {
  if (index < 0n || index > BigInt(codePointCount(text))) throw outOfRange(index)
  const unit = unitAt(text, Number(index))
  return unit < text.length ? String.fromCodePoint(text.codePointAt(unit) as number) : ''
}

function indexOf(text: string, part: string, from: bigint): bigint {
  if (part === '') return from
  if (from < 0n) throw outOfRange(from)
  if (from > BigInt(text.length)) return -1n
  const found = text.indexOf(part, unitAt(text, Number(from)))
  return found < 0 ? -1n : pointAt(text, found)
}

function lastIndexOf(text: string, part: string, from: bigint | undefined): bigint {
  const count = codePointCount(text)
  if (part === '') return from ?? BigInt(count)
  const wanted = codePointCount(part)
  if (from === undefined && count < wanted) return -1n
  const start = from ?? BigInt(count - 1)
  if (start < 0n) throw outOfRange(start)
  if (start >= BigInt(count) || count < wanted) return -1n
  const found = text.lastIndexOf(part, unitAt(text, Math.min(Number(start), count - wanted)))
  return found < 0 ? -1n : pointAt(text, found)
}

/** Prices go by what is read, not by what is made of it. */
const maxLength = 50_000_000

function replaced(text: string, old: string, by: string, limit: bigint): string {
  if (limit === 0n) return text
  const places = old === '' ? text.length + 1 : text.length / old.length
  if (places * by.length > maxLength) throw new CelError('the replaced text is too long')
  if (limit < 0n && old !== '') return text.replaceAll(old, () => by)
  const parts = old === '' ? ['', ...text] : text.split(old)
  let result = parts[0] ?? ''
  let count = 0n
  if (old === '') {
    result = ''
    const points = [...text]
    for (let index = 0; index <= points.length; index++) {
      if (limit < 0n || count++ < limit) result += by
      result += points[index] ?? ''
    }
    return result
  }
  for (const part of parts.slice(1)) result += (count++ < limit ? by : old) + part
  return result
}

function split(text: string, separator: string, limit: bigint): ArrayList {
  if (limit === 0n) return new ArrayList([])
  const parts = separator === '' ? [...text] : text.split(separator)
  if (limit < 0n || BigInt(parts.length) <= limit) return new ArrayList(parts)
  const kept = parts.slice(0, Number(limit) - 1)
  return new ArrayList([...kept, parts.slice(Number(limit) - 1).join(separator)])
}

function substring(text: string, start: bigint, end: bigint | undefined): string {
  const size = BigInt(codePointCount(text))
  const stop = end ?? size
  if (end !== undefined && start > stop) throw new CelError(`invalid substring range. start: ${start}, end: ${stop}`)
  if (start < 0n || start > size) throw outOfRange(start)
  if (stop < 0n || stop > size) throw outOfRange(stop)
  return text.slice(unitAt(text, Number(start)), unitAt(text, Number(stop)))
}

/** What Unicode calls white space, which is not quite what JavaScript does. */
function trimmed(text: string): string {
  let [start, end] = [0, text.length]
  while (start < end && isWhite(text.charCodeAt(start))) start++
  while (end > start && isWhite(text.charCodeAt(end - 1))) end--
  return text.slice(start, end)
}

function isWhite(code: number): boolean {
  if (code < 0x80) return code === 0x20 || (code >= 0x09 && code <= 0x0d)
  return (code >= 0x2000 && code <= 0x200a) || otherWhite.has(code)
}

const otherWhite = new Set([0x85, 0xa0, 0x1680, 0x2028, 0x2029, 0x202f, 0x205f, 0x3000])

function join(list: CelList, separator: string): string {
  const texts: string[] = []
  let length = 0
  for (const element of list) {
    if (typeof element !== 'string') throw new CelError(`join: invalid input: ${keyText(element)}`)
    texts.push(element)
    length += element.length + separator.length
    if (length > maxLength) throw new CelError('the joined text is too long')
  }
  return texts.join(separator)
}

const quoted = (text: string): string => `"${text.toWellFormed().replace(/["\\\p{Cc}]/gu, (char) => shortEscapes[char] ?? char)}"`

const strings = listOf(string)

export const stringsLibrary: readonly FunctionDeclaration[] = [
  declare(
    'charAt',
    member('string_char_at_int', [string, int], string, (text, index) => charAt(text as string, index as bigint)),
  ),
  declare(
    'indexOf',
    member('string_index_of_string', [string, string], int, (text, part) => indexOf(text as string, part as string, 0n)),
    member('string_index_of_string_int', [string, string, int], int, (text, part, from) =>
      indexOf(text as string, part as string, from as bigint),
    ),
  ),
  declare(
    'lastIndexOf',
    member('string_last_index_of_string', [string, string], int, (text, part) => lastIndexOf(text as string, part as string, undefined)),
    member('string_last_index_of_string_int', [string, string, int], int, (text, part, from) =>
      lastIndexOf(text as string, part as string, from as bigint),
    ),
  ),
  declare(
    'lowerAscii',
    member('string_lower_ascii', [string], string, (text) => (text as string).replace(/[A-Z]/g, (char) => char.toLowerCase())),
  ),
  declare(
    'upperAscii',
    member('string_upper_ascii', [string], string, (text) => (text as string).replace(/[a-z]/g, (char) => char.toUpperCase())),
  ),
  declare(
    'replace',
    member('string_replace_string_string', [string, string, string], string, (text, old, by) =>
      replaced(text as string, old as string, by as string, -1n),
    ),
    member('string_replace_string_string_int', [string, string, string, int], string, (text, old, by, limit) =>
      replaced(text as string, old as string, by as string, limit as bigint),
    ),
  ),
  declare(
    'split',
    member('string_split_string', [string, string], strings, (text, separator) => split(text as string, separator as string, -1n)),
    member('string_split_string_int', [string, string, int], strings, (text, separator, limit) =>
      split(text as string, separator as string, limit as bigint),
    ),
  ),
  declare(
    'substring',
    member('string_substring_int', [string, int], string, (text, start) => substring(text as string, start as bigint, undefined)),
    member('string_substring_int_int', [string, int, int], string, (text, start, end) =>
      substring(text as string, start as bigint, end as bigint),
    ),
  ),
  declare(
    'trim',
    member('string_trim', [string], string, (text) => trimmed(text as string)),
  ),
  declare(
    'format',
    member('string_format', [string, listOf(dyn)], string, (format, args) => formatted(format as string, args as CelList)),
  ),
  declare(
    'strings.quote',
    plain('strings_quote', [string], string, (text) => quoted(text as string)),
  ),
  declare(
    'join',
    member('list_join', [strings], string, (list) => join(list as CelList, '')),
    member('list_join_string', [strings, string], string, (list, separator) => join(list as CelList, separator as string)),
  ),
]

/** Came after the version of the library that Kubernetes has. */
export const stringReverse: FunctionDeclaration = declare(
  'reverse',
  member('string_reverse', [string], string, (text) => [...(text as string)].reverse().join('')),
)
