/** Cuts an expression into tokens. */
import type { Issue } from '#api/cel/syntax/source.ts'

/** In the order in which messages list them. */
export const tokenTypes = [
  '==',
  '!=',
  'in',
  '<',
  '<=',
  '>=',
  '>',
  '&&',
  '||',
  '[',
  ']',
  '{',
  '}',
  '(',
  ')',
  '.',
  ',',
  '-',
  '!',
  '?',
  ':',
  '+',
  '*',
  '/',
  '%',
  'true',
  'false',
  'null',
  'NUM_FLOAT',
  'NUM_INT',
  'NUM_UINT',
  'STRING',
  'BYTES',
  'IDENTIFIER',
  'ESC_IDENTIFIER',
  '<EOF>',
] as const
export type TokenType = (typeof tokenTypes)[number]

export type Token = { readonly type: TokenType; readonly text: string; readonly at: number }

const escaped = String.raw`\\(?:[abfnrtv"'\\?\x60]|[xX][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[0-3][0-7][0-7])`
const quoted = (quote: string) => String.raw`${quote}(?:${escaped}|[^\\${quote}\n\r])*${quote}`
const tripled = (quote: string) => String.raw`${quote}{3}(?:${escaped}|[^\\])*?${quote}{3}`
const raw = (quote: string) => [String.raw`[rR]${quote}[^${quote}\n\r]*${quote}`, `[rR]${quote}{3}[^]*?${quote}{3}`]

const strings = [tripled('"'), tripled("'"), quoted('"'), quoted("'")].map((pattern) => new RegExp(pattern, 'y'))
const rawStrings = [...raw('"'), ...raw("'")].map((pattern) => new RegExp(pattern, 'y'))
const space = /[\t\u0020\r\n\f]+|\/\/[^\n]*/y
const float = /(?:[0-9]+\.[0-9]+(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+|\.[0-9]+(?:[eE][+-]?[0-9]+)?)/y
const uint = /(?:0x[0-9a-fA-F]+|[0-9]+)[uU]/y
const int = /0x[0-9a-fA-F]+|[0-9]+/y
const identifier = /[a-zA-Z_][a-zA-Z0-9_]*/y
const escapedIdentifier = /`[a-zA-Z0-9_.\-/ ]+`/y
const symbol = /==|!=|<=|>=|&&|\|\||[<>[\]{}().,\-!?:+*/%]/y
const keywords: ReadonlySet<string> = new Set(['in', 'true', 'false', 'null'])

/** What cannot begin any token is reported and left out; the last token is `<EOF>`. */
export function tokensOf(text: string): { tokens: Token[]; issues: Issue[] } {
  const tokens: Token[] = []
  const issues: Issue[] = []
  for (let at = 0; at < text.length; ) {
    const blank = lengthAt(space, text, at)
    if (blank > 0) {
      at += blank
      continue
    }
    const token = tokenAt(text, at)
    if (token !== undefined) {
      tokens.push(token)
      at += token.text.length
      continue
    }
    const bad = text.slice(at, at + unrecognizedLength(text, at))
    issues.push({ message: `Syntax error: token recognition error at: '${shownText(bad)}'`, offset: at })
    at += bad.length
  }
  tokens.push({ type: '<EOF>', text: '<EOF>', at: text.length })
  return { tokens, issues }
}

export const shownText = (text: string): string => text.replaceAll('\n', '\\n').replaceAll('\r', '\\r').replaceAll('\t', '\\t')

function lengthAt(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at
  return pattern.exec(text)?.[0].length ?? 0
}

function tokenAt(text: string, at: number): Token | undefined {
  let best: Token | undefined
  // The longest wins, and of equals the first.
  const offer = (type: TokenType, length: number) => {
    if (length > (best?.text.length ?? 0)) best = { type, text: text.slice(at, at + length), at }
  }
  const symbolLength = lengthAt(symbol, text, at)
  if (symbolLength > 0) offer(text.slice(at, at + symbolLength) as TokenType, symbolLength)
  offer('NUM_FLOAT', lengthAt(float, text, at))
  offer('NUM_INT', lengthAt(int, text, at))
  offer('NUM_UINT', lengthAt(uint, text, at))
  offer('STRING', stringLength(text, at))
  if (text[at] === 'b' || text[at] === 'B') {
    const length = stringLength(text, at + 1)
    if (length > 0) offer('BYTES', length + 1)
  }
  const nameLength = lengthAt(identifier, text, at)
  const name = text.slice(at, at + nameLength)
  offer(keywords.has(name) ? (name as TokenType) : 'IDENTIFIER', nameLength)
  offer('ESC_IDENTIFIER', lengthAt(escapedIdentifier, text, at))
  return best
}

function stringLength(text: string, at: number): number {
  const first = text[at]
  if (first === '"' || first === "'") return Math.max(...strings.map((pattern) => lengthAt(pattern, text, at)))
  if (first === 'r' || first === 'R') return Math.max(...rawStrings.map((pattern) => lengthAt(pattern, text, at)))
  return 0
}

const stringStart = new RegExp(
  String.raw`(["'])(?:${escaped}|(?!\1)[^\\\n\r])*(?:\\(?:[xX][0-9a-fA-F]?|u[0-9a-fA-F]{0,3}|U[0-9a-fA-F]{0,7}|[0-3][0-7]?)?)?`,
  'y',
)
const identifierStart = /`[a-zA-Z0-9_.\-/ ]*/y

/** Up to and with the character that fits no token. */
function unrecognizedLength(text: string, at: number): number {
  const char = text[at] ?? ''
  let matched = 0
  if (char === '"' || char === "'") matched = lengthAt(stringStart, text, at)
  else if (char === '`') matched = lengthAt(identifierStart, text, at)
  else if (char === '=' || char === '&' || char === '|') matched = 1
  const failing = text.codePointAt(at + matched)
  return matched + (failing === undefined ? 0 : failing > 0xffff ? 2 : 1)
}
