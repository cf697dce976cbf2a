/** Gives descriptions their lines back: the typings they come from have a space in place of each line break and tab. */
import { createHash } from 'node:crypto'
import { lineBreaks } from './line-breaks.gen.ts'

let exceptions: Map<string, string> | undefined

/** Two spaces are the end of a paragraph, unless the table knows better. */
export function withLineBreaks(flat: string): string {
  if (!flat.includes('  ')) return flat
  if (exceptions === undefined) {
    exceptions = new Map()
    for (const line of lineBreaks.trim().split('\n')) exceptions.set(line.slice(0, keyLength), line.slice(keyLength))
  }
  const exception = exceptions.get(textKey(flat))
  return exception === undefined ? byRule(flat) : placed(flat, exception)
}

function byRule(flat: string): string {
  return flat.replace(/(?<=\S) {2}(?=\S)/g, '\n\n')
}

/** What the table says of a text: distances from break to break, a tab marked with `>`. Undefined where the rule does it. */
export function exceptionFor(text: string): { key: string; breaks: string } | undefined {
  const flat = text.replace(/[\n\t]/g, ' ')
  if (!flat.includes('  ') || byRule(flat) === text) return undefined
  let breaks = ''
  let last = 0
  for (const { 0: char, index } of text.matchAll(/[\n\t]/g)) {
    breaks += ` ${(index - last).toString(36)}${char === '\t' ? '>' : ''}`
    last = index
  }
  return { key: textKey(flat), breaks }
}

function placed(flat: string, breaks: string): string {
  let text = ''
  let start = 0
  let at = 0
  for (const code of breaks.split(' ')) {
    if (code === '') continue
    const isTab = code.endsWith('>')
    at += Number.parseInt(isTab ? code.slice(0, -1) : code, 36)
    text += flat.slice(start, at) + (isTab ? '\t' : '\n')
    start = at + 1
  }
  return text + flat.slice(start)
}

const keyLength = 6

function textKey(flat: string): string {
  return createHash('sha256').update(flat).digest('base64url').slice(0, keyLength)
}
