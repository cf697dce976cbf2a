/** Texts that an expression takes long for, if there are any: long rows of what a part of it repeats, and something behind that does not fit. */

type Part =
  | { kind: 'character'; source: string }
  | { kind: 'row'; parts: Part[] }
  | { kind: 'choice'; parts: Part[] }
  | { kind: 'repeated'; least: number; isEndless: boolean; part: Part }
  | { kind: 'nothing' }

/** As far as it matters here: what looks ahead or behind is taken for something that may be there, and what refers back for nothing. */
function parsed(source: string): Part {
  let at = 0
  const take = (pattern: RegExp): RegExpExecArray | null => {
    pattern.lastIndex = at
    const match = pattern.exec(source)
    if (match !== null) at = pattern.lastIndex
    return match
  }
  const choice = (): Part => {
    const parts = [row()]
    while (take(/\|/y) !== null) parts.push(row())
    return parts.length === 1 ? (parts[0] as Part) : { kind: 'choice', parts }
  }
  const row = (): Part => {
    const parts: Part[] = []
    while (at < source.length && source[at] !== '|' && source[at] !== ')') parts.push(repeated(single()))
    return { kind: 'row', parts }
  }
  const repeated = (part: Part): Part => {
    const [all, least = '', comma, most] = take(/[*+?]\??|\{(\d+)(,?)(\d*)\}\??/y) ?? []
    if (all === undefined) return part
    const isCounted = all.startsWith('{')
    const isEndless = isCounted ? comma === ',' && most === '' : !all.startsWith('?')
    return { kind: 'repeated', least: isCounted ? Number(least) : all.startsWith('+') ? 1 : 0, isEndless, part }
  }
  const single = (): Part => {
    if (take(/\((?:\?(?:<[^=!>][^>]*>|[a-z-]*:))?/y) !== null) {
      const isLook = take(/\?<?[=!]/y) !== null
      const part = choice()
      at++
      return isLook ? { kind: 'repeated', least: 0, isEndless: false, part } : part
    }
    if (take(/[\^$]|\\[bB1-9]|\\k<\w+>/y) !== null) return { kind: 'nothing' }
    const [character = ''] =
      take(/\[(?:\\[\s\S]|[^\]\\])*\]|\\[pP]\{[^}]*\}|\\u\{[\da-f]+\}|\\u[\da-f]{4}|\\x[\da-f]{2}|\\c[A-Z]|\\[\s\S]|[\s\S]/iuy) ?? []
    return { kind: 'character', source: character }
  }
  return choice()
}

const commonCharacters = [...'0a1bAxf9Zz _-./:,;=*+?!"\'\\$(){}[]<>|&%@#~^`\n\t\r\u0085\u2028\u00a0\u3000é\u0001']
/** What hardly anything takes, and what `.` does not. */
const misfits = ['', '\u0001', '!', '\n']

class Expression {
  readonly whole: Part
  readonly endless: (Part & { kind: 'repeated' })[] = []
  /** Some that each part takes: where two parts take the same one, they may share a row of it in many ways. */
  readonly characters = new Set<string>()
  readonly #flags: string
  readonly #taken = new Map<string, readonly string[]>()

  constructor(source: string, flags: string) {
    this.#flags = flags.replace(/[gmy]/g, '')
    this.whole = parsed(source)
    this.#look(this.whole)
  }

  #look(part: Part): void {
    if (part.kind === 'character') for (const each of this.#takenBy(part.source).slice(0, 2)) this.characters.add(each)
    else if (part.kind === 'row' || part.kind === 'choice') for (const each of part.parts) this.#look(each)
    else if (part.kind === 'repeated') {
      if (part.isEndless) this.endless.push(part)
      this.#look(part.part)
    }
  }

  #takenBy(source: string): readonly string[] {
    let taken = this.#taken.get(source)
    if (taken === undefined) {
      const pattern = new RegExp(`^(?:${/^[\]{}/]$/.test(source) ? `\\${source}` : source})$`, this.#flags)
      taken = commonCharacters.filter((each) => pattern.test(each))
      if (taken.length === 0) taken = rareCharacters().filter((each) => pattern.test(each))
      this.#taken.set(source, taken)
    }
    return taken
  }

  /** Something short that the part takes, of that character where it may be; `most` is how often a part comes that need not. */
  sample(part: Part, character: string, most: 0 | 1, choice = 0): string {
    if (part.kind === 'character') {
      const taken = this.#takenBy(part.source)
      return taken.includes(character) ? character : (taken[0] ?? '')
    }
    if (part.kind === 'row') return part.parts.map((each) => this.sample(each, character, most, choice)).join('')
    if (part.kind === 'choice') return this.sample(part.parts[choice % part.parts.length] as Part, character, most, choice)
    return part.kind === 'repeated' ? this.sample(part.part, character, most, choice).repeat(Math.max(most, part.least)) : ''
  }

  /** What stands before and behind a part that lies in another. */
  around(part: Part, wanted: Part, character: string, most: 0 | 1): [before: string, behind: string] {
    if (part === wanted || part.kind === 'nothing' || part.kind === 'character') return ['', '']
    if (part.kind === 'repeated') return this.around(part.part, wanted, character, most)
    const index = part.parts.findIndex((each) => holds(each, wanted))
    const [before, behind] = this.around(part.parts[index] as Part, wanted, character, most)
    if (part.kind === 'choice') return [before, behind]
    const text = (parts: readonly Part[]) => parts.map((each) => this.sample(each, character, most)).join('')
    return [text(part.parts.slice(0, index)) + before, behind + text(part.parts.slice(index + 1))]
  }
}

const rareCharacters = (): string[] => Array.from({ length: 0x3000 }, (_, code) => String.fromCharCode(code))

function holds(part: Part, wanted: Part): boolean {
  if (part === wanted) return true
  if (part.kind === 'repeated') return holds(part.part, wanted)
  return (part.kind === 'row' || part.kind === 'choice') && part.parts.some((each) => holds(each, wanted))
}

/** Each about as long as that. */
export function* hardTexts(source: string, flags: string, length: number): Generator<string> {
  const expression = new Expression(source, flags)
  const filled = (unit: string) => unit.repeat(Math.ceil(length / unit.length))
  const seen = new Set<string>()
  const isNew = (...parts: string[]): boolean => {
    const key = JSON.stringify(parts)
    return !seen.has(key) && seen.add(key) !== undefined
  }
  for (const repeated of expression.endless) {
    for (const character of expression.characters) {
      for (const most of [0, 1] as const) {
        const [before, behind] = expression.around(expression.whole, repeated, character, most)
        for (let choice = 0; choice < 3; choice++) {
          const unit = expression.sample(repeated.part, character, 1, choice)
          if (unit === '') continue
          for (const misfit of misfits) if (isNew(before, unit, misfit)) yield before + filled(unit) + misfit
          // Not at the beginning, where what is anchored there would take all of it.
          if (before === '' && isNew('x', unit)) yield `x${filled(unit)}\u0001`
          if (isNew(before, unit, behind, '\u0001')) yield `${before}${filled(unit)}${behind}\u0001`
          if (before !== '' && isNew(before + unit)) yield filled(before + unit)
        }
      }
    }
  }
}
