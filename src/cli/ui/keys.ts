/** Keys and mouse, out of what a terminal sends. */
export type Key =
  | {
      kind: 'key'
      name:
        | 'up'
        | 'down'
        | 'left'
        | 'right'
        | 'page-up'
        | 'page-down'
        | 'home'
        | 'end'
        | 'enter'
        | 'escape'
        | 'backspace'
        | 'delete'
        | 'tab'
    }
  | { kind: 'char'; char: string }
  /** With Control held. */
  | { kind: 'control'; char: string }
  /** Counted from 1. */
  | { kind: 'click' | 'wheel-up' | 'wheel-down'; column: number; row: number }

type Named = Extract<Key, { kind: 'key' }>['name']

const sequences: Readonly<Record<string, Named>> = {
  '[A': 'up',
  '[B': 'down',
  '[C': 'right',
  '[D': 'left',
  OA: 'up',
  OB: 'down',
  OC: 'right',
  OD: 'left',
  '[5~': 'page-up',
  '[6~': 'page-down',
  '[H': 'home',
  '[F': 'end',
  '[1~': 'home',
  '[4~': 'end',
  OH: 'home',
  OF: 'end',
  '[3~': 'delete',
}

const escapeChar = '\u001b'
const mouseReport = /^\[<(\d+);(\d+);(\d+)([Mm])/
const anySequence = /^(?:\[[0-9;?<]*[A-Za-z~]|O[A-Z])/

/** All keys of one piece of input; a lone escape is a key of its own. */
export function keysIn(input: Uint8Array): Key[] {
  const keys: Key[] = []
  let text = Buffer.from(input).toString()
  while (text !== '') {
    if (text.startsWith(escapeChar)) {
      const rest = text.slice(1)
      const mouse = mouseReport.exec(rest)
      const sequence = mouse?.[0] ?? anySequence.exec(rest)?.[0] ?? ''
      if (mouse !== null) keys.push(...mouseKeys(mouse))
      else {
        const name = sequence === '' ? 'escape' : sequences[sequence]
        if (name !== undefined) keys.push({ kind: 'key', name })
      }
      text = rest.slice(sequence.length)
      continue
    }
    const char = String.fromCodePoint(text.codePointAt(0) ?? 0)
    keys.push(plainKey(char))
    text = text.slice(char.length)
  }
  return keys
}

function mouseKeys([, button = '', column = '', row = '', end = '']: readonly (string | undefined)[]): Key[] {
  const at = { column: Number(column), row: Number(row) }
  if (button === '64') return [{ kind: 'wheel-up', ...at }]
  if (button === '65') return [{ kind: 'wheel-down', ...at }]
  return button === '0' && end === 'M' ? [{ kind: 'click', ...at }] : []
}

function plainKey(char: string): Key {
  const code = char.codePointAt(0) ?? 0
  if (char === '\r' || char === '\n') return { kind: 'key', name: 'enter' }
  if (char === '\t') return { kind: 'key', name: 'tab' }
  if (code === 127 || code === 8) return { kind: 'key', name: 'backspace' }
  return code < 32 ? { kind: 'control', char: String.fromCharCode(code + 96) } : { kind: 'char', char }
}
