/** The user's kubeconfig as one document, made of several files, each entry still knowing where it came from. */
import { delimiter, dirname, join } from 'node:path'
import { readYamlValue } from '#api/codec/yaml-reader.ts'
import { CliError } from '#cli/cli-error.ts'
import type { Flags } from '#cli/flags/flags.ts'
import type { Host } from '#cli/host.ts'

export type ConfigEntry = { value: Record<string, unknown>; path: string }
export type ConfigSection = 'clusters' | 'users' | 'contexts'

export const entryField: Readonly<Record<ConfigSection, string>> = { clusters: 'cluster', users: 'user', contexts: 'context' }

export type MergedConfig = Record<ConfigSection, Map<string, ConfigEntry>> & {
  currentContext: string
  extensions: unknown
  preferences: unknown
  /** The files that were read. */
  paths: string[]
}

/** Where kubeconfigs are looked for; `explicit` must be there. */
export function configPaths(flags: Flags, { environment, homeDirectory }: Host): { paths: string[]; isExplicit: boolean } {
  const explicit = flags.text('kubeconfig')
  if (explicit !== '') return { paths: [explicit], isExplicit: true }
  const named = (environment['KUBECONFIG'] ?? '').split(delimiter).filter((path) => path !== '')
  return { paths: named.length > 0 ? [...new Set(named)] : [join(homeDirectory, '.kube', 'config')], isExplicit: false }
}

export async function readConfigFile(host: Host, path: string): Promise<Record<string, unknown> | undefined> {
  const text = await host.files.readTextIfPresent(path)
  if (text === undefined) return undefined
  let value: unknown
  try {
    value = readYamlValue(text).value ?? {}
  } catch (error) {
    throw new CliError(`error loading config file "${path}": ${(error as Error).message}`)
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new CliError(
      `error loading config file "${path}": couldn't get version/kind; json parse error: json: cannot unmarshal ${Array.isArray(value) ? 'array' : typeof value} into Go value of type struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }`,
    )
  const config = value as Record<string, unknown>
  const problem = kindProblem(config) ?? shapeProblem(config)
  if (problem !== undefined) throw new CliError(`error loading config file "${path}": ${problem}`)
  return config
}

/** In the words of Go's decoder; a file need not say what it is. */
function kindProblem({ apiVersion, kind }: Record<string, unknown>): string | undefined {
  const [version, name] = [apiVersion || 'v1', kind || 'Config']
  if (version === 'v1' && name === 'Config') return undefined
  return `no kind "${name}" is registered for version "${version}" in scheme "k8s.io/client-go/tools/clientcmd/api/latest/latest.go:50"`
}

const goTypes: Readonly<Record<ConfigSection, string>> = { clusters: 'NamedCluster', users: 'NamedAuthInfo', contexts: 'NamedContext' }

function shapeProblem(config: Record<string, unknown>): string | undefined {
  for (const section of ['clusters', 'users', 'contexts'] as const) {
    const found = config[section]
    if (found === undefined || found === null || Array.isArray(found)) continue
    const what = typeof found === 'boolean' ? 'bool' : typeof found
    return `json: cannot unmarshal ${what} into Go struct field Config.${section} of type []v1.${goTypes[section]}`
  }
  return undefined
}

export const emptyConfig = (): MergedConfig => ({
  clusters: new Map(),
  users: new Map(),
  contexts: new Map(),
  currentContext: '',
  extensions: undefined,
  preferences: undefined,
  paths: [],
})

/** The first file that has an entry of a name is believed. */
export async function readMergedConfig(flags: Flags, host: Host): Promise<MergedConfig> {
  const { paths, isExplicit } = configPaths(flags, host)
  const merged = emptyConfig()
  for (const path of paths) {
    const raw = await readConfigFile(host, path)
    if (raw === undefined) {
      if (isExplicit) throw new CliError(`stat ${path}: no such file or directory`)
      continue
    }
    merged.paths.push(path)
    merged.currentContext ||= typeof raw['current-context'] === 'string' ? raw['current-context'] : ''
    merged.extensions ??= raw['extensions']
    merged.preferences ??= raw['preferences']
    for (const section of ['clusters', 'users', 'contexts'] as const) {
      for (const entry of (raw[section] as { name: string }[] | null | undefined) ?? []) {
        const value = ((entry as Record<string, unknown>)[entryField[section]] as Record<string, unknown> | null | undefined) ?? {}
        if (!merged[section].has(entry.name)) merged[section].set(entry.name, { value, path })
      }
    }
  }
  return merged
}

export const directoryOf = ({ path }: ConfigEntry): string => (path === '' ? '' : dirname(path))
