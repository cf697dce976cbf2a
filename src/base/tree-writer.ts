/** Writes a tree of files as an archive describes it, step by step and at once: for threads that do nothing else. */
import * as fs from 'node:fs'
import { join } from 'node:path'
import { SystemCallError, systemCall } from '#base/system-calls.ts'

export type TreeOwner = { uid: number; gid: number; mode: number; modifiedSeconds: number }

/** Paths are relative to the tree, without links on the way: that is for the caller to see to. */
export class TreeWriter {
  readonly #root: string
  readonly #keepsOwners: boolean
  #open: number | undefined

  /** Without owners every file is ours, and what only root can make is left out. */
  constructor(root: string, { keepsOwners }: { keepsOwners: boolean }) {
    this.#root = root
    this.#keepsOwners = keepsOwners
    fs.mkdirSync(root, { recursive: true, mode: 0o755 })
  }

  makeDirectory(path: string): void {
    fs.mkdirSync(this.#path(path), { recursive: true, mode: 0o755 })
  }

  openFile(path: string): void {
    this.#open = fs.openSync(
      this.#path(path),
      fs.constants.O_WRONLY | fs.constants.O_CREAT | fs.constants.O_EXCL | fs.constants.O_NOFOLLOW,
      0o600,
    )
  }

  write(bytes: Uint8Array): void {
    let at = 0
    while (at < bytes.length) at += fs.writeSync(this.#open ?? -1, bytes, at)
  }

  closeFile({ uid, gid, mode, modifiedSeconds }: TreeOwner): void {
    const file = this.#open
    if (file === undefined) return
    if (this.#keepsOwners) fs.fchownSync(file, uid, gid)
    fs.fchmodSync(file, mode)
    fs.futimesSync(file, modifiedSeconds, modifiedSeconds)
    fs.closeSync(file)
    this.#open = undefined
  }

  symlink(path: string, target: string, { uid, gid, modifiedSeconds }: TreeOwner): void {
    const place = this.#path(path)
    fs.symlinkSync(target, place)
    if (this.#keepsOwners) fs.lchownSync(place, uid, gid)
    fs.lutimesSync(place, modifiedSeconds, modifiedSeconds)
  }

  link(path: string, existing: string): void {
    fs.linkSync(this.#path(existing), this.#path(path))
  }

  /** For directories, last: what is put into them changes their time. */
  setOwner(path: string, { uid, gid, mode, modifiedSeconds }: TreeOwner): void {
    const place = this.#path(path)
    if (this.#keepsOwners) fs.lchownSync(place, uid, gid)
    fs.chmodSync(place, mode)
    fs.utimesSync(place, modifiedSeconds, modifiedSeconds)
  }

  /** A device, a pipe, or the mark of something that is hidden (a character device of number 0). */
  makeNode(path: string, kind: 'character' | 'block' | 'fifo', device: { major: number; minor: number }, owner?: TreeOwner): void {
    const type = { character: 0o020000, block: 0o060000, fifo: 0o010000 }[kind]
    const { major, minor } = device
    const number = (minor & 0xff) | ((major & 0xfff) << 8) | ((minor & ~0xff) << 12)
    const isMark = kind === 'character' && major === 0 && minor === 0
    try {
      systemCall('mknodat', -100, this.#path(path), type | ((owner?.mode ?? 0) & 0o777), number)
    } catch (error) {
      // Only root makes devices; without one nobody could use it either.
      if (!isMark && !this.#keepsOwners && error instanceof SystemCallError && error.code === 'EPERM') return
      throw error
    }
    if (owner !== undefined && this.#keepsOwners) fs.lchownSync(this.#path(path), owner.uid, owner.gid)
  }

  setAttribute(path: string, name: string, value: Uint8Array): void {
    try {
      systemCall('lsetxattr', this.#path(path), name, value, value.length, 0)
    } catch (error) {
      const isRefused = error instanceof SystemCallError && ['EPERM', 'EOPNOTSUPP', 'ENOTSUP'].includes(error.code)
      if (!isRefused || name.endsWith('.opaque')) throw error
    }
  }

  remove(path: string): void {
    fs.rmSync(this.#path(path), { recursive: true, force: true })
  }

  #path(path: string): string {
    return join(this.#root, path)
  }
}
