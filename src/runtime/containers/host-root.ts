/**
 * The machine's own root in parts, for containers without root. The kernel lets no plain user put a layer over a directory that something is
 * mounted below: it could show what the mount hides. So each directory of the root that has no mounts gets a layer of its own.
 */
import { dirname, join } from 'node:path'
import type { Files } from '#base/files.ts'
import type { RootPart } from '#runtime/launch/process-spec.ts'
import type { RuntimePaths } from '#runtime/runtime-paths.ts'

/** What is in them belongs to the machine as it runs, or is the container's own anyway. */
const leftEmpty = new Set(['proc', 'sys', 'dev', 'run', 'tmp', 'mnt', 'media'])

export async function hostRootParts(containerId: string, paths: RuntimePaths, files: Files): Promise<RootPart[]> {
  const mounted = await inheritedMounts(dirname(paths.root), files)
  const parts: RootPart[] = []
  for (const name of await files.list('/')) {
    const path = `/${name}`
    const stat = await files.stat(path)
    const target = stat?.kind === 'symlink' ? await files.readLink(path) : undefined
    if (target !== undefined) parts.push({ kind: 'link', path, target })
    if (stat?.kind !== 'directory') continue
    const isOwn = leftEmpty.has(name) || mounted.has(path) || (await isEmpty(path, files))
    if (isOwn) parts.push({ kind: 'directory', path, mode: name === 'tmp' ? 0o1777 : 0o755 })
    else if ([...mounted].some((place) => place.startsWith(`${path}/`))) parts.push({ kind: 'bind', path })
    else parts.push({ kind: 'layer', path, ...(await layerOf(name, containerId, paths, files)) })
  }
  return parts
}

async function layerOf(name: string, containerId: string, paths: RuntimePaths, files: Files) {
  const own = join(paths.container(containerId).directory, 'parts', name)
  const layer = { upperDirectory: join(own, 'upper'), workDirectory: join(own, 'work') }
  for (const directory of Object.values(layer)) await files.makeDirectory(directory, { mode: 0o755 })
  return layer
}

/** One that may not be read is as good as empty. */
async function isEmpty(path: string, files: Files): Promise<boolean> {
  const names = await files.list(path).catch(() => [])
  return names.length === 0
}

/** What we have mounted ourselves hides nothing from us. */
async function inheritedMounts(own: string, files: Files): Promise<Set<string>> {
  const lines = (await files.readText('/proc/self/mountinfo')).split('\n')
  const places = lines.map((line) =>
    (line.split(' ')[4] ?? '').replace(/\\(\d{3})/g, (_, digits) => String.fromCharCode(Number.parseInt(digits, 8))),
  )
  return new Set(places.filter((place) => place !== '' && !place.startsWith(`${own}/`)))
}
