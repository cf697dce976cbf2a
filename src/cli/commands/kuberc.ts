/** `kubectl kuberc view` and `kubectl kuberc set` */
import { dirname } from 'node:path'
import { yamlText } from '#api/codec/yaml.ts'
import { readYamlValues } from '#api/codec/yaml-reader.ts'
import type { ApiObject, Call } from '#cli/call.ts'
import { CliError } from '#cli/cli-error.ts'
import { kubercPath } from '#cli/kuberc.ts'
import { printerFor } from '#cli/print/printer.ts'
import { splitAt } from '#cli/session/resolve-context.ts'

type Option = { name: string; default: string }
type Alias = { name: string; command: string; options?: Option[]; prependArgs?: string[]; appendArgs?: string[] }
type Preference = { apiVersion: string; kind: string; defaults?: { command: string; options: Option[] }[]; aliases?: Alias[] }

const pathOf = ({ flags, host }: Call): string => {
  const path = flags.text('kuberc') || kubercPath([], host)
  if (path === undefined || path === 'off') throw new CliError('KUBERC is disabled')
  return path
}

export async function kubercView(call: Call): Promise<void> {
  const { flags, host } = call
  const path = pathOf(call)
  const text = await host.files.readTextIfPresent(path)
  if (text === undefined) throw new CliError(`no kuberc file found at ${path}`)
  const printer = await printerFor(call, { output: flags.text('output') || 'yaml' })
  for (const { value } of readYamlValues(text)) host.write(printer?.(value as ApiObject) ?? '')
}

export async function kubercSet(call: Call): Promise<void> {
  const { flags, host } = call
  const section = flags.text('section')
  const command = flags.text('command')
  if (section !== 'defaults' && section !== 'aliases') throw new CliError(`--section must be one of defaults or aliases`)
  if (command === '') throw new CliError('--command is required')
  const path = pathOf(call)
  const [read] = readYamlValues((await host.files.readTextIfPresent(path)) ?? '')
  const preference: Preference = {
    apiVersion: 'kubectl.config.k8s.io/v1beta1',
    kind: 'Preference',
    ...(read?.value as Partial<Preference> | undefined),
  }
  const options = flags.list('option').map((pair): Option => {
    const [name, value] = splitAt(pair, '=')
    if (value === undefined) throw new CliError(`invalid option ${pair}, expected name=value`)
    return { name, default: value }
  })
  if (section === 'defaults') {
    const others = (preference.defaults ?? []).filter((each) => each.command !== command)
    if (others.length !== (preference.defaults ?? []).length && !flags.isOn('overwrite'))
      throw new CliError(`defaults for command ${JSON.stringify(command)} already exist, use --overwrite to replace`)
    preference.defaults = [...others, { command, options }]
  } else {
    const name = flags.text('name')
    if (name === '') throw new CliError('--name is required for aliases')
    const others = (preference.aliases ?? []).filter((each) => each.name !== name)
    if (others.length !== (preference.aliases ?? []).length && !flags.isOn('overwrite'))
      throw new CliError(`alias ${JSON.stringify(name)} already exists, use --overwrite to replace`)
    const [prependArgs, appendArgs] = [flags.list('prependarg'), flags.list('appendarg')]
    preference.aliases = [
      ...others,
      {
        name,
        command,
        ...(options.length > 0 ? { options } : {}),
        ...(prependArgs.length > 0 ? { prependArgs } : {}),
        ...(appendArgs.length > 0 ? { appendArgs } : {}),
      },
    ]
  }
  await host.files.makeDirectory(dirname(path), { mode: 0o755 })
  await host.files.write(path, yamlText(preference), { mode: 0o600 })
  host.write(`Updated ${path}\n`)
}
