/** PEM blocks (RFC 7468) as Go's decoder takes them: text around a block is skipped, and so is a block that is broken. */

export type PemBlock = { type: string; headers: Record<string, string>; bytes: Uint8Array }

const begin = '-----BEGIN '
const end = '-----END '
const dashes = '-----'

/** The first block in `text`, and what follows it. Without one, `rest` is all of the text. */
export function decodePem(text: string): { block?: PemBlock; rest: string } {
  let position = 0
  for (;;) {
    const start = lineStartingWith(begin, text, position)
    if (start < 0) return { rest: text }
    const typeLine = lineAt(text, start + begin.length)
    position = typeLine.next
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
    position = body

    const trailer = lineStartingWith(end, text, body)
    if (trailer < 0 || (trailer === body && Object.keys(headers).length > 0)) continue
    const { line, next } = lineAt(text, trailer + end.length)
    if (line !== `${type}${dashes}`) continue
    const base64 = text.slice(body, trailer).replace(/[ \t\r\n]/g, '')
    if (!isBase64(base64)) continue
    return { block: { type, headers, bytes: Buffer.from(base64, 'base64') }, rest: text.slice(next) }
  }
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

function lineStartingWith(prefix: string, text: string, from: number): number {
  if (text.startsWith(prefix, from)) return from
  const newline = text.indexOf(`\n${prefix}`, from)
  return newline < 0 ? -1 : newline + 1
}

/** The line at `from` without the white space at its end, and where the next one starts. */
function lineAt(text: string, from: number): { line: string; next: number } {
  const newline = text.indexOf('\n', from)
  const stop = newline < 0 ? text.length : newline
  return { line: text.slice(from, stop).replace(/[ \t\r]+$/, ''), next: newline < 0 ? text.length : newline + 1 }
}

export function isBase64(text: string): boolean {
  return text.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(text)
}
