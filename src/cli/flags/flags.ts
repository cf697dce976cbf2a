import { parseDurationMs } from '#base/duration.ts'
import { trimEndOf } from '#base/trim-end.ts'
import type { FlagSpec } from './command-spec.ts'

/** The flags of one command line: what was given, else what they are by default. */
export class Flags {
  readonly #specs: ReadonlyMap<string, FlagSpec>
  readonly #given = new Map<string, string[]>()

  constructor(specs: ReadonlyMap<string, FlagSpec>) {
    this.#specs = specs
  }

  /** Of a flag that may be repeated the value is added, of others it replaces the one before. Throws where it is none for the type. */
  give(spec: FlagSpec, value: string): void {
    const values = checkedValues(spec, value)
    const before = this.#given.get(spec.name)
    this.#given.set(spec.name, before !== undefined && isRepeated(spec) ? [...before, ...values] : values)
  }

  /** Without those that the command itself has: its `--user` is not the one of every command. */
  except(names: Iterable<string>): Flags {
    const left = new Flags(this.#specs)
    const hidden = new Set(names)
    for (const [name, values] of this.#given) if (!hidden.has(name)) left.#given.set(name, values)
    return left
  }

  has(name: string): boolean {
    return this.#specs.has(name)
  }
  isSet(name: string): boolean {
    return this.#given.has(name)
  }
  text(name: string): string {
    return this.#given.get(name)?.at(-1) ?? this.#specs.get(name)?.initial ?? ''
  }
  isOn(name: string): boolean {
    return isTrue(this.text(name))
  }
  number(name: string): number {
    return Number(this.text(name))
  }
  durationMs(name: string): number {
    const text = this.text(name)
    return text === '' ? 0 : parseDurationMs(text)
  }
  list(name: string): string[] {
    return this.#given.get(name) ?? []
  }
  get names(): string[] {
    return [...this.#given.keys()]
  }
}

const isRepeated = ({ type }: FlagSpec): boolean => type === 'list' || type === 'array' || type === 'map'

const trues = new Set(['1', 't', 'T', 'true', 'TRUE', 'True'])
const falses = new Set(['0', 'f', 'F', 'false', 'FALSE', 'False'])
const isTrue = (text: string): boolean => trues.has(text)

/** Flags whose numbers have 32 bits; others have 64. */
const narrowNumbers = new Set(['value', 'min', 'max', 'cpu-percent'])

function isInRange(name: string, value: string): boolean {
  const limit = 1n << (narrowNumbers.has(name) ? 31n : 63n)
  const number = BigInt(value.replace('+', ''))
  return number >= -limit && number < limit
}

function checkedValues({ name, type }: FlagSpec, value: string): string[] {
  switch (type) {
    case 'bool':
      if (!trues.has(value) && !falses.has(value)) throw new Error(`strconv.ParseBool: parsing ${JSON.stringify(value)}: invalid syntax`)
      return [value]
    case 'int':
      if (!/^[-+]?\d+$/.test(value)) throw new Error(`strconv.ParseInt: parsing ${JSON.stringify(value)}: invalid syntax`)
      if (!isInRange(name, value)) throw new Error(`strconv.ParseInt: parsing ${JSON.stringify(value)}: value out of range`)
      return [value]
    case 'duration':
      parseDurationMs(value)
      return [value]
    case 'list':
      return value === '' ? [] : splitCsv(value)
    case 'map':
      return pairsOf(value)
    default:
      if (name === 'aggregation-rule' && value.split(',').some((pair) => !pair.includes('=')))
        throw new Error('malformed pair, expect string=string')
      return [value]
  }
}

/** `a=1,b=2`; a single pair may have commas in its value. */
function pairsOf(text: string): string[] {
  const pairs = text.split('=').length === 2 ? [trimEndOf(text.replace(/^"+/, ''), '"')] : splitCsv(text)
  const wrong = pairs.find((pair) => !pair.includes('='))
  if (wrong !== undefined) throw new Error(`${wrong} must be formatted as key=value`)
  return pairs
}

/** One record of comma-separated values; what holds commas may be in quotes. */
function splitCsv(text: string): string[] {
  const values: string[] = []
  let value = ''
  for (let at = 0; at <= text.length; at++) {
    const char = text[at]
    if (char === undefined || char === ',') {
      values.push(value)
      value = ''
    } else if (char === '"' && value === '') {
      for (at++; at < text.length; at++) {
        if (text[at] !== '"') value += text[at]
        else if (text[at + 1] === '"') value += text[at++]
        else break
      }
    } else value += char
  }
  return values
}
