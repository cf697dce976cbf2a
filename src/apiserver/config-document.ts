import { jsYaml } from '#api/codec/js-yaml.ts'
import { lengthOfTimeMs } from '#base/duration.ts'

/** Takes a configuration file apart. Unknown fields and wrong types are errors: a typo must not change who gets in, or what is encrypted. */
export class ConfigDocument {
  readonly #path: string

  constructor(path: string) {
    this.#path = path
  }

  /** The fields of a document of that kind, in one of those versions. */
  static async read(text: string, path: string, kind: string, versions: readonly string[], fields: readonly string[]) {
    const { load } = jsYaml()
    const document = new ConfigDocument(path)
    const root = document.map(load(text), '', ['apiVersion', 'kind', ...fields])
    const { kind: foundKind, apiVersion } = root
    if (foundKind !== kind || !versions.includes(String(apiVersion))) {
      throw new Error(`${path}: expected ${kind} of ${versions.join(' or ')}, found ${foundKind} of ${apiVersion}`)
    }
    return { document, root }
  }

  map(value: unknown, at: string, known: readonly string[]): Record<string, unknown> {
    if (value === undefined || value === null || typeof value !== 'object' || Array.isArray(value)) {
      throw new Error(`${this.#path}: ${at || 'the document'} is not a map`)
    }
    for (const key of Object.keys(value)) {
      if (!known.includes(key)) throw new Error(`${this.#path}: unknown field "${at === '' ? key : `${at}.${key}`}"`)
    }
    return value as Record<string, unknown>
  }

  /** An absent map is an empty one. */
  optionalMap(value: unknown, at: string, known: readonly string[]): Record<string, unknown> {
    return value === undefined || value === null ? {} : this.map(value, at, known)
  }

  list<T>(value: unknown, at: string, item: (value: unknown, at: string) => T): T[] {
    if (value === undefined || value === null) return []
    if (!Array.isArray(value)) throw new Error(`${this.#path}: ${at} is not a list`)
    return value.map((one, index) => item(one, `${at}[${index}]`))
  }

  text(value: unknown, at: string): string {
    return this.optionalText(value, at) ?? ''
  }

  optionalText(value: unknown, at: string): string | undefined {
    if (value === undefined || value === null) return undefined
    if (typeof value !== 'string') throw new Error(`${this.#path}: ${at} is not a string`)
    return value
  }

  flag(value: unknown, at: string, absent: boolean): boolean {
    if (value === undefined || value === null) return absent
    if (typeof value !== 'boolean') throw new Error(`${this.#path}: ${at} is not a boolean`)
    return value
  }

  /** Go's form of a length of time (`3s`, `1m30s`, `500ms`), in milliseconds. */
  duration(value: unknown, at: string, absentMs: number): number {
    const text = this.optionalText(value, at)
    if (text === undefined) return absentMs
    const ms = lengthOfTimeMs(text)
    if (ms === undefined) throw new Error(`${this.#path}: ${at}: ${JSON.stringify(text)} is not a length of time such as 30s or 1m30s`)
    return ms
  }

  /** Throws with everything that was found wrong. */
  mustBeSound(errors: readonly { field: string; body: string }[]): void {
    if (errors.length > 0) throw new Error(`${this.#path}: ${errors.map(({ field, body }) => `${field}: ${body}`).join(', ')}`)
  }
}
