/** The kernel's groups of processes as directories: one tree with cgroup v2, one for each controller with v1. */
import { join } from 'node:path'
import { type Files, hasCode, type OpenFile } from '#base/files.ts'

export type CgroupFiles = {
  readonly version: 1 | 2
  /** Below these a group has its directories, by controller; with v2 they are all the same. */
  readonly roots: ReadonlyMap<string, string>
  /** Makes the group with all its parents, for every controller. */
  make(group: string): Promise<void>
  /** Does nothing where the controller or the file is missing. */
  write(group: string, controller: string, file: string, value: string): Promise<void>
  read(group: string, controller: string, file: string): Promise<string | undefined>
  /** The names of the groups in it. */
  children(group: string): Promise<string[]>
  /** With the groups in it; those that still have processes stay. Resolves false when something stayed. */
  remove(group: string): Promise<boolean>
}

const mountPoint = '/sys/fs/cgroup'

/** Undefined where the machine has none, or none that this process may change. */
export async function findCgroups(files: Files): Promise<CgroupFiles | undefined> {
  const controllers = await files.readTextIfPresent(join(mountPoint, 'cgroup.controllers'))
  if (controllers !== undefined) {
    if ((await files.mayWrite?.(mountPoint)) === false) return undefined
    const roots = new Map(
      controllers
        .trim()
        .split(/\s+/)
        .filter(Boolean)
        .map((name) => [name, mountPoint] as const),
    )
    return new CgroupTree(files, 2, roots)
  }
  const mounts = (await files.readTextIfPresent('/proc/self/mounts')) ?? ''
  const roots = new Map<string, string>()
  for (const line of mounts.split('\n')) {
    const [, path = '', kind, options = ''] = line.split(' ')
    if (kind === 'cgroup') roots.set(controllerOf(options), path)
    // Has no controllers beside trees of v1, but runtimes put processes there as well.
    if (kind === 'cgroup2') roots.set('unified', path)
  }
  for (const [name, path] of roots) if ((await files.mayWrite?.(path)) === false) roots.delete(name)
  return roots.size === 0 ? undefined : new CgroupTree(files, 1, roots)
}

const mountOptions = new Set(['rw', 'ro', 'relatime', 'nosuid', 'nodev', 'noexec', 'xattr', 'clone_children'])

/** `cpu,cpuacct` may share a tree: its first name stands for both. */
function controllerOf(options: string): string {
  const names = options.split(',').filter((option) => !mountOptions.has(option) && !option.startsWith('release_agent'))
  return names.includes('cpu') ? 'cpu' : (names[0] ?? '')
}

class CgroupTree implements CgroupFiles {
  readonly version: 1 | 2
  readonly roots: ReadonlyMap<string, string>
  readonly #files: Files
  readonly #places: readonly string[]

  constructor(files: Files, version: 1 | 2, roots: ReadonlyMap<string, string>) {
    this.#files = files
    this.version = version
    this.roots = roots
    this.#places = [...new Set(roots.values())]
  }

  async make(group: string): Promise<void> {
    await Promise.all(this.#places.map((place) => this.#files.makeDirectory(join(place, group), { mode: 0o755 })))
    if (this.version === 2) await this.#delegate(group)
    else await this.#inheritCpus(group)
  }

  async write(group: string, controller: string, file: string, value: string): Promise<void> {
    const root = this.roots.get(controller)
    if (root === undefined) return
    await this.#writeFile(join(root, group, file), value)
  }

  async read(group: string, controller: string, file: string): Promise<string | undefined> {
    const root = this.roots.get(controller)
    return root === undefined ? undefined : (await this.#files.readTextIfPresent(join(root, group, file)))?.trim()
  }

  async children(group: string): Promise<string[]> {
    const names = new Set<string>()
    for (const place of this.#places) for (const name of await this.#groupsIn(join(place, group))) names.add(name)
    return [...names]
  }

  async remove(group: string): Promise<boolean> {
    const gone = await Promise.all(this.#places.map((place) => this.#removeTree(join(place, group))))
    return gone.every(Boolean)
  }

  async #removeTree(path: string): Promise<boolean> {
    for (const name of await this.#groupsIn(path)) await this.#removeTree(join(path, name))
    try {
      await this.#files.removeOne(path)
      return true
    } catch (error) {
      if (hasCode(error, 'EBUSY') || hasCode(error, 'ENOTEMPTY')) return false
      throw error
    }
  }

  async #groupsIn(path: string): Promise<string[]> {
    const names: string[] = []
    for (const name of await this.#files.list(path)) {
      if ((await this.#files.stat(join(path, name)))?.kind === 'directory') names.push(name)
    }
    return names
  }

  /** A group has the controllers its parent hands on; some cannot be, where the node itself is in a container. */
  async #delegate(group: string): Promise<void> {
    const parts = group.split('/').filter(Boolean)
    for (let depth = 0; depth < parts.length; depth++) {
      const path = join(mountPoint, ...parts.slice(0, depth), 'cgroup.subtree_control')
      const has = new Set(((await this.#files.readTextIfPresent(path)) ?? '').trim().split(/\s+/))
      // A controller that the kernel does not delegate is missing in what is found later.
      for (const name of this.roots.keys()) if (!has.has(name)) await this.#writeFile(path, `+${name}`).catch(() => {})
    }
  }

  /** A new group has no processor until it is told of some, and takes no process before. */
  async #inheritCpus(group: string): Promise<void> {
    const root = this.roots.get('cpuset')
    if (root === undefined) return
    const parts = group.split('/').filter(Boolean)
    const inherit = async (file: string) => {
      let inherited = ((await this.#files.readTextIfPresent(join(root, file))) ?? '').trim()
      for (let depth = 1; depth <= parts.length; depth++) {
        const path = join(root, ...parts.slice(0, depth), file)
        const own = ((await this.#files.readTextIfPresent(path)) ?? '').trim()
        if (own === '' && inherited !== '') await this.#writeFile(path, inherited)
        inherited = own || inherited
      }
    }
    await Promise.all(['cpuset.cpus', 'cpuset.mems'].map(inherit))
  }

  /** In place: the kernel's files cannot be replaced. */
  async #writeFile(path: string, value: string): Promise<void> {
    let file: OpenFile
    try {
      file = await this.#files.open(path, 'r+')
    } catch (error) {
      if (hasCode(error, 'ENOENT')) return
      throw error
    }
    try {
      await file.write(Buffer.from(value))
    } finally {
      await file.close()
    }
  }
}
