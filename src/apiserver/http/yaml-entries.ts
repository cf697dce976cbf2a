const [newline, space, dash, colon, comma, quote, apostrophe, backslash] = Buffer.from('\n -:,"\'\\')
const [openBrace, closeBrace, openBracket, closeBracket, bar, greater] = Buffer.from('{}[]|>')

/**
 * About how many entries the lists and maps of a YAML document have, or more than `limit`, without reading it: in blocks a line has an
 * entry, in braces and brackets a comma parts two, and lines of a text that is kept as it is (`|`, `>`) are none.
 */
export function countYamlEntries(body: Uint8Array, limit: number): number {
  let count = 0
  /** Lines that begin further to the right belong to a text. */
  let textColumn = Number.POSITIVE_INFINITY
  for (let start = 0; start < body.length && count <= limit; ) {
    const end = endOfLine(body, start)
    let at = skipSpaces(body, start, end)
    const isText = at - start > textColumn
    if (at === end || isText) {
      start = end + 1
      continue
    }
    textColumn = Number.POSITIVE_INFINITY
    let column = at - start
    while (count <= limit && body[at] === dash && (at + 1 === end || body[at + 1] === space)) {
      count++
      column = at - start
      at = skipSpaces(body, at + 1, end)
    }
    const value = startOfValue(body, at, end)
    if (value !== undefined) {
      count++
      column = at - start
      at = value
    }
    start = end + 1
    if (body[at] === bar || body[at] === greater) textColumn = column
    else if (body[at] === openBrace || body[at] === openBracket) {
      const flow = countFlow(body, at, limit - count)
      count += flow.count
      start = Math.max(start, endOfLine(body, flow.end) + 1)
    }
  }
  return count
}

function endOfLine(body: Uint8Array, start: number): number {
  const end = body.indexOf(newline as number, start)
  return end < 0 ? body.length : end
}

function skipSpaces(body: Uint8Array, start: number, end: number): number {
  let at = start
  while (at < end && body[at] === space) at++
  return at
}

/** Where the value of a line's key begins. */
function startOfValue(body: Uint8Array, start: number, end: number): number | undefined {
  for (let at = start; at < end; at++) {
    if (body[at] === colon && (at + 1 === end || body[at + 1] === space)) return skipSpaces(body, at + 1, end)
  }
  return undefined
}

/** Of a value in braces or brackets, over as many lines as it has. */
function countFlow(body: Uint8Array, start: number, limit: number): { count: number; end: number } {
  let count = 0
  let depth = 0
  /** A quotation mark within a word is a letter. */
  let mayBeginText = true
  for (let at = start; at < body.length; at++) {
    const byte = body[at]
    if (byte === space || byte === newline) continue
    if (mayBeginText && (byte === quote || byte === apostrophe)) at = endOfQuoted(body, at + 1, byte as number)
    else if (byte === openBrace || byte === openBracket) depth++
    else if (byte === closeBrace || byte === closeBracket) depth--
    else if (byte === comma) count++
    if (depth === 0 || count > limit) return { count: count + 1, end: at }
    mayBeginText = byte === openBrace || byte === openBracket || byte === comma || byte === colon
  }
  return { count: count + 1, end: body.length }
}

function endOfQuoted(body: Uint8Array, start: number, mark: number): number {
  for (let at = start; at < body.length; at++) {
    if (body[at] === mark) return at
    if (mark === quote && body[at] === backslash) at++
  }
  return body.length
}
