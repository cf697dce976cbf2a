import { normalize } from 'node:path'
import type { V1Pod } from '#api/core/v1/types.gen.ts'

/**
 * Directories a read-only volume must have for other volumes of the same container to be mounted below it, relative to the volume.
 * Of those below one another only the uppermost.
 */
export function nestedMountPoints(volumeName: string, { spec }: V1Pod): string[] {
  const found = new Set<string>()
  for (const { volumeMounts = [] } of [...(spec.initContainers ?? []), ...spec.containers, ...(spec.ephemeralContainers ?? [])]) {
    const all = volumeMounts.map(({ mountPath }) => withoutSlash(normalize(mountPath))).sort()
    for (const { name, mountPath } of volumeMounts) {
      if (name !== volumeName) continue
      const own = withoutSlash(normalize(mountPath))
      if (own.startsWith('../')) throw new Error(`invalid container mount point ${own}`)
      const nested: string[] = []
      for (const path of all) {
        if (!path.startsWith(`${own}/`) || nested.some((upper) => path.startsWith(`${upper}/`))) continue
        nested.push(path)
        found.add(path.slice(own.length + 1))
      }
    }
  }
  return [...found]
}

const withoutSlash = (path: string): string => (path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path)
