/** The text of an expression, and how what is wrong with it is shown. */

/** `offset` counts UTF-16 units; undefined for what has no place in the text. */
export type Issue = { readonly message: string; readonly offset: number | undefined }

const maxIssues = 100
const maxLineBytes = 16_384

/** Thrown when an expression does not parse or check. */
export class CelCompileError extends Error {
  readonly issues: readonly Issue[]

  constructor(text: string, issues: readonly Issue[]) {
    super(displayIssues(text, issues))
    this.issues = issues
  }
}

/** As cel-go shows them: message, line and a mark under the column. */
export function displayIssues(text: string, issues: readonly Issue[], name = '<input>'): string {
  const placed = issues.slice(0, maxIssues).map((issue) => ({ issue, place: placeOf(text, issue.offset) }))
  placed.sort((one, other) => one.place.line - other.place.line || one.place.column - other.place.column)
  const shown = placed.map(({ issue, place }) => `ERROR: ${name}:${place.line}:${place.column + 1}: ${issue.message}${place.snippet}`)
  if (issues.length > maxIssues)
    shown.push(`${issues.length - maxIssues} more error${issues.length === maxIssues + 1 ? ' was' : 's were'} truncated`)
  return shown.join('\n')
}

function placeOf(text: string, offset: number | undefined): { line: number; column: number; snippet: string } {
  if (offset === undefined) return { line: -1, column: -1, snippet: '' }
  const before = text.slice(0, offset)
  const lineStart = before.lastIndexOf('\n') + 1
  const lineEnd = text.indexOf('\n', offset)
  const line = text.slice(lineStart, lineEnd === -1 ? undefined : lineEnd)
  const left = [...text.slice(lineStart, offset)]
  const number = before.split('\n').length
  if (Buffer.byteLength(line) > maxLineBytes) return { line: number, column: left.length, snippet: '' }
  const isWide = (char: string | undefined) => char !== undefined && (char.codePointAt(0) ?? 0) > 0x7f
  const mark = isWide([...text.slice(offset, offset + 2)][0]) ? '＾' : '^'
  const dots = left.map((char) => (isWide(char) ? '．' : '.')).join('')
  return { line: number, column: left.length, snippet: `\n | ${line.replaceAll('\t', ' ')}\n | ${dots}${mark}` }
}
