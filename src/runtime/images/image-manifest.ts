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
  if (layers.length > mostLayers) throw new Error(`the image has ${layers.length} layers; no more than ${mostLayers} can be mounted`)
  const foreign = layers.find(({ mediaType }) => /foreign|nondistributable/.test(mediaType) && /windows/.test(mediaType))
  if (foreign !== undefined) throw new Error('the image is for Windows')
  return { config, layers }
}

export const isIndex = (mediaType: string, manifest: Manifest): boolean =>
  /index|manifest\.list/.test(mediaType) || manifest.manifests !== undefined
