/**
 * A layer of an image as a tree of files of its own, in the way the kernel's overlay wants it. Archives may be hostile: where a path leads is
 * worked out here, from what the archive itself has made so far, and never asked of the disk, so that no link leads out of the tree.
 */

import { posix } from 'node:path'
import { defined } from '#base/defined.ts'
import type { TreeOwner, TreeWriter } from '#base/tree-writer.ts'
import type { TarHeader, TarListener } from '#wire/tar-reader.ts'

const mostLinks = 40
const mostReplaced = 100
const hidden = '.wh.'
const opaque = '.wh..wh..opq'
const rootOwner: TreeOwner = { uid: 0, gid: 0, mode: 0o755, modifiedSeconds: 0 }

type Known = { kind: TarHeader['kind'] | 'mark'; target?: string }

export class LayerTree implements TarListener {
  readonly #writer: TreeWriter
  readonly #opaqueAttribute: string
  readonly #known = new Map<string, Known>([['', { kind: 'directory' }]])
  readonly #directories = new Map<string, TreeOwner>()
  #current: { path: string; owner: TreeOwner; attributes: ReadonlyMap<string, Uint8Array> } | undefined
  #replacedDirectories = 0
  sizeBytes = 0

  constructor(writer: TreeWriter, { hasUserAttributes }: { hasUserAttributes: boolean }) {
    this.#writer = writer
    this.#opaqueAttribute = hasUserAttributes ? 'user.overlay.opaque' : 'trusted.overlay.opaque'
  }

  onEntry(header: TarHeader): void {
    const parts = posix.normalize(`/${header.path}`).split('/').filter(Boolean)
    const owner: TreeOwner = { uid: header.uid, gid: header.gid, mode: header.mode, modifiedSeconds: header.modifiedSeconds }
    const name = parts.pop()
    this.sizeBytes += header.sizeBytes
    if (name === undefined) {
      if (header.kind === 'directory') this.#directories.set('', owner)
      return
    }
    const parent = this.#directory(parts)
    if (name.startsWith(hidden)) {
      this.#hide(parent, name)
      return
    }
    const path = posix.join(parent, name)
    this.#make(path, header, owner)
    if (header.kind !== 'file') for (const [key, value] of header.attributes) this.#setAttribute(path, key, value)
  }

  onData(bytes: Uint8Array): void {
    if (this.#current !== undefined) this.#writer.write(bytes)
  }

  onEntryEnd(): void {
    const current = this.#current
    if (current === undefined) return
    this.#current = undefined
    this.#writer.closeFile(current.owner)
    for (const [key, value] of current.attributes) this.#setAttribute(current.path, key, value)
  }

  /** Owners and times of directories, once nothing is put into them any more. */
  finish(): void {
    for (const [path, owner] of [...this.#directories].reverse()) this.#writer.setOwner(path, owner)
    if (!this.#directories.has('')) this.#writer.setOwner('', rootOwner)
  }

  #make(path: string, header: TarHeader, owner: TreeOwner): void {
    const before = this.#known.get(path)
    if (before !== undefined && (before.kind !== 'directory' || header.kind !== 'directory')) this.#remove(path)
    switch (header.kind) {
      case 'file':
        this.#writer.openFile(path)
        this.#current = { path, owner, attributes: header.attributes }
        break
      case 'directory':
        this.#writer.makeDirectory(path)
        this.#directories.set(path, owner)
        break
      case 'symlink':
        this.#writer.symlink(path, header.target, owner)
        break
      case 'link': {
        const existing = this.#existing(header.target)
        this.#writer.link(path, existing)
        this.#known.set(path, this.#known.get(existing) ?? { kind: 'file' })
        return
      }
      default:
        this.#writer.makeNode(path, header.kind, header.device, owner)
    }
    this.#known.set(path, { kind: header.kind, ...defined({ target: header.kind === 'symlink' ? header.target : undefined }) })
  }

  /** What layers below have there is not to be seen. */
  #hide(parent: string, name: string): void {
    if (name === opaque) {
      this.#writer.setAttribute(parent, this.#opaqueAttribute, Buffer.from('y'))
      return
    }
    const what = name.slice(hidden.length)
    // Other names of this kind are notes of an old file system to itself.
    if (what.startsWith('.wh.')) return
    if (what === '' || what === '.' || what === '..') throw new Error(`the layer hides ${JSON.stringify(what)}, which is no name`)
    const path = posix.join(parent, what)
    // In the layer itself it comes from another entry, which counts.
    if (this.#known.has(path)) return
    this.#writer.makeNode(path, 'character', { major: 0, minor: 0 })
    this.#known.set(path, { kind: 'mark' })
  }

  /** The directory that the parts lead to, links followed within the tree; what is missing is made. */
  #directory(parts: readonly string[]): string {
    const left = [...parts]
    let path = ''
    let links = 0
    for (let part = left.shift(); part !== undefined; part = left.shift()) {
      if (part === '..') {
        path = parentOf(path)
        continue
      }
      const next = posix.join(path, part)
      const known = this.#known.get(next)
      if (known?.kind === 'symlink') {
        if (++links > mostLinks) throw new Error(`too many links on the way to ${parts.join('/')} in the layer`)
        const target = known.target ?? ''
        left.unshift(...target.split('/').filter((each) => each !== '' && each !== '.'))
        if (target.startsWith('/')) path = ''
        continue
      }
      if (known?.kind !== 'directory') {
        if (known !== undefined) this.#remove(next)
        this.#writer.makeDirectory(next)
        this.#known.set(next, { kind: 'directory' })
        this.#directories.set(next, rootOwner)
      }
      path = next
    }
    return path
  }

  #existing(target: string): string {
    const parts = posix.normalize(`/${target}`).split('/').filter(Boolean)
    const name = parts.pop() ?? ''
    const path = posix.join(this.#directory(parts), name)
    const known = this.#known.get(path)
    if (known === undefined || known.kind === 'directory' || known.kind === 'mark')
      throw new Error(`the layer links to ${target}, which it does not have`)
    return path
  }

  #remove(path: string): void {
    this.#writer.remove(path)
    const wasDirectory = this.#known.get(path)?.kind === 'directory'
    this.#known.delete(path)
    this.#directories.delete(path)
    if (!wasDirectory) return
    // No archive that was made of a tree has any; each costs a look at all that is known.
    if (++this.#replacedDirectories > mostReplaced)
      throw new Error('the layer has too many directories in place of which it has something else')
    for (const known of [...this.#known.keys()]) if (known.startsWith(`${path}/`)) this.#known.delete(known)
    for (const known of [...this.#directories.keys()]) if (known.startsWith(`${path}/`)) this.#directories.delete(known)
  }

  #setAttribute(path: string, name: string, value: Uint8Array): void {
    // Marks of overlays in an archive would speak to the kernel in our name.
    if (name.includes('overlay.')) return
    this.#writer.setAttribute(path, name, value)
  }
}

const parentOf = (path: string): string => (path.includes('/') ? posix.dirname(path) : '')
