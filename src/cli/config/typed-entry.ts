/** Entries of kubeconfigs in the shape that kubectl writes them: what says nothing is left out. */
import type { ConfigSection } from '#cli/session/kubeconfig-files.ts'

export type EntryValue = Record<string, unknown>

/** Fields by section, and what kind each is of. Those that are always written end with `!`. */
export const entryFields: Readonly<Record<ConfigSection, Readonly<Record<string, 'text' | 'flag' | 'bytes' | 'other'>>>> = {
  clusters: {
    'server!': 'text',
    'tls-server-name': 'text',
    'insecure-skip-tls-verify': 'flag',
    'certificate-authority': 'text',
    'certificate-authority-data': 'bytes',
    'proxy-url': 'text',
    'disable-compression': 'flag',
    extensions: 'other',
  },
  users: {
    'client-certificate': 'text',
    'client-certificate-data': 'bytes',
    'client-key': 'text',
    'client-key-data': 'bytes',
    token: 'text',
    tokenFile: 'text',
    as: 'text',
    'as-uid': 'text',
    'as-groups': 'other',
    'as-user-extra': 'other',
    username: 'text',
    password: 'text',
    'auth-provider': 'other',
    exec: 'other',
    extensions: 'other',
  },
  contexts: { 'cluster!': 'text', 'user!': 'text', namespace: 'text', extensions: 'other' },
}

export const fieldKind = (section: ConfigSection, field: string) => entryFields[section][field] ?? entryFields[section][`${field}!`]

export function typedEntry(section: ConfigSection, value: Readonly<EntryValue>): EntryValue {
  const typed: EntryValue = {}
  for (const [named, kind] of Object.entries(entryFields[section])) {
    const field = named.replace('!', '')
    const given = value[field]
    if (field === 'exec' && given) typed[field] = typedExec(given as EntryValue)
    else if (field === 'auth-provider' && given)
      typed[field] = { name: (given as EntryValue)['name'] ?? '', config: (given as EntryValue)['config'] ?? null }
    else if (named.endsWith('!')) typed[field] = given ?? ''
    else if (kind === 'flag' ? given === true : given !== undefined && given !== null && given !== '' && !isEmpty(given))
      typed[field] = given
  }
  return typed
}

const isEmpty = (value: unknown): boolean => typeof value === 'object' && value !== null && Object.keys(value).length === 0

function typedExec(exec: Readonly<EntryValue>): EntryValue {
  const { apiVersion = '', args, command = '', env, installHint, interactiveMode, provideClusterInfo } = exec
  // Older versions of plugins were always asked on the terminal, if there was one.
  const mode = interactiveMode || (/\/v1(?:alpha|beta)1$/.test(String(apiVersion)) ? 'IfAvailable' : undefined)
  return {
    command,
    args: Array.isArray(args) && args.length > 0 ? args : null,
    env: Array.isArray(env) && env.length > 0 ? env : null,
    apiVersion,
    ...(installHint ? { installHint } : {}),
    provideClusterInfo: provideClusterInfo === true,
    ...(mode ? { interactiveMode: mode } : {}),
  }
}
