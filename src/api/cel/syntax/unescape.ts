/** The value of a string or bytes literal. */

/** Thrown with cel-go's words. */
export class UnescapeError extends Error {}

const simple: Readonly<Record<string, number>> = {
  a: 7,
  b: 8,
  f: 12,
  n: 10,
  r: 13,
  t: 9,
  v: 11,
  '\\': 92,
  "'": 39,
  '"': 34,
  '`': 96,
  '?': 63,
}

export function unescapedString(token: string): string {
  const { body, isRaw } = bodyOf(token)
  if (isRaw || !body.includes('\\')) return body
  let result = ''
  for (const part of partsOf(body)) {
    if (part.point === undefined) {
      result += part.text
      continue
    }
    const isSurrogate = part.point >= 0xd800 && part.point <= 0xdfff
    if (part.point > 0x10ffff || isSurrogate) throw new UnescapeError('invalid unicode code point')
    result += String.fromCodePoint(part.point)
  }
  return result
}

/** Escapes stand for single bytes; everything else for its UTF-8. */
export function unescapedBytes(token: string): Uint8Array {
  const { body, isRaw } = bodyOf(token)
  if (isRaw || !body.includes('\\')) return Buffer.from(body)
  const chunks: Uint8Array[] = []
  for (const { text, point } of partsOf(body)) {
    if (point === undefined) chunks.push(Buffer.from(text))
    else if (/^\\[uU]/.test(text)) throw new UnescapeError('unable to unescape string')
    else chunks.push(Uint8Array.of(point & 0xff))
  }
  return new Uint8Array(Buffer.concat(chunks))
}

function bodyOf(token: string): { body: string; isRaw: boolean } {
  const isRaw = token[0] === 'r' || token[0] === 'R'
  const quoted = (isRaw ? token.slice(1) : token).replace(/\r\n?/g, '\n')
  const marks = quoted.length >= 6 && (quoted.startsWith('"""') || quoted.startsWith("'''")) ? 3 : 1
  return { body: quoted.slice(marks, -marks), isRaw }
}

function* partsOf(body: string): Iterable<{ text: string; point: number | undefined }> {
  const pattern = /\\(?:[xX]([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-3][0-7]{2})|(.))|[^\\]+/gs
  for (const [text, byte, short, long, octal, char] of body.matchAll(pattern)) {
    const hex = byte ?? short ?? long
    if (hex !== undefined) yield { text, point: Number.parseInt(hex, 16) }
    else if (octal !== undefined) yield { text, point: Number.parseInt(octal, 8) }
    else if (char !== undefined) yield { text, point: simple[char] }
    else yield { text, point: undefined }
  }
}
