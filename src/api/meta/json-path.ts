/** Paths into objects as `kubectl` and table columns write them: `.spec.ports[0].name`, `.items[?(@.kind=="A")].x`, `..name`. */

export class JsonPathError extends Error {}

/** All values at the place; none where it is not there. Throws `JsonPathError` where the path does not fit the value. */
export type JsonPath = (root: unknown) => readonly unknown[]

export type JsonPathOptions = {
  /** A field that is not there is an error: `name is not found`. */
  isStrict?: boolean
}

type Step = (values: readonly unknown[]) => readonly unknown[]

/** Throws `JsonPathError` for what is no path. */
export function parseJsonPath(text: string, { isStrict = false }: JsonPathOptions = {}): JsonPath {
  const steps = new PathReader(text, isStrict).steps()
  return (root) => run(steps, [root])
}

function run(steps: readonly Step[], start: readonly unknown[]): readonly unknown[] {
  let values = start
  for (const step of steps) values = step(values)
  return values
}

const terminators = new Set([' ', '\t', '\r', '\n', '.', ',', '[', ']', '$', '@', '{', '}'])

class PathReader {
  readonly #text: string
  readonly #isStrict: boolean
  #at = 0

  constructor(text: string, isStrict: boolean) {
    this.#text = text
    this.#isStrict = isStrict
  }

  steps(): Step[] {
    const steps: Step[] = []
    let wasRecursive = false
    while (this.#at < this.#text.length) {
      const isRecursive = this.#text.startsWith('..', this.#at)
      if (isRecursive && wasRecursive) throw new JsonPathError('invalid multiple recursive descent')
      steps.push(...this.#step())
      wasRecursive = isRecursive
    }
    return steps
  }

  #step(): Step[] {
    const text = this.#text
    if (text.startsWith('[?(', this.#at)) return [this.#filter()]
    if (text.startsWith('..', this.#at)) {
      this.#at += 2
      return /^[\p{L}\p{Nd}_]/u.test(text.slice(this.#at, this.#at + 2)) ? [everything, this.#field()] : [everything]
    }
    const char = text[this.#at++] ?? ''
    if (char === ' ' || char === '@' || char === '$') return []
    if (char === '.') return [this.#field()]
    if (char === '[') return this.#brackets()
    if (char === '"' || char === "'") return [constant(this.#quoted(char))]
    this.#at--
    if (/[-+\d]/.test(char)) return [constant(this.#number())]
    const word = /^[\p{L}\p{Nd}_]/u.test(char) ? this.#word() : ''
    if (word === 'true' || word === 'false') return [constant(word === 'true')]
    throw new JsonPathError(
      word === '' ? `unrecognized character in action: ${shownCharacter(text, this.#at)}` : `unrecognized identifier ${word}`,
    )
  }

  #word(): string {
    const start = this.#at
    while (this.#at < this.#text.length && !terminators.has(this.#text[this.#at] as string)) {
      this.#at += this.#text[this.#at] === '\\' ? 2 : 1
    }
    return this.#text.slice(start, this.#at)
  }

  #field(): Step {
    const word = this.#word()
    return word === '*' ? contents : field(word.replaceAll('\\', ''), this.#isStrict)
  }

  #number(): number {
    const [written = ''] = /^[-+]?[\d.]*/.exec(this.#text.slice(this.#at)) ?? []
    this.#at += written.length
    if (written === '' || Number.isNaN(Number(written))) throw new JsonPathError(`cannot parse number ${written}`)
    return Number(written)
  }

  #quoted(quote: string): string {
    const start = this.#at
    for (; this.#at < this.#text.length; this.#at++) {
      if (this.#text[this.#at] === '\\') this.#at++
      else if (this.#text[this.#at] === quote) return unescaped(this.#text.slice(start, this.#at++))
    }
    throw new JsonPathError('unterminated quoted string')
  }

  #brackets(): Step[] {
    const end = this.#text.indexOf(']', this.#at)
    if (end < 0) throw new JsonPathError('unterminated array')
    const inside = this.#text.slice(this.#at, end)
    this.#at = end + 1
    const parts = inside.split(',')
    if (parts.length === 1) return bracketSteps(inside, this.#isStrict)
    const alternatives = parts.map((part) => bracketSteps(part.trim(), this.#isStrict))
    return [(values) => alternatives.flatMap((steps) => run(steps, values))]
  }

  #filter(): Step {
    this.#at += '[?('.length
    const start = this.#at
    let quote = ''
    for (; this.#at < this.#text.length; this.#at++) {
      const char = this.#text[this.#at] as string
      if (quote !== '') {
        if (char === '\\') this.#at++
        else if (char === quote) quote = ''
      } else if (char === '"' || char === "'") quote = char
      else if (char === ')') break
    }
    if (this.#at >= this.#text.length) throw new JsonPathError('unterminated filter')
    const inside = this.#text.slice(start, this.#at)
    this.#at += 1
    if (this.#text[this.#at++] !== ']') throw new JsonPathError('unclosed array expect ]')
    return filterBy(inside, this.#isStrict)
  }
}

/** In Go's way: `U+007E '~'`. */
function shownCharacter(text: string, at: number): string {
  const point = text.codePointAt(at) ?? 0
  return `U+${point.toString(16).toUpperCase().padStart(4, '0')} '${String.fromCodePoint(point)}'`
}

const escapes: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r' }

const unescaped = (text: string): string => text.replace(/\\(.)/g, (_, char: string) => escapes[char] ?? char)

const isFields = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null && !Array.isArray(value)

const constant =
  (value: unknown): Step =>
  (values) =>
    values.map(() => value)

const field =
  (name: string, isStrict: boolean): Step =>
  (values) => {
    const found = values.flatMap((value) =>
      isFields(value) && Object.hasOwn(value, name) && value[name] !== undefined ? [value[name]] : [],
    )
    if (isStrict && found.length === 0 && values.length > 0) throw new JsonPathError(`${name} is not found`)
    return found
  }

const inside = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : isFields(value) ? Object.values(value) : [])

const contents: Step = (values) => values.flatMap(inside)

/** Each value that holds others, before those. */
const everything: Step = (values) => {
  const found: unknown[] = []
  const visit = (value: unknown): void => {
    const parts = inside(value)
    if (parts.length === 0) return
    found.push(value)
    parts.forEach(visit)
  }
  values.forEach(visit)
  return found
}

function bracketSteps(text: string, isStrict: boolean): Step[] {
  const key = /^'([^']*)'$/.exec(text)?.[1]
  if (key !== undefined) return new PathReader(`.${key}`, isStrict).steps()
  const slice = /^(-?\d*)(:-?\d*)?(:-?\d*)?$/.exec(text === '*' ? ':' : text)
  if (slice === null) throw new JsonPathError(`invalid array index ${text}`)
  const [first, second, third] = [slice[1], slice[2]?.slice(1), slice[3]?.slice(1)]
  if (slice[2] === undefined && slice[3] === undefined) return [itemAt(Number(first))]
  const step = third ? Number(third) : 1
  return [sliceOf(first ? Number(first) : 0, second ? Number(second) : undefined, step)]
}

function listOf(value: unknown): readonly unknown[] {
  if (!Array.isArray(value)) throw new JsonPathError(`${goTypeOf(value)} is not array or slice`)
  return value
}

function filteredOf(value: unknown): readonly unknown[] {
  if (!Array.isArray(value)) throw new JsonPathError(`${goText(value)} is not array or slice and cannot be filtered`)
  return value
}

/** As Go's `%v` shows a value out of JSON. */
function goText(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(goText).join(' ')}]`
  if (!isFields(value)) return value === null ? '<nil>' : String(value)
  const pairs = Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1))
  return `map[${pairs.map(([key, each]) => `${key}:${goText(each)}`).join(' ')}]`
}

/** What Go calls the type of a value out of JSON. */
function goTypeOf(value: unknown): string {
  if (typeof value === 'number') return Number.isInteger(value) ? 'int64' : 'float64'
  if (typeof value === 'boolean') return 'bool'
  return typeof value === 'string' ? 'string' : 'map[string]interface {}'
}

const itemAt =
  (index: number): Step =>
  (values) =>
    values.flatMap((value) => {
      if (value === null) return []
      const list = listOf(value)
      const place = index < 0 ? index + list.length : index
      if (place < 0 || place >= list.length) throw new JsonPathError(`array index out of bounds: index ${place}, length ${list.length}`)
      return [list[place]]
    })

const sliceOf =
  (from: number, to: number | undefined, step: number): Step =>
  (values) =>
    values.flatMap((value) => {
      if (value === null) return []
      const list = listOf(value)
      const start = from < 0 ? from + list.length : from
      const end = to === undefined ? list.length : to < 0 ? to + list.length : to
      if (start === end) return []
      for (const bound of [start, end - 1]) {
        if (bound < 0 || bound >= list.length) throw new JsonPathError(`array index out of bounds: index ${bound}, length ${list.length}`)
      }
      if (start > end) throw new JsonPathError(`starting index ${start} is greater than ending index ${end}`)
      if (step <= 0) throw new JsonPathError('step must be > 0')
      return list.slice(start, end).filter((_, index) => index % step === 0)
    })

function filterBy(text: string, isStrict: boolean): Step {
  const [, left, operator = '', right = ''] = /^([^!<>=]+)([!<>=]+)(.+)$/s.exec(text) ?? []
  if (left === undefined) {
    // Whether something is there may be asked of what is not, strictly or not.
    const steps = new PathReader(text, false).steps()
    return (values) => values.flatMap((value) => filteredOf(value).filter((item) => run(steps, [item]).length > 0))
  }
  const [one, other] = [new PathReader(left, isStrict).steps(), new PathReader(right, isStrict).steps()]
  return (values) => values.flatMap((value) => filteredOf(value).filter((item) => holds(run(one, [item]), operator, run(other, [item]))))
}

function holds(lefts: readonly unknown[], operator: string, rights: readonly unknown[]): boolean {
  if (lefts.length === 0 || rights.length === 0) return false
  if (lefts.length > 1 || rights.length > 1) throw new JsonPathError('can only compare one element at a time')
  const [left, right] = [lefts[0], rights[0]] as [string | number, string | number]
  if (typeof left !== typeof right) throw new JsonPathError('incompatible types for comparison')
  switch (operator) {
    case '==':
      return left === right
    case '!=':
      return left !== right
    case '<':
      return left < right
    case '>':
      return left > right
    case '<=':
      return left <= right
    case '>=':
      return left >= right
    default:
      throw new JsonPathError(`unrecognized filter operator ${operator}`)
  }
}
