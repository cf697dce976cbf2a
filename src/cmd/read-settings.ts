import { jsYaml } from '#api/codec/js-yaml.ts'
import { errorMessage } from '#base/error-message.ts'
import { nodeFiles } from '#base/files.ts'

/** The settings in a configuration file: a map, in YAML or JSON. Mistakes are told by the flag that named it. */
export async function readSettings(path: string, flag = '--config'): Promise<Record<string, unknown>> {
  const text = await nodeFiles.readTextIfPresent(path)
  if (text === undefined) throw new Error(`${flag}: there is no file ${path}`)
  const { load } = jsYaml()
  let loaded: unknown
  try {
    loaded = load(text)
  } catch (error) {
    // What follows is a picture of the place.
    throw new Error(`${flag}: ${path} is not valid YAML: ${errorMessage(error).split('\n')[0]}`)
  }
  if (loaded === null || typeof loaded !== 'object' || Array.isArray(loaded)) throw new Error(`${flag}: ${path} is not a map of settings`)
  return loaded as Record<string, unknown>
}
