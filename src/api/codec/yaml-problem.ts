import type { YAMLException } from 'js-yaml'

/**
 * The parser's complaint in the words that users of Kubernetes know, and with the line as counted there. The two parsers
 * do not stumble in the same places, so that this is right for the common mistakes and near for the others.
 */
export function libyamlProblem(error: YAMLException, source: string): string {
  const { reason } = error
  const position = error.mark?.position ?? 0
  const line = error.mark?.line ?? 0
  if (position >= source.trimEnd().length) return atTheEnd(source, reason)
  if (/missed comma/.test(reason)) return parser(`did not find expected ',' or '${openings(source.slice(0, position)).closing}'`, line)
  if (/unknown escape sequence/.test(reason)) return scanner('found unknown escape character', line)
  if (/nesting exceeded/.test(reason)) return 'exceeded max depth'
  if (/non-printable/.test(reason)) return 'control characters are not allowed'
  if (/^\t/.test(source.slice(source.lastIndexOf('\n', position - 1) + 1)))
    return scanner('found character that cannot start any token', line)
  const rest = source.slice(position)
  if (rest.startsWith(':')) return scanner('mapping values are not allowed in this context', line)
  if (/^[@`%]/.test(rest)) return scanner('found character that cannot start any token', line)
  const startsItsLine = /(^|\n)[ ]*$/.test(source.slice(0, position))
  if (/^-\s/.test(rest) && !startsItsLine) return scanner('block sequence entries are not allowed in this context', line)
  if (/bad indentation|should not have any properties|document separator/.test(reason)) return parser('did not find expected key', line)
  return scanner(/expected ':'/.test(reason) ? "could not find expected ':'" : reason, line)
}

/** Trouble found while scanning is counted from line 1, trouble of the parser from line 0; neither says so for the first line. */
const scanner = (problem: string, line: number): string => (line === 0 ? problem : `line ${line + 1}: ${problem}`)
const parser = (problem: string, line: number): string => (line === 0 ? problem : `line ${line}: ${problem}`)

function atTheEnd(source: string, reason: string): string {
  const lines = source.split('\n').length - (source.endsWith('\n') ? 1 : 0)
  if (/block mapping|expected ':'/.test(reason)) return scanner("could not find expected ':'", lines)
  const { quote, closing } = openings(source)
  if (quote) return scanner('found unexpected end of stream', lines)
  const last = source.trimEnd().at(-1) ?? ''
  return parser('[{,:'.includes(last) ? 'did not find expected node content' : `did not find expected ',' or '${closing}'`, lines)
}

/** Whether a quote is open at the end of the text, and the bracket that would close the innermost one. */
function openings(text: string): { quote: boolean; closing: ']' | '}' } {
  const open: string[] = []
  let quote = ''
  for (const char of text) {
    if (quote !== '') quote = char === quote ? '' : quote
    else if (char === '"' || char === "'") quote = char
    else if (char === '[' || char === '{') open.push(char)
    else if (char === ']' || char === '}') open.pop()
  }
  return { quote: quote !== '', closing: open.at(-1) === '{' ? '}' : ']' }
}
