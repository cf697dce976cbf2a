/** The kernel's cgroup v2 in a directory, for machines whose kernel has v1: groups, what is handed on to them, and what their files take. */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { type Files, nodeFiles, type OpenFile } from '#base/files.ts'

const mountPoint = '/sys/fs/cgroup'
const amount = /^(max|\d+)$/
const number = /^\d+$/

/** Files of each controller: what they hold at first, and what may be written. */
const controllers: Record<string, Record<string, [initial: string, accepts: RegExp | undefined]>> = {
  cpu: {
    'cpu.weight': ['100', /^([1-9]\d{0,3}|10000)$/],
    'cpu.max': ['max 100000', /^(max|\d{4,}) \d+$/],
    'cpu.stat': ['usage_usec 0\nuser_usec 0\nsystem_usec 0', undefined],
  },
  memory: {
    'memory.max': ['max', amount],
    'memory.high': ['max', amount],
    'memory.min': ['0', amount],
    'memory.low': ['0', amount],
    'memory.swap.max': ['max', amount],
    'memory.current': ['0', undefined],
    'memory.events': ['low 0\nhigh 0\nmax 0\noom 0\noom_kill 0', undefined],
    'memory.stat': ['anon 0\nfile 0\ninactive_file 0', undefined],
  },
  pids: { 'pids.max': ['max', amount], 'pids.current': ['0', undefined] },
  cpuset: { 'cpuset.cpus': ['', /^[\d,-]*$/], 'cpuset.mems': ['', /^[\d,-]*$/] },
}

export class Cgroup2Tree implements Disposable {
  readonly #directory = mkdtempSync(join(tmpdir(), 'tn-cgroup2-'))

  constructor() {
    this.#fill(this.#directory, Object.keys(controllers), false)
  }

  /** The machine's files, but for the kernel's groups. */
  get files(): Files {
    const at = (path: string) => this.#at(path)
    return {
      ...nodeFiles,
      readTextIfPresent: (path) => nodeFiles.readTextIfPresent(at(path)),
      list: (path) => nodeFiles.list(at(path)),
      stat: (path) => nodeFiles.stat(at(path)),
      makeDirectory: async (path) => this.#make(at(path)),
      removeOne: async (path) => this.#remove(at(path)),
      open: async (path, flags) => this.#open(at(path), await nodeFiles.open(at(path), flags)),
    }
  }

  /** What the kernel says of a group. */
  set(group: string, file: string, text: string): void {
    writeFileSync(join(this.#directory, group, file), `${text}\n`)
  }

  /** Undefined where the group has no such file: it does not exist, or the controller is not handed on to it. */
  read(group: string, file: string): string | undefined {
    try {
      return readFileSync(join(this.#directory, group, file), 'utf8').trim()
    } catch {
      return undefined
    }
  }

  [Symbol.dispose](): void {
    rmSync(this.#directory, { recursive: true, force: true })
  }

  #at(path: string): string {
    return path === mountPoint || path.startsWith(`${mountPoint}/`) ? join(this.#directory, path.slice(mountPoint.length)) : path
  }

  #make(path: string): void {
    if (statSync(path, { throwIfNoEntry: false }) !== undefined) return
    this.#make(dirname(path))
    const handedOn = readFileSync(join(dirname(path), 'cgroup.subtree_control'), 'utf8')
      .split(/\s+/)
      .filter(Boolean)
    mkdirSync(path)
    this.#fill(path, handedOn, true)
  }

  #fill(path: string, own: readonly string[], hasLimits: boolean): void {
    writeFileSync(join(path, 'cgroup.controllers'), `${own.join(' ')}\n`)
    for (const file of ['cgroup.subtree_control', 'cgroup.procs']) writeFileSync(join(path, file), '')
    if (hasLimits) this.#addFiles(path, own)
  }

  #addFiles(path: string, own: readonly string[]): void {
    for (const controller of own) {
      for (const [file, [initial]] of Object.entries(controllers[controller] ?? {})) writeFileSync(join(path, file), `${initial}\n`)
    }
  }

  #remove(path: string): void {
    const fail = (code: string) => {
      throw Object.assign(new Error(`${code}: ${path}`), { code })
    }
    if (statSync(path, { throwIfNoEntry: false }) === undefined) return
    if (readdirSync(path, { withFileTypes: true }).some((entry) => entry.isDirectory())) fail('ENOTEMPTY')
    if (readFileSync(join(path, 'cgroup.procs'), 'utf8').trim() !== '') fail('EBUSY')
    rmSync(path, { recursive: true })
  }

  /** Writes are checked as the kernel does. */
  #open(path: string, file: OpenFile): OpenFile {
    return {
      ...file,
      write: async (bytes) => {
        const text = Buffer.from(bytes).toString()
        const name = basename(path)
        if (name === 'cgroup.subtree_control') return this.#handOn(path, text)
        const accepts = controllers[name.split('.')[0] ?? '']?.[name]?.[1] ?? (name === 'cgroup.procs' ? number : undefined)
        if (!accepts?.test(text)) throw Object.assign(new Error(`EINVAL: ${name} does not take ${text}`), { code: 'EINVAL' })
        writeFileSync(path, `${text}\n`)
      },
    }
  }

  /** The groups in it get the files of the controller. */
  #handOn(path: string, text: string): void {
    const group = dirname(path)
    const name = text.replace(/^\+/, '')
    const own = readFileSync(join(group, 'cgroup.controllers'), 'utf8').split(/\s+/)
    if (!text.startsWith('+') || !own.includes(name)) throw Object.assign(new Error(`ENOENT: ${text}`), { code: 'ENOENT' })
    const now = readFileSync(path, 'utf8').split(/\s+/).filter(Boolean)
    writeFileSync(path, `${[...now, name].join(' ')}\n`)
    for (const entry of readdirSync(group, { withFileTypes: true })) {
      if (!entry.isDirectory()) continue
      const child = join(group, entry.name)
      writeFileSync(join(child, 'cgroup.controllers'), `${[...now, name].join(' ')}\n`)
      this.#addFiles(child, [name])
    }
  }
}
