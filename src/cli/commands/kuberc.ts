/** `kubectl kuberc view` and `kubectl kuberc set` */

import { dirname } from 'node:path'
import { yamlText } from '#api/codec/yaml.ts'
import { readYamlValues } from '#api/codec/yaml-reader.ts'
import { omitEmpty } from '#base/omit-empty.ts'
import type { ApiObject, Call } from '#cli/call.ts'
import { CliError } from '#cli/cli-error.ts'
import { kubercPath, type PluginPolicy } from '#cli/kuberc.ts'
import { keepOrder, printerFor } from '#cli/print/printer.ts'
import { splitAt } from '#cli/session/resolve-context.ts'

type Option = { name: string; default: string }
type Alias = { name: string; command: string; options?: Option[]; prependArgs?: string[]; appendArgs?: string[] }
type Preference = PluginPolicy & {
  apiVersion: string
  kind: string
  defaults?: { command: string; options: Option[] }[]
  aliases?: Alias[]
}

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
  for (const { value } of readYamlValues(text)) host.write(printer?.(keepOrder(inOrder(value as Preference))) ?? '')
}

/** As kubectl writes it: the lists are there, though they be empty. */
function inOrder({ apiVersion, kind, defaults, aliases, ...others }: Preference): ApiObject {
  return { kind, apiVersion, defaults: defaults ?? [], aliases: (aliases ?? []).map(aliasInOrder), ...others }
}

const aliasInOrder = ({ name, command, prependArgs, appendArgs, options }: Alias) => ({
  name,
  command,
  ...omitEmpty({ prependArgs, appendArgs, options }),
})

function pluginPolicyOf({ flags }: Call): PluginPolicy {
  const [policy, entries] = [flags.text('policy'), flags.list('allowlist-entry')]
  if (policy === '') throw new CliError('--policy is required when --section=credentialplugin')
  if (!['AllowAll', 'DenyAll', 'Allowlist'].includes(policy))
    throw new CliError(` --policy must be  "AllowAll", "DenyAll", or "Allowlist", got: ${policy}`)
  if (policy !== 'Allowlist' && entries.length > 0)
    throw new CliError('--allowlist-entry may only be used when --section=credentialplugin and --policy=Allowlist')
  if (policy === 'Allowlist' && entries.length === 0)
    throw new CliError('--allowlist-entry is required when --section=credentialplugin and --policy=Allowlist')
  return {
    credentialPluginPolicy: policy,
    ...omitEmpty({ credentialPluginAllowlist: entries.flatMap((entry) => entry.split(',')).map(allowedCommand) }),
  }
}

/** `command=PROGRAM` */
function allowedCommand(text: string): { command: string } {
  const [field, command] = splitAt(text, '=')
  if (command === undefined) throw new CliError(`improperly formatted allowlist entry: ${JSON.stringify(text)}`)
  if (field === 'name') throw new CliError('allowlist entry field "name" is deprecated, use "command" instead')
  if (field !== 'command') throw new CliError(`unrecognized allowlist entry field: ${JSON.stringify(field)}`)
  if (command.trim() === '') throw new CliError(`empty value in allowlist entry for field ${JSON.stringify(field)}`)
  return { command }
}

export async function kubercSet(call: Call): Promise<void> {
  const { flags, host } = call
  const section = flags.text('section')
  const command = flags.text('command')
  if (section === '') throw new CliError('required flag(s) "section" not set')
  if (section !== 'defaults' && section !== 'aliases' && section !== 'credentialplugin')
    throw new CliError(`--section must be "defaults", "aliases", or "credentialplugin", got: ${section}`)
  if (section === 'aliases' && flags.text('name') === '') throw new CliError('--name is required when --section=aliases')
  if (section === 'defaults' && flags.text('name') !== '') throw new CliError('--name should not be specified when --section=defaults')
  if (section === 'defaults' && (flags.list('prependarg').length > 0 || flags.list('appendarg').length > 0))
    throw new CliError('--prependarg and --appendarg are only valid for --section=aliases')
  if (section !== 'credentialplugin' && command === '')
    throw new CliError('--command is required when --section=aliases or --section=defaults')
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
  if (section === 'credentialplugin') Object.assign(preference, pluginPolicyOf(call))
  else if (section === 'defaults') {
    const others = (preference.defaults ?? []).filter((each) => each.command !== command)
    if (others.length !== (preference.defaults ?? []).length && !flags.isOn('overwrite'))
      throw new CliError(`defaults for command ${JSON.stringify(command)} already exist, use --overwrite to replace`)
    preference.defaults = [...others, { command, options }]
  } else {
    const name = flags.text('name')
    const others = (preference.aliases ?? []).filter((each) => each.name !== name)
    if (others.length !== (preference.aliases ?? []).length && !flags.isOn('overwrite'))
      throw new CliError(`alias ${JSON.stringify(name)} already exists, use --overwrite to replace`)
    const [prependArgs, appendArgs] = [flags.list('prependarg'), flags.list('appendarg')]
    preference.aliases = [
      ...others,
      {
        name,
        command,
        ...omitEmpty({ options, prependArgs, appendArgs }),
      },
    ]
  }
  await host.files.makeDirectory(dirname(path), { mode: 0o755 })
  await host.files.write(path, yamlText(preference), { mode: 0o600 })
  host.write(`Updated ${path}\n`)
}
