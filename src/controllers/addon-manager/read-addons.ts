/** The add-ons of a directory: every object of its YAML and JSON files that says how it is to be kept. */
import { extname, join } from 'node:path'
import { jsYaml } from '#api/codec/js-yaml.ts'
import type { KubernetesObject } from '#api/resource.ts'
import type { Files } from '#base/files.ts'

/** Kept as in the file, or made once and then left to whoever changes it. */
export type AddonMode = 'Reconcile' | 'EnsureExists'

export type Addon = { readonly mode: AddonMode; readonly object: KubernetesObject; readonly path: string }

export type ReadAddons = {
  readonly addons: readonly Addon[]
  /** What could not be read, in words. Then nobody knows what the directory is meant to hold. */
  readonly problems: readonly string[]
}

export const modeLabel = 'addonmanager.kubernetes.io/mode'
export const clusterServiceLabel = 'kubernetes.io/cluster-service'

/** How an object with these labels is kept; undefined where it is no add-on. The older label alone means Reconcile. */
export function addonMode(labels: Readonly<Record<string, string>> = {}): AddonMode | undefined {
  const mode = labels[modeLabel]
  if (mode === 'EnsureExists' || mode === 'Reconcile') return mode
  return labels[clusterServiceLabel] === 'true' ? 'Reconcile' : undefined
}

export async function readAddons(directory: string, files: Files): Promise<ReadAddons> {
  if ((await files.statTarget(directory))?.kind !== 'directory') return { addons: [], problems: [`${directory} is not a directory`] }
  const addons: Addon[] = []
  const problems: string[] = []
  for (const path of await filesBelow(directory, files)) {
    try {
      for (const document of jsYaml().loadAll(await files.readText(path))) {
        for (const object of objectsIn(document)) {
          const mode = addonMode(object.metadata?.labels)
          if (mode !== undefined) addons.push({ mode, object, path })
        }
      }
    } catch (error) {
      problems.push(`${path}: ${error instanceof Error ? error.message : String(error)}`)
    }
  }
  return { addons, problems }
}

async function filesBelow(directory: string, files: Files): Promise<string[]> {
  const found: string[] = []
  for (const name of await files.list(directory)) {
    // Mounted config maps keep their files twice, once under names like this; editors leave such files as well.
    if (name.startsWith('.')) continue
    const path = join(directory, name)
    const kind = (await files.statTarget(path))?.kind
    if (kind === 'directory') found.push(...(await filesBelow(path, files)))
    else if (kind === 'file' && ['.yaml', '.yml', '.json'].includes(extname(name))) found.push(path)
  }
  return found
}

function objectsIn(document: unknown): KubernetesObject[] {
  if (document === null || document === undefined) return []
  const { kind, apiVersion, metadata, items } = document as KubernetesObject & { items?: unknown }
  if (Array.isArray(items) && kind?.endsWith('List')) return items.flatMap(objectsIn)
  if (typeof kind !== 'string' || typeof apiVersion !== 'string' || typeof metadata?.name !== 'string') {
    throw new Error('a document is not an object: apiVersion, kind and metadata.name are required')
  }
  return [document as KubernetesObject]
}
