/** Texts with JSONPath in braces: `{range .items[*]}{.metadata.name}{"\n"}{end}`. */
import { jsonText } from '#api/codec/json-text.ts'
import { type JsonPath, JsonPathError, type JsonPathOptions, parseJsonPath } from '#api/meta/json-path.ts'
import { goNumber, sortedKeys } from './go-values.ts'

type Node = { text: string } | { path: JsonPath } | { range: JsonPath; body: Node[] }

export class JsonPathTemplate {
  readonly #nodes: Node[]

  /** Throws `JsonPathError`. */
  constructor(text: string, options: JsonPathOptions = {}) {
    this.#nodes = new TemplateReader(text, options).read()
  }

  /** What is printed for an object. */
  render(object: unknown): string {
    return renderNodes(this.#nodes, sortedKeys(object))
  }

  /** The values each place stands for, without the text between them. */
  values(object: unknown): unknown[][] {
    return valuesOf(this.#nodes, object)
  }
}

const valuesOf = (nodes: readonly Node[], object: unknown): unknown[][] =>
  nodes.flatMap((node) => {
    if ('path' in node) return [[...node.path(object)]]
    return 'range' in node ? node.range(object).flatMap((each) => valuesOf(node.body, each)) : []
  })

/** `a.b`, `.a.b` and `{.a.b}` mean the same. Throws `JsonPathError`. */
export function relaxedPath(text: string): string {
  if (text === '') return text
  const match = /^\{\.?([^{}]+)\}$|^\.?([^{}]+)$/.exec(text)
  if (match === null)
    throw new JsonPathError(`unexpected path string, expected a 'name1.name2' or '.name1.name2' or '{name1.name2}' or '{.name1.name2}'`)
  return `{.${match[1] ?? match[2]}}`
}

function renderNodes(nodes: readonly Node[], current: unknown): string {
  let out = ''
  for (const node of nodes) {
    if ('text' in node) out += node.text
    else if ('path' in node) out += node.path(current).map(valueText).join(' ')
    else for (const each of node.range(current)) out += renderNodes(node.body, each)
  }
  return out
}

export function valueText(value: unknown): string {
  if (typeof value === 'string') return value
  if (value === null || value === undefined) return ''
  return typeof value === 'object' ? jsonText(value) : goNumber(value)
}

class TemplateReader {
  readonly #text: string
  readonly #options: JsonPathOptions
  #at = 0
  #depth = 0

  constructor(text: string, options: JsonPathOptions) {
    this.#text = text
    this.#options = options
  }

  read(): Node[] {
    return this.#nodes()
  }

  #nodes(): Node[] {
    const nodes: Node[] = []
    while (this.#at < this.#text.length) {
      const open = this.#text.indexOf('{', this.#at)
      if (open < 0) {
        nodes.push({ text: this.#text.slice(this.#at) })
        this.#at = this.#text.length
        break
      }
      if (open > this.#at) nodes.push({ text: this.#text.slice(this.#at, open) })
      const action = this.#action(open + 1).trim()
      const range = /^range(?=[\s.[@$]|$)(.*)$/s.exec(action)?.[1]
      if (action === 'end') {
        if (this.#depth === 0) throw new JsonPathError('not in range, nothing to end')
        this.#depth--
        return nodes
      }
      if (range !== undefined) {
        this.#depth++
        // One that is not ended reaches to the end of the text.
        const body = this.#nodes()
        nodes.push({ range: parseJsonPath(range.trim(), this.#options), body })
      } else nodes.push(literal(action) ?? { path: parseJsonPath(action, this.#options) })
    }
    return nodes
  }

  /** The inside of braces; those in quotes do not count. */
  #action(start: number): string {
    let quote = ''
    for (let at = start; at < this.#text.length; at++) {
      const char = this.#text[at] ?? ''
      if (quote !== '') {
        if (char === '\\') at++
        else if (char === quote) quote = ''
      } else if (char === '"' || char === "'") quote = char
      else if (char === '}') {
        this.#at = at + 1
        return this.#text.slice(start, at)
      }
    }
    throw new JsonPathError('unclosed action')
  }
}

function literal(action: string): Node | undefined {
  const quoted = /^"((?:[^"\\]|\\.)*)"$/s.exec(action)?.[1] ?? /^'((?:[^'\\]|\\.)*)'$/s.exec(action)?.[1]
  if (quoted === undefined) return undefined
  // The escapes of Go, in which a quote of the other kind needs none.
  return {
    text: quoted.replace(/\\(u[\da-fA-F]{4}|x[\da-fA-F]{2}|U[\da-fA-F]{8}|[0-7]{3}|.)/gs, (_, code: string) => {
      if (/^[xuU]./.test(code)) return String.fromCodePoint(Number.parseInt(code.slice(1), 16))
      if (/^[0-7]{3}$/.test(code)) return String.fromCodePoint(Number.parseInt(code, 8))
      const char = escapes[code]
      if (char === undefined) throw new JsonPathError(`unquote string ${action} error invalid syntax`)
      return char
    }),
  }
}

const escapes: Readonly<Record<string, string>> = {
  n: '\n',
  t: '\t',
  r: '\r',
  a: '\u0007',
  b: '\b',
  f: '\f',
  v: '\v',
  '\\': '\\',
  "'": "'",
  '"': '"',
}
