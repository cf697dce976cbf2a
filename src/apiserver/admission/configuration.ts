/** The AdmissionConfiguration file: what plugins are told beyond whether they run. */

/** By the plugin's name. */
export type PluginConfigurations = ReadonlyMap<string, unknown>

type AdmissionConfiguration = {
  apiVersion?: string
  kind?: string
  plugins?: { name?: string; path?: string; configuration?: unknown }[]
}

const versions = ['apiserver.config.k8s.io/v1', 'apiserver.k8s.io/v1alpha1']

/**
 * Reads the parsed file. A plugin's part stands in it, or in a file of its own, whose path is taken from where the first one lies:
 * `readFile` gives that, parsed.
 */
export async function readAdmissionConfiguration(
  file: unknown,
  readFile: (path: string) => Promise<unknown>,
): Promise<PluginConfigurations> {
  const { apiVersion = '', kind = '', plugins = [] } = (file ?? {}) as AdmissionConfiguration
  if (kind !== 'AdmissionConfiguration' || !versions.includes(apiVersion)) {
    throw new Error(`expected an AdmissionConfiguration of ${versions[0]}, got ${kind || 'nothing'} of ${apiVersion || 'no version'}`)
  }
  const configurations = new Map<string, unknown>()
  for (const { name = '', path, configuration } of plugins) {
    if (name === '') throw new Error('a plugin in the AdmissionConfiguration has no name')
    configurations.set(name, configuration ?? (path ? await readFile(path) : undefined))
  }
  return configurations
}
