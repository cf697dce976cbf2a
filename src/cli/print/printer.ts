/** `-o`: from an object to the text that scripts read. */
import { jsonText } from '#api/codec/json-text.ts'
import { yamlText } from '#api/codec/yaml.ts'
import type { ApiObject, Call } from '#cli/call.ts'
import { CliError } from '#cli/cli-error.ts'
import { groupAndVersion, singularText } from '#cli/session/resource-types.ts'
import { sortedKeys } from '#cli/template/go-values.ts'

/** Prints objects one after another; the text includes the line breaks at its end. */
export type Printer = (object: ApiObject) => string

const jsonIndent = 4

const templateFormats = [
  'go-template',
  'go-template-file',
  'template',
  'templatefile',
  'jsonpath',
  'jsonpath-as-json',
  'jsonpath-file',
] as const

/** What most commands take. */
export const commonFormats = [
  'go-template',
  'go-template-file',
  'json',
  'jsonpath',
  'jsonpath-as-json',
  'jsonpath-file',
  'kyaml',
  'name',
  'template',
  'templatefile',
  'yaml',
]
/** What `get` takes, its tables apart. */
export const getFormats = ['custom-columns', 'custom-columns-file', ...commonFormats.slice(0, -1), 'wide', 'yaml']

export type PrinterOptions = {
  formats?: readonly string[]
  /** What was done: `created`, for output that only names the objects. */
  operation?: string
  /** Added to it: ` (dry run)`. */
  suffix?: string
  output?: string
}

/** Undefined where `-o` is not given. Throws for formats that are none. */
export async function printerFor(call: Call, options: PrinterOptions = {}): Promise<Printer | undefined> {
  const { flags, host } = call
  const output = options.output ?? flags.text('output')
  const template = flags.has('template') ? flags.text('template') : ''
  const formats = options.formats ?? commonFormats
  const equals = output.indexOf('=')
  const given = equals < 0 ? output : output.slice(0, equals)
  // These are found however they are written.
  const format =
    output === '' && template !== ''
      ? 'go-template'
      : ['json', 'yaml', 'kyaml', 'name'].includes(given.toLowerCase())
        ? given.toLowerCase()
        : given
  const argument = equals < 0 ? template : output.slice(equals + 1)
  if (output === '' && format === '') return undefined
  if (!formats.includes(format) || (equals >= 0 && !takesArgument(format))) throw unknownFormat(output, formats)
  const keepsManagedFields = flags.has('show-managed-fields') && flags.isOn('show-managed-fields')
  const shown = (object: ApiObject) => (keepsManagedFields ? object : withoutManagedFields(object))
  const allowsMissing = !flags.has('allow-missing-template-keys') || flags.isOn('allow-missing-template-keys')
  switch (format) {
    case 'json':
      return (object) => `${jsonText(sortedUnlessTyped(shown(object)), jsonIndent)}\n`
    case 'yaml':
      return documents((object) => yamlText(shown(object)))
    case 'kyaml': {
      const { kyamlText } = await import('./kyaml.ts')
      return (object) => kyamlText(sortedUnlessTyped(shown(object)))
    }
    case 'name':
      return namePrinter(options)
    case 'custom-columns':
    case 'custom-columns-file': {
      const { customColumns } = await import('./custom-columns.ts')
      return customColumns(format === 'custom-columns' ? argument : await fileText(argument), {
        isFile: format === 'custom-columns-file',
        noHeaders: flags.isOn('no-headers'),
      })
    }
    case 'jsonpath':
    case 'jsonpath-file':
    case 'jsonpath-as-json': {
      if (argument === '') throw new CliError(`template format specified but no template given`)
      const { jsonPathPrinter } = await import('./template-printers.ts')
      return jsonPathPrinter(format === 'jsonpath-file' ? await fileText(argument) : argument, {
        asJson: format === 'jsonpath-as-json',
        allowsMissing,
      })
    }
    default: {
      if (argument === '') throw new CliError(`template format specified but no template given`)
      const { goTemplatePrinter } = await import('./template-printers.ts')
      return goTemplatePrinter(format.endsWith('file') ? await fileText(argument) : argument, { allowsMissing })
    }
  }

  async function fileText(path: string): Promise<string> {
    const text = await host.files.readTextIfPresent(path)
    if (text === undefined)
      throw new CliError(
        `error reading ${format.startsWith('custom') ? 'template' : '--template'} ${path}, open ${path}: no such file or directory\n`,
      )
    return text
  }
}

export const isTemplateFormat = (output: string): boolean =>
  templateFormats.some((format) => output === format || output.startsWith(`${format}=`))

const takesArgument = (format: string): boolean => format.startsWith('custom-columns') || isTemplateFormat(format)

function unknownFormat(output: string, formats: readonly string[]): CliError {
  return new CliError(
    `unable to match a printer suitable for the output format ${JSON.stringify(output)}, allowed formats are: ${[...formats].sort().join(',')}`,
  )
}

/** From the second document on there is a line of dashes before each. */
function documents(text: (object: ApiObject) => string): Printer {
  let count = 0
  return (object) => `${count++ > 0 ? '---\n' : ''}${text(object)}`
}

/** Objects that a command made itself keep the order of their fields; those of a server have none. */
const typed = new WeakSet<object>()
export function keepOrder<T extends object>(object: T): T {
  typed.add(object)
  return object
}
const sortedUnlessTyped = (object: ApiObject): unknown => (typed.has(object) ? object : sortedKeys(object))

function withoutManagedFields(object: ApiObject): ApiObject {
  const items = object['items'] as ApiObject[] | undefined
  if (Array.isArray(items)) {
    if (!items.some((item) => item?.metadata?.managedFields !== undefined)) return object
    const list = { ...object, items: items.map(withoutManagedFields) }
    return typed.has(object) ? keepOrder(list) : list
  }
  if (object.metadata?.managedFields === undefined) return object
  const { managedFields: _managedFields, ...metadata } = object.metadata
  const shown = { ...object, metadata }
  return typed.has(object) ? keepOrder(shown) : shown
}

/** `pod/web`, or with what was done: `pod/web created`. */
export function namePrinter({ operation = '', suffix = '' }: { operation?: string; suffix?: string } = {}): Printer {
  const print: Printer = (object) => {
    const items = object['items'] as ApiObject[] | undefined
    if (object.kind?.endsWith('List') && Array.isArray(items)) return items.map(print).join('')
    const [group] = groupAndVersion(object.apiVersion ?? '')
    const name = object.metadata?.name || '<unknown>'
    const subject = object.kind ? `${singularText({ kind: object.kind, group })}/${name}` : `<unknown>/${name}`
    return `${subject}${operation === '' ? '' : ` ${operation}${suffix}`}\n`
  }
  return print
}

/** For commands that change something: what was done, or the object as `-o` wants it. */
export async function resultPrinter(call: Call, operation: string, suffix = '', formats = commonFormats): Promise<Printer> {
  const output = call.flags.text('output')
  if (output === 'name' && formats.includes('name')) return namePrinter()
  return (await printerFor(call, { formats })) ?? namePrinter({ operation, suffix })
}
