/** `kubectl explain --output=plaintext-openapiv2`: the older layout, by the server's OpenAPI v2 document. */
import type { Call } from '#cli/call.ts'
import { CliError } from '#cli/cli-error.ts'
import { type Schema, schemaOf } from '#cli/commands/explained-schema.ts'
import type { ResourceType } from '#cli/session/served-resources.ts'

type Definitions = Readonly<Record<string, Schema>>

const width = 80
const fieldIndent = 3
const textIndent = 5

export async function explainV2(call: Call, type: ResourceType, path: readonly string[]): Promise<void> {
  const rest = await call.session.rest
  const { definitions } = await rest.json<{ definitions: Definitions }>({ path: '/openapi/v2' })
  const root = schemaOf(type, definitions)
  if (root === undefined) throw new CliError(`couldn't find resource for "${type.group}/${type.version}, Kind=${type.kind}"`)
  const out = new OlderExplanation(definitions, call.flags.isOn('recursive'))
  const version = type.group === '' ? type.version : `${type.group}/${type.version}`
  call.host.write(`KIND:     ${type.kind}\nVERSION:  ${version}\n\n${out.text(root, path)}`)
}

class OlderExplanation {
  readonly #definitions: Definitions
  readonly #isRecursive: boolean

  constructor(definitions: Definitions, isRecursive: boolean) {
    this.#definitions = definitions
    this.#isRecursive = isRecursive
  }

  text(root: Schema, path: readonly string[]): string {
    const { layers, end } = this.#layers(path.reduce((schema, field) => this.#field(schema, field), root))
    const descriptions = [...layers.map(({ description = '' }) => description), end.description ?? '']
    const [first = end] = layers
    const name = path.at(-1)
    const typeName = this.#typeName(first)
    const heading =
      name === undefined || typeName === '' ? '' : `${end.properties === undefined ? 'FIELD:    ' : 'RESOURCE: '}${name} <${typeName}>\n\n`
    const fields = end.properties === undefined ? '' : `\nFIELDS:\n${this.#isRecursive ? this.#tree(end, 1, new Set()) : this.#list(end)}`
    return `${heading}${descriptionText(descriptions)}${fields}`
  }

  /** References, lists and maps down to what is in them. */
  #layers(schema: Schema): { layers: Schema[]; end: Schema } {
    const layers: Schema[] = []
    let end = schema
    for (let inner = this.#inside(end); inner !== undefined; inner = this.#inside(end)) {
      layers.push(end)
      end = inner
    }
    return { layers, end }
  }

  #inside({ $ref, items, additionalProperties, properties }: Schema): Schema | undefined {
    if ($ref !== undefined) return this.#definitions[$ref.split('/').at(-1) ?? '']
    return items ?? (properties === undefined && typeof additionalProperties === 'object' ? additionalProperties : undefined)
  }

  #field(schema: Schema, name: string): Schema {
    const field = this.#layers(schema).end.properties?.[name]
    if (field === undefined) throw new CliError(`field ${JSON.stringify(name)} does not exist`)
    return field
  }

  #typeName(schema: Schema): string {
    if (schema.items !== undefined) return `[]${this.#typeName(schema.items)}`
    if (schema.$ref === undefined && schema.properties === undefined && typeof schema.additionalProperties === 'object')
      return `map[string]${this.#typeName(schema.additionalProperties)}`
    const inner = schema.$ref === undefined ? undefined : this.#inside(schema)
    if (inner !== undefined) return this.#typeName(inner)
    if (schema.properties !== undefined) return 'Object'
    return schema.type === 'object' ? 'map[string]' : (schema.type ?? '')
  }

  #list({ properties = {}, required = [] }: Schema): string {
    return Object.keys(properties)
      .sort()
      .map((name) => {
        const field = properties[name] as Schema
        const isRequired = required.includes(name) ? ' -required-' : ''
        return `${' '.repeat(fieldIndent)}${name}\t<${this.#typeName(field)}>${isRequired}\n${indented(field.description ?? '')}\n`
      })
      .join('')
  }

  #tree({ properties = {} }: Schema, level: number, seen: ReadonlySet<Schema>): string {
    return Object.keys(properties)
      .sort()
      .map((name) => {
        const field = properties[name] as Schema
        const line = `${' '.repeat(fieldIndent * level)}${name}\t<${this.#typeName(field)}>\n`
        const { end } = this.#layers(field)
        return end.properties === undefined || seen.has(end) ? line : line + this.#tree(end, level + 1, new Set([...seen, end]))
      })
      .join('')
  }
}

function descriptionText(descriptions: readonly string[]): string {
  const written = descriptions.map((text, index) => (text === '' ? '' : `${index === 0 ? '' : '\n'}${indented(text)}`)).join('')
  return `DESCRIPTION:\n${written === '' ? indented('<empty>') : written}`
}

const indented = (text: string): string =>
  wrapped(text)
    .map((line) => `${line === '' ? '' : ' '.repeat(textIndent)}${line}\n`)
    .join('')

/** Lines are joined and broken anew, except where they begin lists, code or paragraphs. */
function wrapped(text: string): string[] {
  const lines: string[] = []
  let current = ''
  const flush = () => {
    if (current !== '') lines.push(current)
    current = ''
  }
  for (const line of text.split('\n')) {
    const isCode = line.startsWith('    ')
    const isEmpty = line.trim() === ''
    if (isCode || (isEmpty && lines.length > 0)) {
      flush()
      lines.push(isCode ? line : '')
      continue
    }
    if (isEmpty || current.endsWith(':') || /^(?:\d+\.?|-|\*)\s/.test(line.trim())) flush()
    for (const word of line.split(/\s+/).filter((each) => each !== '')) {
      if (current !== '' && current.length + 1 + word.length > width - textIndent) flush()
      current += current === '' ? word : ` ${word}`
    }
  }
  flush()
  return lines
}
