/** `kubectl config view`, `set` and `unset` */

import { isAbsolute, join } from 'node:path'
import type { ApiObject, Call } from '#cli/call.ts'
import { CliError, usageError } from '#cli/cli-error.ts'
import { changeFile, defaultFile, mergedConfig, type RawConfig } from '#cli/config/edit-config.ts'
import { setProperty } from '#cli/config/set-property.ts'
import { typedEntry } from '#cli/config/typed-entry.ts'
import { helpError } from '#cli/help/help-error.ts'
import { keepOrder, printerFor } from '#cli/print/printer.ts'
import { fileErrorText } from '#cli/session/file-error-text.ts'
import { type ConfigSection, directoryOf, entryField } from '#cli/session/kubeconfig-files.ts'

export async function configView(call: Call): Promise<void> {
  const { args, flags, host } = call
  if (args.length > 0) throw usageError('config view', `unexpected arguments: [${args.join(' ')}]`)
  const isExplicit = flags.text('kubeconfig') !== ''
  if (flags.isSet('merge') && !flags.isOn('merge') && !isExplicit) throw new CliError('if merge==false a precise file must be specified')
  const config = await mergedConfig(call)
  const chosen = flags.text('context') || config.currentContext
  const isMinified = flags.isOn('minify')
  if (isMinified && chosen === '') throw new CliError('current-context must exist in order to minify')
  if (isMinified && !config.contexts.has(chosen)) throw new CliError(`cannot locate context ${chosen}`)
  const context = config.contexts.get(chosen)?.value
  const wanted: Readonly<Record<ConfigSection, string>> = {
    contexts: chosen,
    clusters: String(context?.['cluster'] ?? ''),
    users: String(context?.['user'] ?? ''),
  }
  if (isMinified && wanted.clusters !== '' && !config.clusters.has(wanted.clusters))
    throw new CliError(`cannot locate cluster ${wanted.clusters}`)
  if (isMinified && wanted.users !== '' && !config.users.has(wanted.users)) throw new CliError(`cannot locate user ${wanted.users}`)
  const result: RawConfig = { kind: 'Config', apiVersion: 'v1' }
  if (config.preferences && Object.keys(config.preferences).length > 0) result['preferences'] = config.preferences
  for (const section of ['clusters', 'users', 'contexts'] as const) {
    const names = [...config[section].keys()].sort().filter((name) => !isMinified || name === wanted[section])
    const entries = await Promise.all(
      names.map(async (name) => {
        const entry = config[section].get(name)
        const value = entry === undefined ? {} : await shownEntry(call, typedEntry(section, entry.value), directoryOf(entry), isExplicit)
        return { name, [entryField[section]]: value }
      }),
    )
    result[section] = entries.length === 0 ? null : entries
  }
  result['current-context'] = isMinified ? chosen : config.currentContext
  if (Array.isArray(config.extensions) && config.extensions.length > 0) result['extensions'] = config.extensions
  const printer = await printerFor(call, { output: flags.text('output') || 'yaml' })
  host.write(printer?.(keepOrder(result) as ApiObject) ?? '')
}

/** Secrets are left out unless they are asked for; with `--flatten` files are put in. */
async function shownEntry(
  { flags, host }: Call,
  value: Record<string, unknown>,
  directory: string,
  isOneFile: boolean,
): Promise<Record<string, unknown>> {
  const shown: Record<string, unknown> = { ...value }
  for (const field of ['certificate-authority', 'client-certificate', 'client-key']) {
    const path = shown[field]
    if (typeof path !== 'string' || path === '') continue
    const absolute = isAbsolute(path) ? path : join(directory, path)
    if (!flags.isOn('flatten')) {
      // Of a file that is named, paths are shown as it has them.
      shown[field] = isOneFile ? path : absolute
      continue
    }
    delete shown[field]
    shown[`${field}-data`] = Buffer.from(await fileContent(host, absolute)).toString('base64')
  }
  if (flags.isOn('raw') || flags.isOn('flatten')) return shown
  for (const field of ['certificate-authority-data', 'client-certificate-data', 'client-key-data'])
    if (shown[field]) shown[field] = 'DATA+OMITTED'
  for (const field of ['token', 'password']) if (shown[field]) shown[field] = 'REDACTED'
  return shown
}

async function fileContent({ files }: Call['host'], path: string): Promise<Uint8Array> {
  try {
    return await files.read(path)
  } catch (error) {
    throw new CliError(fileErrorText(error))
  }
}

export async function configSet(call: Call): Promise<void> {
  const { args, flags, host } = call
  const [property = '', text = ''] = args
  if (args.length !== 2) throw await helpError(call, `Unexpected args: [${args.join(' ')}]`)
  if (text === '') throw new CliError('you cannot use set to unset a property')
  if (property === '') throw new CliError('you must specify a property')
  await changeFile(call, await defaultFile(call), (config) => setProperty(config, property, text, { isRaw: flags.isOn('set-raw-bytes') }))
  host.write(`Property ${JSON.stringify(property)} set.\n`)
}

export async function configUnset(call: Call): Promise<void> {
  const { args, host } = call
  const [property = ''] = args
  if (args.length !== 1) throw await helpError(call, `Unexpected args: [${args.join(' ')}]`)
  if (property === '') throw new CliError('you must specify a property')
  await changeFile(call, await defaultFile(call), (config) => setProperty(config, property, undefined))
  host.write(`Property ${JSON.stringify(property)} unset.\n`)
}
