/** `kubectl config set-credentials` */
import type { Call } from '#cli/call.ts'
import { CliError } from '#cli/cli-error.ts'
import { changeFile, fileOf, mergedConfig, setEntry } from '#cli/config/edit-config.ts'
import type { EntryValue } from '#cli/config/typed-entry.ts'
import { helpError } from '#cli/help/help-error.ts'
import { setPem } from './config.ts'

export async function setCredentials(call: Call): Promise<void> {
  const { args, flags, host } = call
  const [name] = args
  if (name === undefined || args.length > 1) throw await helpError(call, `unexpected args: [${args.join(' ')}]`)
  validate(call)
  const path = await fileOf(call, 'users', name)
  const config = await mergedConfig(call).catch(() => undefined)
  const value: EntryValue = { ...config?.users.get(name)?.value }
  for (const field of ['token', 'username', 'password']) if (flags.isSet(field)) value[field] = flags.text(field)
  const setsToken = flags.isSet('token') && flags.text('token') !== ''
  const setsBasic = ['username', 'password'].some((field) => flags.isSet(field) && flags.text(field) !== '')
  if (setsBasic && !setsToken) delete value['token']
  if (setsToken && !setsBasic) for (const field of ['username', 'password']) delete value[field]
  await setPem(call, value, 'client-certificate')
  await setPem(call, value, 'client-key')
  setProvider(call, value)
  setExec(call, value)
  await changeFile(call, path, (raw) => setEntry(raw, 'users', name, value))
  host.write(`User ${JSON.stringify(name)} set.\n`)
}

function validate({ flags }: Call): void {
  const ways = [
    flags.text('token') !== '' && '--token',
    (flags.text('username') !== '' || flags.text('password') !== '') && '--username/--password',
  ].filter((each) => each)
  if (ways.length > 1) throw new CliError(`you cannot specify more than one authentication method at the same time: ${ways.join(', ')}`)
  if (flags.isOn('embed-certs') && flags.text('client-certificate') === '' && flags.text('client-key') === '')
    throw new CliError('you must specify a --client-certificate or --client-key to embed')
  if (flags.isSet('exec-interactive-mode') && !['IfAvailable', 'Always', 'Never'].includes(flags.text('exec-interactive-mode')))
    throw new CliError('invalid interactive mode type, can be only IfAvailable, Never, Always')
}

/** `key=value` sets, `key-` removes. */
function pairs(texts: readonly string[], flag: string): { set: Map<string, string>; remove: Set<string> } {
  const set = new Map<string, string>()
  const remove = new Set<string>()
  for (const text of texts) {
    const at = text.indexOf('=')
    if (at > 0) set.set(text.slice(0, at), text.slice(at + 1))
    else if (at < 0 && text.endsWith('-')) remove.add(text.slice(0, -1))
    else throw new CliError(`invalid ${flag} format: ${text}`)
  }
  return { set, remove }
}

function setProvider({ flags }: Call, value: EntryValue): void {
  const { set, remove } = pairs(flags.list('auth-provider-arg'), 'auth-provider-arg')
  let provider = value['auth-provider'] as { name: string; config?: Record<string, string> | null } | undefined
  const name = flags.text('auth-provider')
  if (flags.isSet('auth-provider') && provider?.name !== name) provider = { name }
  if (provider === undefined) return
  const config = Object.fromEntries([...Object.entries(provider.config ?? {}).filter(([key]) => !remove.has(key)), ...set])
  value['auth-provider'] = { name: provider.name, config: Object.keys(config).length > 0 ? config : null }
}

type Exec = EntryValue & { env?: { name: string; value: string }[] | null }

function setExec({ flags }: Call, value: EntryValue): void {
  let exec = value['exec'] as Exec | undefined
  if (flags.isSet('exec-command'))
    exec = exec === undefined ? { command: flags.text('exec-command') } : { ...exec, command: flags.text('exec-command'), args: null }
  if (exec === undefined) return
  if (flags.isSet('exec-api-version')) exec['apiVersion'] = flags.text('exec-api-version')
  const given = flags.list('exec-arg').flatMap((text) => text.split(','))
  if (given.length > 0) exec['args'] = given
  if (flags.isSet('exec-interactive-mode')) exec['interactiveMode'] = flags.text('exec-interactive-mode')
  if (flags.isSet('exec-provide-cluster-info')) exec['provideClusterInfo'] = flags.isOn('exec-provide-cluster-info')
  const { set, remove } = pairs(flags.list('exec-env'), 'exec-env')
  const kept = (exec.env ?? [])
    .filter(({ name }) => !remove.has(name))
    .map((each) => ({ ...each, value: set.get(each.name) ?? each.value }))
  const added = [...set].filter(([name]) => !kept.some((each) => each.name === name)).map(([name, text]) => ({ name, value: text }))
  exec.env = [...kept, ...added]
  value['exec'] = exec
}
