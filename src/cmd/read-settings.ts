import { nodeFiles } from '#base/files.ts'

/** The settings in a configuration file: a map, in YAML or JSON. */
export async function readSettings(path: string): Promise<Record<string, unknown>> {
  const text = await nodeFiles.readTextIfPresent(path)
  if (text === undefined) throw new Error(`--config: there is no file ${path}`)
  const { load } = await import('js-yaml')
  const loaded: unknown = load(text)
  if (loaded === null || typeof loaded !== 'object' || Array.isArray(loaded)) throw new Error(`--config: ${path} is not a map of settings`)
  return loaded as Record<string, unknown>
}
