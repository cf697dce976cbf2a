/** What images are made of, as manifests say it. */
import type { ImageConfig } from '#runtime/images/stored-image.ts'

export type Descriptor = {
  mediaType: string
  digest: string
  size: number
  platform?: { os?: string; architecture?: string; variant?: string }
}
export type Manifest = { config?: Descriptor; layers?: Descriptor[]; manifests?: Descriptor[] }
export type ConfigFile = { config?: ImageConfig | null; rootfs?: { diff_ids?: string[] }; os?: string; architecture?: string }

const mostLayers = 127
/** Images in wide use have some kilobytes; it is read in one go. */
const largestConfig = 4 << 20

/** The manifest of an index that fits this machine. */
export function pickPlatform({ manifests = [] }: Manifest, architecture: string): Descriptor {
  const fitting = manifests.filter(({ platform }) => platform?.os === 'linux' && platform.architecture === architecture)
  // Some leave out what it is for, where there is one alone.
  const [found] = fitting.length > 0 ? fitting : manifests.length === 1 && manifests[0]?.platform === undefined ? manifests : []
  if (found === undefined) throw new Error(`no match for platform in manifest: linux/${architecture}: not found`)
  return found
}

export function partsOf({ config, layers = [] }: Manifest): { config: Descriptor; layers: Descriptor[] } {
  if (config === undefined) throw new Error('the manifest names no configuration: images of schema version 1 are not supported')
  if (!(config.size <= largestConfig))
    throw new Error(`the configuration of the image has ${config.size} bytes; ${largestConfig} are allowed`)
  if (layers.length > mostLayers) throw new Error(`the image has ${layers.length} layers; no more than ${mostLayers} can be mounted`)
  const foreign = layers.find(({ mediaType }) => /foreign|nondistributable/.test(mediaType) && /windows/.test(mediaType))
  if (foreign !== undefined) throw new Error('the image is for Windows')
  return { config, layers }
}

export const isIndex = (mediaType: string, manifest: Manifest): boolean =>
  /index|manifest\.list/.test(mediaType) || manifest.manifests !== undefined

/** What the configuration says, where all of it has the types it is to have: it is shown and used for as long as the image is there. */
export function parseConfigFile(text: string): ConfigFile {
  const file = JSON.parse(text) as ConfigFile
  const { config, rootfs } = file
  const wrong = Object.entries(config ?? {}).find(([name, value]) => value !== null && configTypes[name]?.(value) === false)
  if (wrong !== undefined) throw new Error(`the configuration of the image has no sensible ${wrong[0]}`)
  if (!isTexts(rootfs?.diff_ids ?? [])) throw new Error('the configuration of the image names no layers')
  for (const [name, value] of Object.entries(config ?? {})) if (value === null) delete (config as Record<string, unknown>)[name]
  return file
}

const isText = (value: unknown): boolean => typeof value === 'string'
const isTexts = (value: unknown): boolean => Array.isArray(value) && value.every(isText)
const isMap = (value: unknown): boolean => typeof value === 'object' && value !== null && !Array.isArray(value)
const configTypes: Readonly<Record<string, (value: unknown) => boolean>> = {
  ...{ User: isText, WorkingDir: isText, StopSignal: isText, Env: isTexts, Entrypoint: isTexts, Cmd: isTexts },
  ...{ Labels: (value: unknown) => isMap(value) && Object.values(value as object).every(isText), Volumes: isMap, ExposedPorts: isMap },
}
