/** The user's preferences: aliases of commands and other defaults of their flags, in `~/.kube/kuberc`. */
import { join } from 'node:path'
import { readYamlValues } from '#api/codec/yaml-reader.ts'
import { CliError } from './cli-error.ts'
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

/** The arguments that these stand for. */
export async function applyKuberc(args: readonly string[], host: Host): Promise<readonly string[]> {
  const path = kubercPath(args, host)
  if (path === undefined) return args
  const text = await host.files.readTextIfPresent(path)
  if (text === undefined) {
    if (isExplicit(args, host)) throw new CliError(`error occurred while applying preferences open ${path}: no such file or directory`)
    return args
  }
  const preferences = readYamlValues(text)
    .map(({ value }) => value as Preferences)
    .find(({ kind }) => kind === 'Preference')
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
