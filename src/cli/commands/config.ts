/** `kubectl config …`: contexts, clusters and users of kubeconfig files. */
import type { Call } from '#cli/call.ts'
import { CliError, usageError } from '#cli/cli-error.ts'
import { changeFile, defaultFile, fileOf, mergedConfig, setEntry } from '#cli/config/edit-config.ts'
import { helpError } from '#cli/help/help-error.ts'
import { TabWriter } from '#cli/print/tab-writer.ts'
import { type ConfigSection, configPaths } from '#cli/session/kubeconfig-files.ts'

export async function currentContext(call: Call): Promise<void> {
  const { currentContext: name } = await mergedConfig(call)
  if (name === '') throw new CliError('current-context is not set')
  call.host.write(`${name}\n`)
}

export async function useContext(call: Call): Promise<void> {
  const { args, host } = call
  const [name] = args
  if (name === undefined || args.length > 1) throw await helpError(call, `Unexpected args: [${args.join(' ')}]`)
  const { contexts } = await mergedConfig(call)
  if (!contexts.has(name)) throw new CliError(`no context exists with the name: ${JSON.stringify(name)}`)
  await changeFile(call, await currentContextFile(call), (config) => {
    config['current-context'] = name
  })
  host.write(`Switched to context ${JSON.stringify(name)}.\n`)
}

/** The first file that names a current context, else the default one. */
async function currentContextFile(call: Call): Promise<string> {
  const { readConfigFile } = await import('#cli/session/kubeconfig-files.ts')
  for (const path of configPaths(call.flags, call.host).paths) if ((await readConfigFile(call.host, path))?.['current-context']) return path
  return defaultFile(call)
}

export async function getContexts(call: Call): Promise<void> {
  const { args, flags, host } = call
  const { contexts, currentContext: current } = await mergedConfig(call)
  const missing = args.filter((name) => !contexts.has(name))
  const names = args.length > 0 ? args.filter((name) => contexts.has(name)) : [...contexts.keys()].sort()
  const output = flags.text('output')
  if (output !== '' && output !== 'name')
    throw new CliError(`--output ${output} is not available in kubectl config get-contexts; resetting to default output format`)
  const out = new TabWriter()
  const isNames = output === 'name'
  if (!flags.isOn('no-headers') && !isNames) out.row(['CURRENT', 'NAME', 'CLUSTER', 'AUTHINFO', 'NAMESPACE'])
  for (const name of names) {
    const { cluster = '', user = '', namespace = '' } = (contexts.get(name)?.value ?? {}) as Record<string, string>
    if (isNames) out.row([name])
    else out.row([name === current ? '*' : '', name, cluster, user, namespace])
  }
  host.write(out.flush())
  if (missing.length > 0) throw new CliError(missing.map((name) => `context ${name} not found`).join('\n'))
}

const list = (section: ConfigSection) => async (call: Call) => {
  const config = await mergedConfig(call)
  call.host.write(['NAME', ...[...config[section].keys()].sort()].map((line) => `${line}\n`).join(''))
}
export const getClusters = list('clusters')
export const getUsers = list('users')

const remove = (section: ConfigSection, what: string, says: (name: string, path: string) => string) => async (call: Call) => {
  const { args, host, command } = call
  const [name] = args
  if (name === undefined || args.length > 1) {
    if (section === 'users') throw usageError(command.path, 'user to delete is required')
    const { helpText } = await import('#cli/help/help.ts')
    host.write(helpText(command))
    return
  }
  const config = await mergedConfig(call)
  const path = config[section].get(name)?.path
  if (path === undefined) throw new CliError(`cannot delete ${what} ${name}, not in ${await defaultFile(call)}`)
  if (section === 'contexts' && config.currentContext === name)
    host.complain(`warning: this removed your active context, use "kubectl config use-context" to select a different one\n`)
  await changeFile(call, path, (raw) => setEntry(raw, section, name, undefined))
  host.write(says(name, path))
}
export const deleteContext = remove('contexts', 'context', (name, path) => `deleted context ${name} from ${path}\n`)
export const deleteCluster = remove('clusters', 'cluster', (name, path) => `deleted cluster ${name} from ${path}\n`)
export const deleteUser = remove('users', 'user', (name, path) => `deleted user ${name} from ${path}\n`)

export async function renameContext(call: Call): Promise<void> {
  const { args, host } = call
  const [from, to] = args
  if (from === undefined || to === undefined || args.length > 2) throw await helpError(call, `Unexpected args: [${args.join(' ')}]`)
  const config = await mergedConfig(call)
  const entry = config.contexts.get(from)
  if (entry === undefined) throw new CliError(`cannot rename the context ${JSON.stringify(from)}, it's not in ${await defaultFile(call)}`)
  if (config.contexts.has(to))
    throw new CliError(
      `cannot rename the context ${JSON.stringify(from)}, the context ${JSON.stringify(to)} already exists in ${await defaultFile(call)}`,
    )
  await changeFile(call, entry.path, (raw) => {
    setEntry(raw, 'contexts', from, undefined)
    setEntry(raw, 'contexts', to, entry.value)
    if (raw['current-context'] === from) raw['current-context'] = to
  })
  host.write(`Context ${JSON.stringify(from)} renamed to ${JSON.stringify(to)}.\n`)
}

export async function setContext(call: Call): Promise<void> {
  const { args, flags, host } = call
  const config = await mergedConfig(call).catch(() => undefined)
  const isCurrent = flags.isOn('current')
  if (isCurrent && args.length > 0) throw new CliError('you cannot specify both a context name and --current')
  if (!isCurrent && args.length !== 1)
    throw args.length > 1
      ? await helpError(call, `Unexpected args: [${args.join(' ')}]`)
      : new CliError('you must specify a non-empty context name or --current')
  if (isCurrent && !config?.currentContext) throw new CliError('no current context is set')
  const name = isCurrent ? (config?.currentContext ?? '') : (args[0] ?? '')
  const before = config?.contexts.get(name)
  const value: Record<string, unknown> = { ...before?.value }
  for (const field of ['cluster', 'user', 'namespace']) if (flags.isSet(field)) value[field] = flags.text(field)
  await changeFile(call, before?.path ?? (await defaultFile(call)), (raw) => setEntry(raw, 'contexts', name, value))
  host.write(`Context ${JSON.stringify(name)} ${before === undefined ? 'created' : 'modified'}.\n`)
}

export async function setCluster(call: Call): Promise<void> {
  const { args, flags, host } = call
  const [name] = args
  if (name === undefined || args.length > 1) throw await helpError(call, `Unexpected args: [${args.join(' ')}]`)
  if (flags.isOn('insecure-skip-tls-verify') && flags.text('certificate-authority') !== '')
    throw new CliError('you cannot specify a certificate authority and insecure mode at the same time')
  if (flags.isOn('embed-certs') && flags.text('certificate-authority') === '')
    throw new CliError('you must specify a --certificate-authority to embed')
  const path = await fileOf(call, 'clusters', name)
  const config = await mergedConfig(call).catch(() => undefined)
  const value: Record<string, unknown> = { ...config?.clusters.get(name)?.value }
  // Another server has another name.
  if (flags.isSet('server')) delete value['tls-server-name']
  for (const field of ['server', 'tls-server-name', 'proxy-url']) if (flags.isSet(field)) value[field] = flags.text(field)
  if (flags.isSet('insecure-skip-tls-verify')) {
    if (flags.isOn('insecure-skip-tls-verify')) value['insecure-skip-tls-verify'] = true
    else delete value['insecure-skip-tls-verify']
    for (const field of ['certificate-authority', 'certificate-authority-data'])
      if (flags.isOn('insecure-skip-tls-verify')) delete value[field]
  }
  await setPem(call, value, 'certificate-authority')
  if (flags.isSet('certificate-authority')) delete value['insecure-skip-tls-verify']
  await changeFile(call, path, (raw) => setEntry(raw, 'clusters', name, value))
  host.write(`Cluster ${JSON.stringify(name)} set.\n`)
}

/** A file's path, or with `--embed-certs` its content. */
export async function setPem({ flags, host }: Call, value: Record<string, unknown>, field: string): Promise<void> {
  if (!flags.isSet(field)) return
  const path = flags.text(field)
  delete value[field]
  delete value[`${field}-data`]
  if (path === '') return
  if (!flags.isOn('embed-certs')) {
    const { resolve } = await import('node:path')
    value[field] = resolve(path)
    return
  }
  const content = await host.files.read(path).catch(() => {
    throw new CliError(`could not stat ${field} file ${path}: stat ${path}: no such file or directory`)
  })
  value[`${field}-data`] = Buffer.from(content).toString('base64')
}
