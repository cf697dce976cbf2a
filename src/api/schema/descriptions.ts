/**
 * What types and fields are for, in upstream's words. Those are no part of this repository: they come from the typings of
 * the official client, in a package as one file made from them, in a checkout from the typings themselves.
 */
import { describedIn, type TypeDescriptions, typingsNames } from './client-typings.ts'
import { findSchema, schemaNames, schemaOf } from './schema.ts'

/** Where a package keeps them. */
export const descriptionsPath = 'lib/descriptions.json'
const typingsPath = (name: string): string => `node_modules/@kubernetes/client-node/dist/gen/models/${name}.d.ts`

/** A file's text by its path in the package; undefined where there is none. */
export type TextReader = (path: string) => string | undefined

export class Descriptions {
  readonly #read: TextReader
  readonly #types = new Map<string, TypeDescriptions>()
  #packaged: Record<string, Record<string, string>> | undefined
  #byShortName: Map<string, string> | undefined

  constructor(read: TextReader) {
    this.#read = read
  }

  /**
   * Of a type, by its name in the schema or the short one (`ObjectMeta`, of the most stable version that has it), or of
   * one of its fields, by the name in JSON. Empty where nothing is known.
   */
  of(typeName: string, field = ''): string {
    const name = typeName.includes('.') ? typeName : (this.#shortNames().get(typeName) ?? '')
    if (name === '') return ''
    return this.ofType(name).get(field) ?? this.#ofFieldType(name, field)
  }

  /** The typings tell nothing of fields that hold an object, but what the object is. */
  #ofFieldType(name: string, field: string): string {
    const value = findSchema(name)?.fieldsByName.get(field)?.value
    return value?.kind === 'message' ? (this.ofType(value.type.name).get('') ?? '') : ''
  }

  /** By field; the type's own is under the empty name. */
  ofType(name: string): TypeDescriptions {
    const known = this.#types.get(name)
    if (known !== undefined) return known
    const packaged = this.#fromPackage()[name]
    const found = packaged === undefined ? this.#fromTypings(name) : new Map(Object.entries(packaged))
    this.#types.set(name, found)
    return found
  }

  #fromPackage(): Record<string, Record<string, string>> {
    this.#packaged ??= JSON.parse(this.#read(descriptionsPath) ?? '{}') as Record<string, Record<string, string>>
    return this.#packaged
  }

  #fromTypings(name: string): TypeDescriptions {
    for (const candidate of typingsNames(name)) {
      const text = this.#read(typingsPath(candidate))
      if (text === undefined) continue
      return describedIn(
        text,
        schemaOf(name).fields.map((field) => field.name),
      )
    }
    return new Map()
  }

  #shortNames(): Map<string, string> {
    if (this.#byShortName !== undefined) return this.#byShortName
    const names = new Map<string, string>()
    // The later ones win: alpha, beta, then what is stable, and the core group last of all.
    const rank = (name: string): number => (name.includes('alpha') ? 0 : name.includes('beta') ? 1 : name.includes('.core.') ? 3 : 2)
    for (const name of schemaNames().sort((a, b) => rank(a) - rank(b))) names.set(name.slice(name.lastIndexOf('.') + 1), name)
    this.#byShortName = names
    return names
  }
}
