/** The user's preferences: aliases of commands and other defaults of their flags, in `~/.kube/kuberc`. */
import { basename, join } from 'node:path'
import { readYamlValues } from '#api/codec/yaml-reader.ts'
import { CredentialError } from '#client/kubeconfig/exec-plugin.ts'
import { PlainError } from './cli-error.ts'
import { findCommand, flagsOf } from './flags/parse-command-line.ts'
import type { Host } from './host.ts'

type Option = { name: string; default: string }
type Preferences = {
  apiVersion?: string
  kind?: string
  defaults?: { command: string; options?: Option[] }[]
  overrides?: { command: string; flags?: Option[] }[]
  aliases?: { name: string; command: string; prependArgs?: string[]; appendArgs?: string[]; options?: Option[]; flags?: Option[] }[]
}

/** Which programs may be run to get credentials. */
export type PluginPolicy = { credentialPluginPolicy?: string; credentialPluginAllowlist?: { name?: string; command?: string }[] }

/** Throws where the user's preferences do not let this program be run for credentials. */
export async function checkCredentialPlugin(command: string, args: readonly string[], host: Host): Promise<void> {
  const path = kubercPath(args, host)
  const text = path === undefined ? undefined : await host.files.readTextIfPresent(path)
  if (text === undefined) return
  const { credentialPluginPolicy: policy = '', credentialPluginAllowlist: list } = (preferencesIn(text) ?? {}) as PluginPolicy
  const fail = (why: string): never => {
    throw new CredentialError(why)
  }
  // A mistake in what is to keep programs from running must not let them run.
  if (['', 'AllowAll', 'DenyAll'].includes(policy)) {
    const said = JSON.stringify(policy)
    if (list) fail(`misconfigured credential plugin allowlist: plugin policy is ${said} but allowlist is non-nil`)
    if (policy === 'DenyAll') fail(`plugin ${JSON.stringify(command)} not allowed: policy set to ${said}`)
    return
  }
  if (policy !== 'Allowlist') fail(`unknown plugin policy: ${JSON.stringify(policy)}`)
  const allowed = (list ?? fail('credential plugin policy set to "Allowlist", but allowlist is unspecified')).map(
    ({ name = '', command: entry = name }) => entry,
  )
  if (allowed.length === 0) fail('credential plugin policy set to "Allowlist", but allowlist is empty; use "DenyAll" policy instead')
  const empty = allowed.indexOf('')
  if (empty >= 0) fail(`misconfigured credential plugin allowlist: empty allowlist entry #${empty + 1}`)
  const found = await onPath(command, host)
  for (const entry of allowed)
    if (entry === command || entry === found || (basename(entry) === basename(command) && (await onPath(entry, host)) === found)) return
  fail(`plugin path ${JSON.stringify(found)} is not permitted by the credential plugin allowlist`)
}

async function onPath(command: string, { environment, files }: Host): Promise<string> {
  if (command.includes('/')) return command
  for (const directory of (environment['PATH'] ?? '').split(':'))
    if (directory !== '' && (await files.statTarget(join(directory, command)))?.kind === 'file') return join(directory, command)
  return command
}

const preferencesIn = (text: string): Preferences | undefined =>
  readYamlValues(text)
    .map(({ value }) => value as Preferences)
    .find(({ kind }) => kind === 'Preference')

/** The arguments that these stand for. */
export async function applyKuberc(args: readonly string[], host: Host): Promise<readonly string[]> {
  const path = kubercPath(args, host)
  if (path === undefined) return args
  const text = await host.files.readTextIfPresent(path)
  if (text === undefined) {
    if (isExplicit(args, host))
      throw new PlainError(`error occurred while applying preferences kuberc error kuberc: open ${path}: no such file or directory`)
    return args
  }
  const preferences = preferencesIn(text)
  return preferences === undefined ? args : withDefaults(withAlias(args, preferences), preferences)
}

export function kubercPath(args: readonly string[], { environment, homeDirectory }: Host): string | undefined {
  const flag =
    args.find((arg) => arg.startsWith('--kuberc='))?.slice('--kuberc='.length) ??
    (args.includes('--kuberc') ? args[args.indexOf('--kuberc') + 1] : undefined)
  const chosen = flag ?? environment['KUBERC']
  if (chosen === 'off') return undefined
  return chosen || join(homeDirectory, '.kube', 'kuberc')
}

const isExplicit = (args: readonly string[], { environment }: Host): boolean =>
  args.some((arg) => arg.startsWith('--kuberc')) || !!environment['KUBERC']

function withAlias(args: readonly string[], { aliases = [] }: Preferences): readonly string[] {
  const { command, rest } = findCommand(args)
  const at = rest.findIndex((arg) => !arg.startsWith('-'))
  const alias = command.path === '' && at >= 0 ? aliases.find(({ name }) => name === rest[at]) : undefined
  if (alias === undefined) return args
  const given = rest.toSpliced(at, 1)
  const options = (alias.options ?? alias.flags ?? [])
    .filter(({ name }) => !isGiven(given, name))
    .map(({ name, default: value }) => `--${name}=${value}`)
  return [...alias.command.split(' '), ...(alias.prependArgs ?? []), ...given, ...options, ...(alias.appendArgs ?? [])]
}

function withDefaults(args: readonly string[], { defaults = [], overrides = [] }: Preferences): readonly string[] {
  const { command } = findCommand(args)
  const entry = [...defaults, ...overrides.map((each) => ({ command: each.command, options: each.flags ?? [] }))].find(
    (each) => each.command === command.path,
  )
  if (entry === undefined) return args
  const specs = flagsOf(command)
  const options = (entry.options ?? [])
    .filter(({ name }) => specs.has(name) && !isGiven(args, name, specs.get(name)?.short))
    .map(({ name, default: value }) => `--${name}=${value}`)
  const dash = args.indexOf('--')
  return dash < 0 ? [...args, ...options] : [...args.slice(0, dash), ...options, ...args.slice(dash)]
}

function isGiven(args: readonly string[], name: string, short = ''): boolean {
  return args.some(
    (arg) => arg === `--${name}` || arg.startsWith(`--${name}=`) || (short !== '' && /^-[^-]/.test(arg) && arg.slice(1).startsWith(short)),
  )
}
