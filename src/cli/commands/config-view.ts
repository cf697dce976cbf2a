/** `kubectl config view`, `set` and `unset` */

import { isAbsolute, join } from 'node:path'
import type { ApiObject, Call } from '#cli/call.ts'
import { CliError, usageError } from '#cli/cli-error.ts'
import { changeFile, defaultFile, mergedConfig, type RawConfig } from '#cli/config/edit-config.ts'
import { keepOrder, printerFor } from '#cli/print/printer.ts'
import { type ConfigSection, directoryOf, entryField } from '#cli/session/kubeconfig-files.ts'

export async function configView(call: Call): Promise<void> {
  const { args, flags, host } = call
  if (args.length > 0) throw usageError('config view', `unexpected arguments: [${args.join(' ')}]`)
  const config = await mergedConfig(call)
  const chosen = flags.text('context') || config.currentContext
  const isMinified = flags.isOn('minify')
  if (isMinified && !config.contexts.has(chosen)) throw new CliError(`cannot locate context ${JSON.stringify(chosen)}`)
  const context = config.contexts.get(chosen)?.value
  const wanted: Readonly<Record<ConfigSection, string>> = {
    contexts: chosen,
    clusters: String(context?.['cluster'] ?? ''),
    users: String(context?.['user'] ?? ''),
  }
  const result: RawConfig = { kind: 'Config', apiVersion: 'v1' }
  for (const section of ['clusters', 'users', 'contexts'] as const) {
    const names = [...config[section].keys()].sort().filter((name) => !isMinified || name === wanted[section])
    const entries = await Promise.all(
      names.map(async (name) => {
        const entry = config[section].get(name)
        const value = entry === undefined ? {} : await shownEntry(call, entry.value, directoryOf(entry))
        return { name, [entryField[section]]: value }
      }),
    )
    result[section] = entries.length === 0 ? null : entries
  }
  result['current-context'] = config.currentContext
  if (config.preferences && Object.keys(config.preferences).length > 0) result['preferences'] = config.preferences
  const printer = await printerFor(call, { output: flags.text('output') || 'yaml' })
  host.write(printer?.(keepOrder(result) as ApiObject) ?? '')
}

/** Secrets are left out unless they are asked for; with `--flatten` files are put in. */
async function shownEntry({ flags, host }: Call, value: Record<string, unknown>, directory: string): Promise<Record<string, unknown>> {
  const shown: Record<string, unknown> = { ...value }
  for (const field of ['certificate-authority', 'client-certificate', 'client-key']) {
    const path = shown[field]
    if (typeof path !== 'string' || path === '') continue
    const absolute = isAbsolute(path) ? path : join(directory, path)
    if (!flags.isOn('flatten')) {
      shown[field] = absolute
      continue
    }
    delete shown[field]
    shown[`${field}-data`] = Buffer.from(await host.files.read(absolute)).toString('base64')
  }
  if (flags.isOn('raw')) return shown
  for (const field of ['certificate-authority-data', 'client-certificate-data', 'client-key-data'])
    if (shown[field]) shown[field] = 'DATA+OMITTED'
  for (const field of ['token', 'password']) if (shown[field]) shown[field] = 'REDACTED'
  return shown
}

export async function configSet(call: Call): Promise<void> {
  const { args, flags, host } = call
  const [property = '', text = ''] = args
  if (args.length !== 2) throw usageError('config set', `Unexpected args: [${args.join(' ')}]`)
  if (property === '') throw new CliError('you must specify a property')
  const value =
    property.endsWith('-data') && !flags.isOn('set-raw-bytes')
      ? text
      : property.endsWith('-data')
        ? Buffer.from(text).toString('base64')
        : scalar(property, text)
  await changeFile(call, await defaultFile(call), (config) => setProperty(config, property.split('.'), value))
  host.write(`Property ${JSON.stringify(property)} set.\n`)
}

const scalar = (property: string, text: string): unknown =>
  /insecure-skip-tls-verify$|disable-compression$|colors$/.test(property) ? text === 'true' : text

export async function configUnset(call: Call): Promise<void> {
  const { args, host } = call
  const [property = ''] = args
  if (args.length !== 1) throw usageError('config unset', `Unexpected args: [${args.join(' ')}]`)
  await changeFile(call, await defaultFile(call), (config) => setProperty(config, property.split('.'), undefined))
  host.write(`Property ${JSON.stringify(property)} unset.\n`)
}

/** `users.me.token`, `current-context`; names may hold dots. */
function setProperty(config: RawConfig, path: readonly string[], value: unknown): void {
  const [section = '', ...rest] = path
  const field = entryField[section as ConfigSection]
  if (field === undefined) {
    if (rest.length > 0 && section !== 'preferences') throw new CliError(`unable to locate path ${JSON.stringify(path.join('.'))}`)
    if (value === undefined) config[section] = section === 'current-context' ? '' : undefined
    else config[section] = value
    return
  }
  const entries = ((config[section] as ({ name: string } & Record<string, Record<string, unknown>>)[] | null | undefined) ?? []).slice()
  if (rest.length === 0) {
    if (value === undefined) config[section] = null
    return
  }
  const name = value === undefined && entries.some((entry) => entry.name === rest.join('.')) ? rest.join('.') : rest.slice(0, -1).join('.')
  const key = name === rest.join('.') ? undefined : rest.at(-1)
  const at = entries.findIndex((entry) => entry.name === name)
  if (key === undefined) config[section] = entries.filter((entry) => entry.name !== name)
  else {
    const entry = at < 0 ? { name, [field]: {} } : (entries[at] as { name: string })
    const inside: Record<string, unknown> = { ...(entry as unknown as Record<string, Record<string, unknown>>)[field] }
    if (value === undefined) delete inside[key]
    else inside[key] = value
    const next = { ...entry, [field]: inside } as (typeof entries)[number]
    config[section] = at < 0 ? [...entries, next] : entries.with(at, next)
  }
}
