/** `kubectl explain`: what the fields of a resource mean, by the server's OpenAPI documents. */
import type { Call } from '#cli/call.ts'
import { CliError, NoResourceError, PlainError } from '#cli/cli-error.ts'
import { groupAndVersion } from '#cli/session/resource-types.ts'
import type { ResourceType } from '#cli/session/served-resources.ts'

type Schema = {
  $ref?: string
  type?: string
  description?: string
  properties?: Record<string, Schema>
  required?: string[]
  items?: Schema
  additionalProperties?: Schema | boolean
  allOf?: Schema[]
  enum?: unknown[]
  'x-kubernetes-group-version-kind'?: { group: string; version: string; kind: string }[]
}
type Document = { components?: { schemas?: Record<string, Schema> } }

export async function explain(call: Call): Promise<void> {
  const { args, flags, host, session } = call
  const [first] = args
  if (first === undefined)
    throw new CliError(
      'You must specify the type of resource to explain. Use "kubectl api-resources" for a complete list of supported resources.\n',
    )
  if (args.length > 1) throw new CliError('We accept only this format: explain RESOURCE\n')
  const { type, path } = await resourceAndPath(call, first)
  const rest = await session.rest
  const place = type.group === '' ? `api/${type.version}` : `apis/${type.group}/${type.version}`
  const document = await rest.json<Document>({ path: `/openapi/v3/${place}` })
  const root = Object.values(document.components?.schemas ?? {}).find((schema) =>
    schema['x-kubernetes-group-version-kind']?.some(
      ({ group, version, kind }) => group === type.group && version === type.version && kind === type.kind,
    ),
  )
  if (root === undefined) throw new CliError(`GVR (${type.group}/${type.version}, Resource=${type.plural}) not found in OpenAPI schema`)
  const out = new Explanation(document, flags.isOn('recursive'))
  host.write(`${type.group === '' ? '' : `GROUP:      ${type.group}\n`}KIND:       ${type.kind}\nVERSION:    ${type.version}\n\n`)
  const text = out.output(root, path, new Set())
  if (text === '') throw new CliError(`field ${JSON.stringify(path.at(-1))} does not exist`)
  host.write(`${text}\n`)
}

/** The resource may have dots itself: `deployments.apps.spec`. */
async function resourceAndPath({ flags, session }: Call, text: string): Promise<{ type: ResourceType; path: string[] }> {
  const types = await session.types
  const apiVersion = flags.text('api-version')
  const words = text.replace(/\.$/, '').split('.')
  for (let count = words.length; count > 0; count--) {
    const type = await types.find(words.slice(0, count).join('.'))
    if (type === undefined) continue
    if (apiVersion === '') return { type, path: words.slice(count) }
    const [group, version] = groupAndVersion(apiVersion)
    const other = (await types.all()).resources.find(
      (each) => each.plural === type.plural && each.group === group && each.version === version,
    )
    if (other === undefined) throw new CliError(`couldn't find resource for "${group}/${version}, Resource=${type.plural}"`)
    return { type: other, path: words.slice(count) }
  }
  throw new PlainError(new NoResourceError(words[0] ?? '', '', '').message)
}

class Explanation {
  readonly #document: Document
  readonly #isRecursive: boolean

  constructor(document: Document, isRecursive: boolean) {
    this.#document = document
    this.#isRecursive = isRecursive
  }

  #resolved(schema: Schema): Schema {
    const name = schema.$ref?.split('/').at(-1)
    return (name === undefined ? undefined : this.#document.components?.schemas?.[name]) ?? schema
  }

  output(schema: Schema, path: readonly string[], seen: ReadonlySet<string>): string {
    const { $ref = '' } = schema
    const resolved = this.#resolved(schema)
    const [field, ...rest] = path
    if (field === undefined) {
      const fields = this.#fieldList(resolved, 1, new Set())
      return `DESCRIPTION:\n${indented(wrapped(this.#description(resolved) || '<empty>', 76), 4)}\n${fields === '' ? '' : `FIELDS:\n${fields}`}`
    }
    if ($ref !== '' && seen.has($ref)) return ''
    const next = new Set([...seen, $ref])
    const inside = resolved.properties?.[field]
    if (inside !== undefined) {
      const below = this.output(inside, rest, new Set())
      if (below === '') return ''
      return rest.length > 0 ? below : `FIELD: ${field} <${this.#type(inside)}>\n${this.#enum(inside, true, -1, 0)}\n\n${below}`
    }
    if (resolved.items !== undefined) return this.output(resolved.items, path, next)
    if (typeof resolved.additionalProperties === 'object') return this.output(resolved.additionalProperties, path, next)
    for (const each of resolved.allOf ?? []) {
      const text = this.output(each, path, next)
      if (text !== '') return text
    }
    return ''
  }

  #fieldList(schema: Schema, level: number, seen: ReadonlySet<string>): string {
    const { $ref = '' } = schema
    if ($ref !== '' && seen.has($ref)) return ''
    const next = new Set([...seen, ...($ref === '' ? [] : [$ref])])
    const resolved = this.#resolved(schema)
    let text = ''
    for (const name of Object.keys(resolved.properties ?? {}).sort()) {
      const field = resolved.properties?.[name] as Schema
      const indent = level * 2
      text += `${' '.repeat(indent)}${name}\t<${this.#type(field)}>${resolved.required?.includes(name) ? ' -required-' : ''}${this.#enum(field, false, 4, indent)}\n`
      if (this.#isRecursive) text += this.#fieldList(field, level + 1, next)
      else text += `${indented(wrapped(field.description ?? '<no description>', 78 - indent), indent + 2)}\n\n`
    }
    for (const each of resolved.allOf ?? []) text += this.#fieldList(each, level, next)
    if (resolved.items !== undefined) text += this.#fieldList(resolved.items, level, next)
    if (typeof resolved.additionalProperties === 'object') text += this.#fieldList(resolved.additionalProperties, level, next)
    return text
  }

  #description(schema: Schema): string {
    const resolved = this.#resolved(schema)
    let text = resolved.description ? `${resolved.description}\n` : ''
    for (const each of resolved.allOf ?? []) text += this.#description(each)
    if (resolved.items !== undefined) text += this.#description(resolved.items)
    if (typeof resolved.additionalProperties === 'object') text += this.#description(resolved.additionalProperties)
    return text
  }

  #type(schema: Schema): string {
    if (schema.items !== undefined) return `[]${this.#type(schema.items)}`
    if (typeof schema.additionalProperties === 'object') return `map[string]${this.#type(schema.additionalProperties)}`
    const [only] = schema.allOf ?? []
    if (only !== undefined && schema.properties === undefined && schema.allOf?.length === 1) return this.#type(only)
    if (schema.$ref !== undefined) {
      const { type } = this.#resolved(schema)
      return type === undefined || type === 'object' ? (schema.$ref.split(/[./]/).at(-1) ?? 'Object') : type
    }
    return schema.type === undefined || schema.type === 'object' ? 'Object' : schema.type
  }

  #enum(schema: Schema, isLong: boolean, limit: number, indent: number): string {
    const [only] = schema.allOf ?? []
    const values = schema.enum ?? (only === undefined ? undefined : this.#resolved(only).enum)
    if (values === undefined) return ''
    const shown = values.map((value) => (value === '' ? '""' : String(value)))
    const cut = limit >= 0 && shown.length > limit ? `${shown.slice(0, limit).join(', ')}, ....` : shown.join(', ')
    return isLong ? `ENUM:\n${shown.map((value) => `    ${value}`).join('\n')}` : `\n${' '.repeat(indent)}enum: ${cut}`
  }
}

const indented = (text: string, count: number): string =>
  text
    .split('\n')
    .map((line) => ' '.repeat(count) + line)
    .join('\n')

/** Lines of at most that width, paragraphs kept. */
function wrapped(text: string, width: number): string {
  return text
    .split('\n')
    .map((line) => {
      if (line.length <= width) return line
      const lead = /^\s*/.exec(line)?.[0] ?? ''
      const lines: string[] = []
      let current = ''
      for (const word of line.trim().split(/\s+/)) {
        if (current === '') current = lead + word
        else if (current.length + 1 + word.length <= width) current += ` ${word}`
        else {
          lines.push(current)
          current = word
        }
      }
      return [...lines, current].join('\n')
    })
    .join('\n')
}
