/** Changes to kubeconfig files: each entry is changed in the file it came from, new ones go to the first file. */
import { dirname } from 'node:path'
import { yamlText } from '#api/codec/yaml.ts'
import type { Call } from '#cli/call.ts'
import { CliError } from '#cli/cli-error.ts'
import {
  type ConfigSection,
  configPaths,
  emptyConfig,
  entryField,
  type MergedConfig,
  readConfigFile,
  readMergedConfig,
} from '#cli/session/kubeconfig-files.ts'

import { typedEntry } from './typed-entry.ts'

export type RawConfig = Record<string, unknown>
type NamedEntry = { name: string } & Record<string, unknown>

/** A file that is not there yet is an empty one. */
export async function mergedConfig({ flags, host }: Call): Promise<MergedConfig> {
  const { paths, isExplicit } = configPaths(flags, host)
  if (isExplicit && (await host.files.statTarget(paths[0] ?? '')) === undefined) return emptyConfig()
  return readMergedConfig(flags, host)
}

/** The file that is written to by default. */
export async function defaultFile({ flags, host }: Call): Promise<string> {
  const { paths } = configPaths(flags, host)
  for (const path of paths) if ((await host.files.stat(path)) !== undefined) return path
  return paths.at(-1) ?? ''
}

export async function changeFile({ host }: Pick<Call, 'host'>, path: string, change: (config: RawConfig) => void): Promise<void> {
  const config = (await readConfigFile(host, path)) ?? {}
  change(config)
  for (const section of ['clusters', 'contexts', 'users']) config[section] ??= null
  config['current-context'] ??= ''
  config['apiVersion'] ??= 'v1'
  config['kind'] ??= 'Config'
  await host.files.makeDirectory(dirname(path), { mode: 0o755 })
  try {
    await host.files.write(path, yamlText(sortEntries(config)), { mode: 0o600 })
  } catch (error) {
    throw new CliError(`open ${path}: ${(error as Error).message}`)
  }
}

function sortEntries(config: RawConfig): RawConfig {
  const sorted = { ...config }
  for (const section of ['clusters', 'contexts', 'users'] as const) {
    const entries = config[section] as NamedEntry[] | null | undefined
    if (Array.isArray(entries))
      sorted[section] = entries.toSorted((one, other) => (one.name < other.name ? -1 : 1)).map((entry) => typed(section, entry))
  }
  return sorted
}

function typed(section: ConfigSection, entry: NamedEntry): NamedEntry {
  const field = entryField[section]
  return { name: entry.name, [field]: typedEntry(section, (entry[field] ?? {}) as Record<string, unknown>) }
}

/** Undefined removes the entry. */
export function setEntry(config: RawConfig, section: ConfigSection, name: string, value: Record<string, unknown> | undefined): void {
  const entries = ((config[section] as NamedEntry[] | null | undefined) ?? []).filter((entry) => entry.name !== name)
  if (value !== undefined) entries.push({ name, [entryField[section]]: value })
  config[section] = entries.length === 0 ? null : entries
}

/** Where an entry is, or would be made. */
export async function fileOf(call: Call, section: ConfigSection, name: string): Promise<string> {
  const config = await mergedConfig(call).catch(() => undefined)
  return config?.[section].get(name)?.path ?? defaultFile(call)
}
