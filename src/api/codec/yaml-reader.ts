/** Reads YAML as Go's YAML library does on the way to JSON: its scalars, its merge keys, its idea of keys that are no text. */
import type { Event, ScalarEvent } from 'js-yaml'
import { quoted } from '#api/meta/check.ts'
import { DecodeError } from './decode-error.ts'
import { jsYaml } from './js-yaml.ts'
import { setOwn } from './own-key.ts'
import { libyamlProblem } from './yaml-problem.ts'
import { resolveScalar } from './yaml-scalar.ts'

export type YamlValue = {
  /** JSON, the caller's own: aliases are copies. Of a key that comes twice the last value. */
  value: unknown
  /** Keys that come twice: `line 3: key "a" already set in map`. */
  duplicates: string[]
}

// The parser's numbers for its events, which it is not loaded for.
const document = 1
const sequence = 2
const mapping = 3
const scalar = 4
const alias = 5
const pop = 6
const plainStyle = 1

const maxDepth = 1000
/** More are not worth telling. */
const maxDuplicates = 100
/** Copies that aliases may make, in nodes. */
const maxAliasedNodes = 20_000

type JsonObject = Record<string, unknown>

/** The first document; null where there is none. Throws `DecodeError`. */
export function readYamlValue(source: string): YamlValue {
  return new YamlReader(source, eventsOf(source)).read()
}

/** Every document that is not empty. Throws `DecodeError`. */
export function readYamlValues(source: string): YamlValue[] {
  const reader = new YamlReader(source, eventsOf(source))
  const documents: YamlValue[] = []
  while (!reader.isAtEnd) {
    const read = reader.read()
    if (read.value !== null) documents.push(read)
  }
  return documents
}

function eventsOf(source: string): Event[] {
  const { parseEvents, YAMLException } = jsYaml()
  try {
    return parseEvents(source, { maxDepth })
  } catch (error) {
    if (error instanceof YAMLException) throw new DecodeError(`yaml: ${libyamlProblem(error, source)}`)
    if (error instanceof RangeError) throw new DecodeError('yaml: exceeded max depth')
    throw error
  }
}

/** A mapping's key `<<`, as against the text. */
const mergeKey = Symbol('merge')

class YamlReader {
  readonly #source: string
  readonly #events: Event[]
  #at = 0
  #duplicates: string[] = []
  /** From an anchor's name to where its node starts in the events. */
  #anchors = new Map<string, number>()
  /** Anchors whose node is being read: an alias among them would never end. */
  readonly #open = new Set<number>()
  #aliasedNodes = 0
  #aliasDepth = 0

  constructor(source: string, events: Event[]) {
    this.#source = source
    this.#events = events
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#events.length
  }

  read(): YamlValue {
    this.#duplicates = []
    this.#anchors = new Map()
    if (this.isAtEnd) return { value: null, duplicates: [] }
    this.#at++
    const value = this.#events[this.#at]?.type === pop ? null : this.#node()
    while (!this.isAtEnd && this.#events[this.#at]?.type !== document) this.#at++
    return { value, duplicates: this.#duplicates }
  }

  #node(): unknown {
    const start = this.#at++
    const event = this.#events[start]
    if (event === undefined) throw new DecodeError('yaml: unexpected end of stream')
    if (this.#aliasDepth > 0 && ++this.#aliasedNodes > maxAliasedNodes) throw new DecodeError('yaml: document contains excessive aliasing')
    switch (event.type) {
      case alias:
        return this.#alias(this.#source.slice(event.anchorStart, event.anchorEnd))
      case scalar:
        this.#anchor(event, start)
        return jsonOf(this.#scalar(event))
      case sequence:
        this.#anchor(event, start)
        return this.#whileOpen(start, () => this.#list())
      case mapping:
        this.#anchor(event, start)
        return this.#whileOpen(start, () => this.#map({}))
      default:
        throw new DecodeError('yaml: unexpected event')
    }
  }

  #anchor(event: { anchorStart: number; anchorEnd: number }, start: number): void {
    if (event.anchorStart >= 0) this.#anchors.set(this.#source.slice(event.anchorStart, event.anchorEnd), start)
  }

  /** Reads the anchored node once more. */
  #alias(name: string): unknown {
    return this.#atAnchor(name, () => this.#node())
  }

  #atAnchor<T>(name: string, read: () => T): T {
    const target = this.#anchors.get(name)
    if (target === undefined) throw new DecodeError(`yaml: unknown anchor '${name}' referenced`)
    if (this.#open.has(target)) throw new DecodeError(`yaml: anchor '${name}' value contains itself`)
    const back = this.#at
    this.#at = target
    this.#aliasDepth++
    const value = read()
    this.#aliasDepth--
    this.#at = back
    return value
  }

  #whileOpen<T>(start: number, read: () => T): T {
    this.#open.add(start)
    const value = read()
    this.#open.delete(start)
    return value
  }

  #list(): unknown[] {
    const list: unknown[] = []
    while (this.#events[this.#at]?.type !== pop) list.push(this.#node())
    this.#at++
    return list
  }

  #map(map: JsonObject): JsonObject {
    while (this.#events[this.#at]?.type !== pop) {
      const key = this.#key()
      if (key === mergeKey) {
        this.#merge(map)
        continue
      }
      const valueAt = this.#at
      if (Object.hasOwn(map, key) && this.#duplicates.length < maxDuplicates) {
        this.#duplicates.push(`line ${this.#lineOf(valueAt)}: key ${quoted(key)} already set in map`)
      }
      setOwn(map, key, this.#node())
    }
    this.#at++
    return map
  }

  #key(): string | typeof mergeKey {
    const event = this.#events[this.#at]
    if (event?.type === scalar) {
      const source = jsYaml().getScalarValue(this.#source, event)
      if (source === '<<' && event.style === plainStyle && event.tagStart < 0) {
        this.#at++
        return mergeKey
      }
    }
    return this.#keyText(this.#node())
  }

  #keyText(key: unknown): string {
    if (typeof key === 'string') return key
    if (key === null) {
      const value = this.#node()
      const shown = typeof value === 'string' ? quoted(value) : String(value)
      throw new DecodeError(`unsupported map key of type: %!s(<nil>), key: <nil>, value: ${shown}`)
    }
    if (typeof key === 'object') throw new DecodeError(`yaml: invalid map key: ${JSON.stringify(key)}`)
    return String(key)
  }

  #merge(map: JsonObject): void {
    const event = this.#events[this.#at]
    if (event?.type === mapping) {
      this.#at++
      this.#map(map)
    } else if (event?.type === alias) {
      this.#at++
      this.#atAnchor(this.#source.slice(event.anchorStart, event.anchorEnd), () => this.#mergeMapping(map))
    } else if (event?.type === sequence) {
      this.#mergeList(map)
    } else throw new DecodeError('yaml: map merge requires map or sequence of maps as the value')
  }

  #mergeMapping(map: JsonObject): void {
    if (this.#events[this.#at++]?.type !== mapping) throw new DecodeError('yaml: map merge requires map or sequence of maps as the value')
    if (++this.#aliasedNodes > maxAliasedNodes) throw new DecodeError('yaml: document contains excessive aliasing')
    this.#map(map)
  }

  /** Earlier maps of the list win over later ones. */
  #mergeList(map: JsonObject): void {
    this.#at++
    const sources: JsonObject[] = []
    while (this.#events[this.#at]?.type !== pop) {
      const source = this.#node()
      if (typeof source !== 'object' || source === null || Array.isArray(source)) {
        throw new DecodeError('yaml: map merge requires map or sequence of maps as the value')
      }
      sources.push(source as JsonObject)
    }
    this.#at++
    for (const source of sources.reverse()) for (const [key, value] of Object.entries(source)) setOwn(map, key, value)
  }

  #scalar(event: ScalarEvent): unknown {
    const source = jsYaml().getScalarValue(this.#source, event)
    const tag = event.tagStart < 0 ? '' : this.#source.slice(event.tagStart, event.tagEnd)
    if (tag === '!!binary') return Buffer.from(source, 'base64').toString()
    if (tag === '!!str' || (tag !== '' && !/^!!(bool|int|float|null|timestamp)$/.test(tag))) return source
    if (tag === '' && event.style !== plainStyle) return source
    const resolved = resolveScalar(source)
    return 'value' in resolved ? resolved.value : source
  }

  #lineOf(index: number): number {
    const event = this.#events[index]
    const offset = event === undefined ? 0 : 'valueStart' in event ? event.valueStart : 'start' in event ? event.start : 0
    return this.#source.slice(0, offset).split('\n').length
  }
}

/** What of YAML's values JSON has none of. */
function jsonOf(value: unknown): unknown {
  if (typeof value === 'number' && !Number.isFinite(value)) {
    throw new DecodeError(`json: unsupported value: ${Number.isNaN(value) ? 'NaN' : value > 0 ? '+Inf' : '-Inf'}`)
  }
  return value
}
