/** Field selectors: `metadata.name=a,status.phase!=Running`. */
import { quoted } from './check.ts'
import { SelectorError } from './label-requirement.ts'

export type FieldTerm = { field: string; operator: '=' | '!='; value: string }

/** All terms must hold. Immutable. */
export class FieldSelector {
  readonly terms: readonly FieldTerm[]
  #byField: ReadonlyMap<string, FieldTerms> | undefined

  constructor(terms: readonly FieldTerm[]) {
    this.terms = terms
  }

  get isEmpty(): boolean {
    return this.terms.length === 0
  }

  /** `fieldOf` gives the value of a field as text, empty when there is none. */
  matches(fieldOf: (field: string) => string): boolean {
    if (this.terms.length <= fewTerms)
      return this.terms.every(({ field, operator, value }) => (fieldOf(field) === value) === (operator === '='))
    this.#byField ??= termsByField(this.terms)
    for (const [field, { wanted, unwanted }] of this.#byField) {
      const value = fieldOf(field)
      if (wanted.size > 1 || (wanted.size === 1 && !wanted.has(value)) || unwanted.has(value)) return false
    }
    return true
  }

  /** Ready to match many objects; fields without a getter are empty. */
  matcher<T>(getters: Readonly<Record<string, ((object: T) => string) | undefined>>): (object: T) => boolean {
    const tests = this.terms.map(({ field, operator, value }) => {
      const get = (Object.hasOwn(getters, field) ? getters[field] : undefined) ?? (() => '')
      return operator === '=' ? (object: T) => get(object) === value : (object: T) => get(object) !== value
    })
    const [only] = tests
    if (only === undefined) return () => true
    return tests.length === 1 ? only : (object) => tests.every((test) => test(object))
  }

  /** The one value this field must have, for indexes and watches of single objects. */
  requiredValue(field: string): string | undefined {
    return this.terms.find((term) => term.field === field && term.operator === '=')?.value
  }

  /** Renames or refuses fields: what a term becomes, or undefined to drop it. */
  transform(term: (term: FieldTerm) => FieldTerm | undefined): FieldSelector {
    return new FieldSelector(this.terms.map(term).filter((each) => each !== undefined))
  }

  toString(): string {
    return this.terms.map(({ field, operator, value }) => `${field}${operator}${escapeFieldValue(value)}`).join(',')
  }
}

const fewTerms = 8
type FieldTerms = { readonly wanted: Set<string>; readonly unwanted: Set<string> }

/** There are few fields: of thousands of terms each need not be compared by itself. */
function termsByField(terms: readonly FieldTerm[]): ReadonlyMap<string, FieldTerms> {
  const byField = new Map<string, FieldTerms>()
  for (const { field, operator, value } of terms) {
    let ofField = byField.get(field)
    if (ofField === undefined) {
      ofField = { wanted: new Set(), unwanted: new Set() }
      byField.set(field, ofField)
    }
    const values = operator === '=' ? ofField.wanted : ofField.unwanted
    values.add(value)
  }
  return byField
}

const anyField: FieldSelector = new FieldSelector([])

/** Throws a SelectorError in upstream's words. */
export function parseFieldSelector(text: string): FieldSelector {
  if (text === '') return anyField
  const terms = splitTerms(text)
    .sort()
    .filter((term) => term !== '')
    .map((term) => parseTerm(text, term))
  // `=` alone says nothing about nothing.
  return new FieldSelector(terms.filter(({ field, value }) => field !== '' || value !== ''))
}

/** Commas after a backslash belong to the value. */
function splitTerms(text: string): string[] {
  const terms: string[] = []
  let start = 0
  for (let index = 0; index < text.length; index++) {
    if (text[index] === '\\') index++
    else if (text[index] === ',') {
      terms.push(text.slice(start, index))
      start = index + 1
    }
  }
  return [...terms, text.slice(start)]
}

function parseTerm(selector: string, term: string): FieldTerm {
  const match = /!=|==?/.exec(term)
  if (match === null) throw new SelectorError(`invalid selector: '${selector}'; can't understand '${term}'`)
  const [operator] = match
  return {
    field: term.slice(0, match.index),
    operator: operator === '!=' ? '!=' : '=',
    value: unescapeFieldValue(term.slice(match.index + operator.length)),
  }
}

export const escapeFieldValue = (value: string): string => value.replace(/[\\,=]/g, '\\$&')

export function unescapeFieldValue(text: string): string {
  return text.replace(/\\(.?)|[,=]/gsu, (sequence, escaped: string | undefined) => {
    // Upstream prints the character's number.
    if (escaped === undefined) throw new SelectorError(`invalid field selector: unescaped character in value: ${sequence.charCodeAt(0)}`)
    if (!/^[\\,=]$/.test(escaped)) throw new SelectorError(`invalid field selector: invalid escape sequence: ${sequence}`)
    return escaped
  })
}

const ownWords: Record<string, (field: string, apiVersion: string) => string> = {
  Job: (field) => `field label ${quoted(field)} not supported for Job`,
  ResourceSlice: (field, apiVersion) => `field label not supported for ${apiVersion}, Kind=ResourceSlice: ${field}`,
}

/** What a client hears who selects by a field the kind does not offer; kinds with fields of their own word it differently. */
export function unknownFieldMessage(field: string, kind: { apiVersion: string; kind: string; hasOwnFields: boolean }): string {
  const words = ownWords[kind.kind]
  if (words !== undefined && kind.hasOwnFields) return words(field, kind.apiVersion)
  if (kind.hasOwnFields) return `field label not supported: ${field}`
  return `${quoted(field)} is not a known field selector: only "metadata.name", "metadata.namespace"`
}
