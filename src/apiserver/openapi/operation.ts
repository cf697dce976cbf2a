/** An operation of the API, before it is written down in one version of OpenAPI or the other. */

export type Method = 'get' | 'put' | 'post' | 'delete' | 'options' | 'head' | 'patch'

export type Parameter = {
  readonly name: string
  readonly in: 'path' | 'query'
  readonly type: 'string' | 'boolean' | 'integer'
  /** Asked for when the document is written. */
  text(): string
  /** Stands in version 2 documents where it is used: clients look there for these, and follow no references. */
  readonly isInline?: true
}

export type Response = {
  readonly code: number
  /** A type of the schema, or just text. */
  readonly type?: string | 'text'
}

export type Operation = {
  readonly method: Method
  readonly id: string
  readonly text?: string
  readonly tag: string
  readonly action?: string
  readonly kind?: { readonly group: string; readonly version: string; readonly kind: string }
  readonly parameters: readonly Parameter[]
  readonly body?: { readonly type: string; readonly isRequired: boolean }
  readonly consumes?: readonly string[]
  readonly produces?: readonly string[]
  readonly responses: readonly Response[]
}

export type PathItem = { readonly path: string; readonly operations: readonly Operation[] }

export const responseTexts: Readonly<Record<number, string>> = { 200: 'OK', 201: 'Created', 202: 'Accepted', 401: 'Unauthorized' }

/** What every operation of a path takes is said once, for the path. */
export function sharedParameters({ operations }: PathItem): Parameter[] {
  const [first, ...others] = operations
  return (first?.parameters ?? []).filter((parameter) => others.every(({ parameters }) => parameters.includes(parameter)))
}

/** The types that operations speak of. */
export function typesOf(items: Iterable<PathItem>): Set<string> {
  const types = new Set<string>()
  for (const { operations } of items) {
    for (const { body, responses } of operations) {
      if (body) types.add(body.type)
      for (const { type } of responses) if (type !== undefined && type !== 'text') types.add(type)
    }
  }
  return types
}
