/** PEM blocks (RFC 7468) as Go's decoder takes them: text around a block is skipped, and so is a block that is broken. */
import { trimEndOf } from '#base/trim-end.ts'

export type PemBlock = { type: string; headers: Record<string, string>; bytes: Uint8Array }

const begin = '-----BEGIN '
const end = '-----END '
const dashes = '-----'

/**
 * The first block in `text`, and what follows it. Without one, `rest` is all of the text. An end is looked for first, then the last beginning
 * before it, and what is broken is not looked at again: a million beginnings without an end take no longer than other text.
 */
export function decodePem(text: string): { block?: PemBlock; rest: string } {
  let position = 0
  for (;;) {
    // Behind a newline: nothing can have begun before an end in the first line.
    const newline = text.indexOf(`\n${end}`, position)
    if (newline < 0) return { rest: text }
    const trailer = newline + 1
    const start = lastIndexWithin(text, begin, position, newline)
    position = trailer + end.length
    if (start < 0 || (start > 0 && text[start - 1] !== '\n')) continue

    const typeLine = lineAt(text, start + begin.length)
    if (!typeLine.line.endsWith(dashes)) continue
    const type = typeLine.line.slice(0, -dashes.length)

    const headers: Record<string, string> = {}
    let body = typeLine.next
    for (;;) {
      if (body >= text.length) return { rest: text }
      const { line, next } = lineAt(text, body)
      const colon = line.indexOf(':')
      if (colon < 0) break
      headers[line.slice(0, colon).trim()] = line.slice(colon + 1).trim()
      body = next
    }
    // An end that was taken for a header: Go gives up as well.
    if (body > trailer) return { rest: text }

    if (trailer === body && Object.keys(headers).length > 0) continue
    const { line, next } = lineAt(text, trailer + end.length)
    if (line !== `${type}${dashes}`) continue
    const base64 = text.slice(body, trailer).replace(/[ \t\r\n]+/g, '')
    if (!isBase64(base64)) continue
    return { block: { type, headers, bytes: Buffer.from(base64, 'base64') }, rest: text.slice(next) }
  }
}

/** Of `part` between the two places; -1 where there is none. */
function lastIndexWithin(text: string, part: string, from: number, to: number): number {
  const index = text.slice(from, to).lastIndexOf(part)
  return index < 0 ? -1 : from + index
}

/** Every block of the text, in order. */
export function decodePemBlocks(text: string): PemBlock[] {
  const blocks: PemBlock[] = []
  let rest = text
  for (;;) {
    const found = decodePem(rest)
    if (found.block === undefined) return blocks
    blocks.push(found.block)
    rest = found.rest
  }
}

export function encodePem(type: string, bytes: Uint8Array): string {
  const lines = Buffer.from(bytes)
    .toString('base64')
    .replace(/.{64}(?=.)/g, '$&\n')
  return `${begin}${type}${dashes}\n${lines === '' ? '' : `${lines}\n`}${end}${type}${dashes}\n`
}

/** The line at `from` without the white space at its end, and where the next one starts. */
function lineAt(text: string, from: number): { line: string; next: number } {
  const newline = text.indexOf('\n', from)
  const stop = newline < 0 ? text.length : newline
  return { line: trimEndOf(text.slice(from, stop), ' \t\r'), next: newline < 0 ? text.length : newline + 1 }
}

export function isBase64(text: string): boolean {
  return text.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(text)
}
