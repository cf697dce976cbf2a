/** Files of the kernel that are read again and again. They stay open: to open one takes several times as long as to read it. */
import { closeSync, openSync, readSync } from 'node:fs'
import type { Clock, Timer } from '#base/clock.ts'
import { kernelFiles } from '#base/kernel-files.ts'

/** One that the kernel makes up in one piece, as it does with those of cgroups. */
export type KeptFile = {
  /** Undefined where it cannot be read. */
  text(): string | undefined
  /** Where it holds one whole number and nothing else. */
  number(): number | undefined
}

export type KeptFiles = {
  /** Opened when it is first read; whoever does not need it any more just does not read it. */
  file(path: string): KeptFile
}

export type KeptKernelFilesOptions = {
  clock: Clock
  /** More than these are opened for each read. */
  mostOpen: number
}

/** What was not read for so long is closed at the second look: each takes a page of the kernel's memory. */
const lookMs = 60_000
/** A process may have few files open where somebody says so, and has others to open. */
const share = 1 / 4
const usualMost = 8192
const usualLimit = 1024

let buffer = Buffer.allocUnsafe(64 << 10)

export class KeptKernelFiles implements KeptFiles, Disposable {
  readonly #options: KeptKernelFilesOptions
  readonly #open = new Set<RereadFile>()
  #timer: Timer | undefined
  #isDisposed = false

  constructor(options: KeptKernelFilesOptions) {
    this.#options = options
  }

  file(path: string): KeptFile {
    return new RereadFile(path, this)
  }

  /** How many are open now. */
  get openCount(): number {
    return this.#open.size
  }

  /** Whether this one may stay open. */
  keep(file: RereadFile): boolean {
    const { mostOpen, clock } = this.#options
    if (this.#isDisposed || this.#open.size >= mostOpen) return false
    this.#open.add(file)
    this.#timer ??= clock.every(lookMs, () => this.#closeUnread())
    return true
  }

  forget(file: RereadFile): void {
    this.#open.delete(file)
  }

  [Symbol.dispose](): void {
    this.#isDisposed = true
    this.#timer?.cancel()
    for (const file of this.#open) file.close()
    this.#open.clear()
  }

  #closeUnread(): void {
    for (const file of this.#open) {
      if (file.wasRead) file.wasRead = false
      else {
        file.close()
        this.#open.delete(file)
      }
    }
    if (this.#open.size > 0) return
    this.#timer?.cancel()
    this.#timer = undefined
  }
}

class RereadFile implements KeptFile {
  wasRead = false
  readonly #path: string
  readonly #keeper: KeptKernelFiles
  #descriptor = -1

  constructor(path: string, keeper: KeptKernelFiles) {
    this.#path = path
    this.#keeper = keeper
  }

  text(): string | undefined {
    const length = this.#read()
    return length < 0 ? undefined : buffer.toString('latin1', 0, length)
  }

  number(): number | undefined {
    const length = this.#read()
    return length < 0 ? undefined : numberIn(buffer, length)
  }

  close(): void {
    if (this.#descriptor < 0) return
    closeSync(this.#descriptor)
    this.#descriptor = -1
  }

  /** How much is in the buffer now; -1 where nothing could be read. */
  #read(): number {
    this.wasRead = true
    if (this.#descriptor >= 0) {
      const length = lengthRead(this.#descriptor)
      if (length >= 0) return length
      // What it belonged to is gone; there may be another one of the same name.
      this.close()
      this.#keeper.forget(this)
    }
    this.#descriptor = descriptorOf(this.#path)
    if (this.#descriptor < 0) return -1
    const length = lengthRead(this.#descriptor)
    if (length < 0 || !this.#keeper.keep(this)) this.close()
    return length
  }
}

function descriptorOf(path: string): number {
  try {
    return openSync(path, 'r')
  } catch {
    return -1
  }
}

function lengthRead(descriptor: number): number {
  try {
    for (;;) {
      const length = readSync(descriptor, buffer, 0, buffer.length, 0)
      if (length < buffer.length) return length
      buffer = Buffer.allocUnsafe(buffer.length * 2)
    }
  } catch {
    return -1
  }
}

const [zero, nine, space] = [0x30, 0x39, 0x20]

function numberIn(bytes: Uint8Array, length: number): number | undefined {
  let value = 0
  let at = 0
  for (; at < length; at++) {
    const byte = bytes[at] as number
    if (byte < zero || byte > nine) break
    value = value * 10 + (byte - zero)
  }
  if (at === 0) return undefined
  for (; at < length; at++) if ((bytes[at] as number) > space) return undefined
  return value
}

/** So many as leave others enough to open. */
export function keptKernelFiles(clock: Clock): KeptKernelFiles {
  const limit = /^Max open files\s+(\d+)/m.exec(kernelFiles.read('/proc/self/limits') ?? '')?.[1] ?? usualLimit
  return new KeptKernelFiles({ clock, mostOpen: Math.min(usualMost, Math.floor(Number(limit) * share)) })
}
