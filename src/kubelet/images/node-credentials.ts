import { join } from 'node:path'
import type { Files } from '#base/files.ts'
import { entriesOfDockerConfig, type RegistryEntry } from '#kubelet/images/registry-credentials.ts'

/** What the node itself has for registries: the first `config.json` of these directories. One that cannot be read counts as none. */
export async function nodeCredentials(files: Pick<Files, 'readTextIfPresent'>, directories: readonly string[]): Promise<RegistryEntry[]> {
  for (const directory of directories) {
    const text = await files.readTextIfPresent(join(directory, 'config.json')).catch(() => undefined)
    if (text === undefined) continue
    try {
      return entriesOfDockerConfig(text)
    } catch {
      // As upstream: a file that holds no credentials is passed over.
    }
  }
  return []
}
