/** Calico's selectors: `app == 'web' && tier in {'a', 'b'}`, `has(role)`, `all()`. */
export type CalicoSelector = {
  matches(labels: Readonly<Record<string, string>> | undefined): boolean
  /** The same for selectors that were written the same. */
  toString(): string
}

type Test = (labels: Readonly<Record<string, string>>) => boolean

/** Deeper and longer ones are written by nobody but to do harm. */
const deepest = 64
const longest = 65_536

/** Throws where it is none. Empty selects everything, as Calico has it. */
export function parseCalicoSelector(text: string): CalicoSelector {
  if (text.length > longest) throw new Error(`a text of ${text.length} letters is no selector of Calico: ${longest} are the most`)
  const test = text.trim() === '' ? () => true : new Parser(text).whole()
  return { matches: (labels) => test(labels ?? {}), toString: () => `calico ${text.trim()}` }
}

const word = /\s*(&&|\|\||==|!=|[(){},!]|'[^']*'|"[^"]*"|[A-Za-z0-9_./-]+)/y

class Parser {
  readonly #text: string
  readonly #words: string[] = []
  #position = 0
  #depth = 0

  constructor(text: string) {
    this.#text = text
    const { length } = text.trimEnd()
    word.lastIndex = 0
    while (word.lastIndex < length) {
      const start = word.lastIndex
      const found = word.exec(text)
      if (found === null) throw this.#wrong(text.slice(start))
      this.#words.push(found[1] ?? '')
    }
  }

  whole(): Test {
    const test = this.#either()
    if (this.#position < this.#words.length) throw this.#wrong(this.#words[this.#position] ?? '')
    return test
  }

  #either(): Test {
    const tests = [this.#both()]
    while (this.#takes('||')) tests.push(this.#both())
    return tests.length === 1 ? (tests[0] as Test) : (labels) => tests.some((test) => test(labels))
  }

  #both(): Test {
    const tests = [this.#one()]
    while (this.#takes('&&')) tests.push(this.#one())
    return tests.length === 1 ? (tests[0] as Test) : (labels) => tests.every((test) => test(labels))
  }

  #one(): Test {
    if (++this.#depth > deepest) throw this.#wrong('too many brackets')
    try {
      if (this.#takes('!')) {
        const test = this.#one()
        return (labels) => !test(labels)
      }
      if (this.#takes('(')) {
        const test = this.#either()
        this.#expect(')')
        return test
      }
      return this.#condition()
    } finally {
      this.#depth--
    }
  }

  #condition(): Test {
    const key = this.#next()
    if ((key === 'all' || key === 'global') && this.#takes('(')) {
      this.#expect(')')
      // Pods are what is selected from here, and none of them is outside of namespaces.
      return () => key === 'all'
    }
    if (key === 'has' && this.#takes('(')) {
      const label = this.#next()
      this.#expect(')')
      return (labels) => Object.hasOwn(labels, label)
    }
    const operator = this.#next()
    switch (operator) {
      case '==': {
        const value = this.#string()
        return (labels) => Object.hasOwn(labels, key) && labels[key] === value
      }
      case '!=': {
        const value = this.#string()
        return (labels) => !Object.hasOwn(labels, key) || labels[key] !== value
      }
      case 'contains': {
        const value = this.#string()
        return (labels) => Object.hasOwn(labels, key) && (labels[key] ?? '').includes(value)
      }
      case 'starts':
      case 'ends': {
        this.#expect('with')
        const value = this.#string()
        const holds = operator === 'starts' ? (one: string) => one.startsWith(value) : (one: string) => one.endsWith(value)
        return (labels) => Object.hasOwn(labels, key) && holds(labels[key] ?? '')
      }
      case 'in': {
        const values = this.#strings()
        return (labels) => Object.hasOwn(labels, key) && values.has(labels[key] ?? '')
      }
      case 'not': {
        this.#expect('in')
        const values = this.#strings()
        return (labels) => !Object.hasOwn(labels, key) || !values.has(labels[key] ?? '')
      }
      default:
        throw this.#wrong(operator)
    }
  }

  #strings(): Set<string> {
    const values = new Set<string>()
    this.#expect('{')
    while (!this.#takes('}')) {
      values.add(this.#string())
      if (this.#words[this.#position] !== '}') this.#expect(',')
    }
    return values
  }

  #string(): string {
    const text = this.#next()
    if (!/^['"]/.test(text)) throw this.#wrong(text)
    return text.slice(1, -1)
  }

  #next(): string {
    const next = this.#words[this.#position++]
    if (next === undefined) throw this.#wrong('the end')
    return next
  }

  #takes(expected: string): boolean {
    if (this.#words[this.#position] !== expected) return false
    this.#position++
    return true
  }

  #expect(expected: string): void {
    if (!this.#takes(expected)) throw this.#wrong(this.#words[this.#position] ?? 'the end')
  }

  #wrong(at: string): Error {
    return new Error(`${JSON.stringify(this.#text)} is no selector of Calico: ${at} is not expected there`)
  }
}
