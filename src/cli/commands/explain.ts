/** `kubectl explain`: what the fields of a resource mean, by the server's OpenAPI documents. */
import type { Call } from '#cli/call.ts'
import { CliError, NoResourceError, PlainError } from '#cli/cli-error.ts'
import { type Schema, schemaOf } from '#cli/commands/explained-schema.ts'
import { groupAndVersion, resourceText } from '#cli/session/resource-types.ts'
import type { ResourceType } from '#cli/session/served-resources.ts'

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
  const format = flags.text('output')
  if (format === 'plaintext-openapiv2') {
    const { explainV2 } = await import('./explain-v2.ts')
    return explainV2(call, type, path)
  }
  if (format !== 'plaintext') throw new CliError(`unrecognized format: ${format}`)
  const rest = await session.rest
  const place = type.group === '' ? `api/${type.version}` : `apis/${type.group}/${type.version}`
  const document = await rest.json<Document>({ path: `/openapi/v3/${place}` })
  const root = schemaOf(type, document.components?.schemas ?? {})
  if (root === undefined) throw new CliError(`GVR (${type.group}/${type.version}, Resource=${type.plural}) not found in OpenAPI schema`)
  const out = new Explanation(document, flags.isOn('recursive'))
  host.write(`${type.group === '' ? '' : `GROUP:      ${type.group}\n`}KIND:       ${type.kind}\nVERSION:    ${type.version}\n\n`)
  const text = out.output(root, path, new Set())
  if (text === '') throw new CliError(`field ${JSON.stringify(path.at(-1))} does not exist`)
  host.write(`${text}\n`)
}

/** The resource may have its group behind it: `deployments.apps.spec`. */
async function resourceAndPath({ flags, session }: Call, text: string): Promise<{ type: ResourceType; path: string[] }> {
  const types = await session.types
  const apiVersion = flags.text('api-version')
  const [word = '', ...path] = fieldsOf(text)
  const type = await types.find(word)
  if (type === undefined) throw new PlainError(new NoResourceError(word, '', '').message)
  if (apiVersion === '') {
    // Of several groups the first whose whole name the text begins with.
    const named = (await types.allNamed(word)).find((each) => text.startsWith(resourceText(each)))
    return named === undefined ? { type, path } : { type: named, path: fieldsOf(text.slice(resourceText(named).length).replace(/^\./, '')) }
  }
  if (apiVersion.split('/').length > 2) throw new CliError(`unexpected GroupVersion string: ${apiVersion}`)
  const [group, version] = groupAndVersion(apiVersion)
  const { resources, groupVersions } = await types.all()
  const other = resources.find((each) => each.plural === type.plural && each.group === group && each.version === version)
  if (other !== undefined) return { type: other, path }
  if (flags.text('output') === 'plaintext-openapiv2')
    throw new CliError(`couldn't find resource for "${group}/${version}, Kind=${type.kind}"`)
  throw new CliError(
    groupVersions.includes(group === '' ? version : `${group}/${version}`)
      ? `GVR (${group}/${version}, Resource=${type.plural}) not found in OpenAPI schema`
      : `couldn't find resource for "${group}/${version}, Resource=${type.plural}"`,
  )
}

/** The text is read as a JSONPath, in which nothing but names of fields may be. */
function fieldsOf(text: string): string[] {
  if (/^\.|[[\s]/.test(text)) throw new CliError('invalid jsonpath syntax, first node must be field node')
  const strange = /[^\w.[\]*$@'":?()/\\-]/u.exec(text)?.[0]
  if (strange !== undefined) {
    const code = (strange.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')
    throw new CliError(`unrecognized character in action: U+${code} '${strange}'`)
  }
  return text === '' ? [] : text.replace(/\.$/, '').split('.')
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
      // Spaces between words stay as many as they are, unless the line ends there.
      for (const [, space = '', word = ''] of line.trim().matchAll(/(\s*)(\S+)/g)) {
        if (current === '') current = lead + word
        else if (current.length + space.length + word.length <= width) current += space + word
        else {
          lines.push(current)
          current = word
        }
      }
      return [...lines, current].join('\n')
    })
    .join('\n')
}
