/** Go's templates, cut into text and tokens. */
import { TemplateNumber } from './go-values.ts'

export class TemplateError extends Error {
  override name = 'TemplateError'
}

export type Token =
  | { type: 'text'; text: string }
  | { type: 'open' | 'close' }
  | { type: 'field' | 'variable' | 'word' | 'operator'; text: string; spaced: boolean }
  | { type: 'constant'; value: unknown; spaced: boolean }

export function templateTokens(source: string): Token[] {
  const tokens: Token[] = []
  let at = 0
  let trimsNext = false
  while (at < source.length) {
    const open = source.indexOf('{{', at)
    let text = source.slice(at, open < 0 ? source.length : open)
    if (trimsNext) text = text.trimStart()
    if (open < 0) {
      if (text !== '') tokens.push({ type: 'text', text })
      return tokens
    }
    const trimsBefore = /^\{\{-[\s]/.test(source.slice(open, open + 4))
    if (trimsBefore) text = text.trimEnd()
    if (text !== '') tokens.push({ type: 'text', text })
    at = open + (trimsBefore ? 3 : 2)
    const comment = /^\s*\/\*[\s\S]*?\*\/\s*?(\s-)?\}\}/.exec(source.slice(at))
    if (comment !== null) {
      at += comment[0].length
      trimsNext = comment[1] !== undefined
      continue
    }
    const end = action(source, at, tokens)
    at = end.at
    trimsNext = end.trims
  }
  return tokens
}

const pattern =
  /(\s+)|(\.[\p{L}_][\p{L}\p{Nd}_]*)|(\$[\p{L}\p{Nd}_]*)|(:=|[|(),=.])|('(?:[^'\\]|\\.)')|("(?:[^"\\\n]|\\.)*")|(`[^`]*`)|([-+]?(?:0[xX][\da-fA-F_]+|0[bB][01_]+|0[oO][0-7_]+|\d[\d_]*(?:\.\d+)?(?:[eE][-+]?\d+)?|\.\d+))|([\p{L}_][\p{L}\p{Nd}_]*)/uy

function action(source: string, start: number, tokens: Token[]): { at: number; trims: boolean } {
  tokens.push({ type: 'open' })
  let at = start
  let spaced = false
  for (;;) {
    const closing = /^(\s-)?\}\}/.exec(source.slice(at, at + 4))
    if (closing !== null) {
      tokens.push({ type: 'close' })
      return { at: at + closing[0].length, trims: closing[1] !== undefined }
    }
    pattern.lastIndex = at
    const match = pattern.exec(source)
    if (match === null) throw new TemplateError(at >= source.length ? 'unclosed action' : strange(source.slice(at)))
    const [whole, space, field, variable, operator, char, text, raw, number, word] = match
    at += whole.length
    if (space !== undefined) {
      spaced = true
      continue
    }
    if (field !== undefined) tokens.push({ type: 'field', text: field.slice(1), spaced })
    else if (variable !== undefined) tokens.push({ type: 'variable', text: variable, spaced })
    else if (operator !== undefined) tokens.push({ type: 'operator', text: operator, spaced })
    else if (char !== undefined)
      tokens.push({ type: 'constant', value: new TemplateNumber('int', unquoted(char).codePointAt(0) ?? 0), spaced })
    else if (text !== undefined) tokens.push({ type: 'constant', value: unquoted(text), spaced })
    else if (raw !== undefined) tokens.push({ type: 'constant', value: raw.slice(1, -1), spaced })
    else if (number !== undefined) tokens.push({ type: 'constant', value: numberConstant(number), spaced })
    else tokens.push({ type: 'word', text: word ?? '', spaced })
    spaced = false
  }
}

/** Why nothing of Go begins here. */
function strange(text: string): string {
  if (text.startsWith('/*')) return 'unclosed comment'
  if (text.startsWith('"')) return 'unterminated quoted string'
  if (text.startsWith('`')) return 'unterminated raw quoted string'
  if (text.startsWith("'")) return 'unterminated character constant'
  const char = String.fromCodePoint(text.codePointAt(0) ?? 0)
  return char === '}' ? `bad character U+007D '}'` : `unexpected ${JSON.stringify(char)} in command`
}

/** What has a fraction is a `float64`, unless it is whole: `1e3` is an `int` as well. */
function numberConstant(text: string): TemplateNumber {
  const plain = text.replaceAll('_', '')
  const [, sign = '', digits = ''] = /^([-+]?)(.*)$/.exec(plain) ?? []
  const octal = /^0[0-7]+$/.test(digits) ? `0o${digits.slice(1)}` : digits
  const value = (sign === '-' ? -1 : 1) * Number(octal)
  const isWhole = Number.isInteger(value) && !digits.includes('.')
  return new TemplateNumber(isWhole ? 'int' : 'float64', value)
}

const escapes: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r', a: '\u0007', b: '\b', f: '\f', v: '\v' }

function unquoted(text: string): string {
  return text.slice(1, -1).replace(/\\(x[\da-fA-F]{2}|u[\da-fA-F]{4}|U[\da-fA-F]{8}|[0-7]{3}|.)/gs, (_, code: string) => {
    if (/^[xuU]./.test(code)) return String.fromCodePoint(Number.parseInt(code.slice(1), 16))
    if (/^[0-7]{3}$/.test(code)) return String.fromCodePoint(Number.parseInt(code, 8))
    return escapes[code] ?? code
  })
}
