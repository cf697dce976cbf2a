/** The output of a container that its runtime writes to a file. */
import { errorMessage } from '#base/error-message.ts'
import type { Files, OpenFile } from '#base/files.ts'
import { parsedEntry } from '#kubelet/logs/log-entry.ts'
import type { LogOptions } from '#kubelet/logs/log-options.ts'
import { LogShaper } from '#kubelet/logs/log-shaper.ts'
import type { LogSubject } from '#kubelet/logs/log-subject.ts'

const blockBytes = 64 * 1024
const newline = 0x0a

/**
 * What the file holds, in pieces, the first of which is empty and says that there is a file; and with `follow` what comes into it until the container has ended. A file that is moved away and
 * begun anew is read to its end first; one that is cut is read from its beginning.
 */
export async function* logFilePieces(files: Files, path: string, options: LogOptions, subject: LogSubject): AsyncGenerator<Uint8Array> {
  const shaper = new LogShaper(options)
  let file = await openLog(files, path)
  try {
    yield new Uint8Array(0)
    let position = await tailStart(file.open, options.tailLines)
    let rest: Buffer = Buffer.alloc(0)
    const changes = options.follow ? new Changes(files, path, subject) : undefined
    using _ = changes
    for (;;) {
      // Asked before reading: what an ended container wrote is all there.
      const isOver = !options.follow || !(await subject.isRunning())
      changes?.clear()
      // Once there is another file, nobody writes to this one any more.
      const isReplaced = options.follow && (await hasOther(files, path, file.inode))
      for (;;) {
        const block = Buffer.from(await file.open.readAt(position, blockBytes))
        position += block.length
        const { lines, left } = splitLines(rest.length === 0 ? block : Buffer.concat([rest, block]))
        rest = left
        const piece = shapedLines(lines, shaper)
        if (piece.length > 0) yield piece
        if (shaper.isDone) return
        if (block.length < blockBytes) break
      }
      if (isReplaced) {
        const next = await openLog(files, path)
        await file.open.close()
        file = next
        position = 0
        rest = Buffer.alloc(0)
      } else if (isOver) {
        const piece = shapedLines(rest.length === 0 ? [] : [rest], shaper)
        if (piece.length > 0) yield piece
        return
      } else if ((await file.open.sizeBytes()) < position) position = 0
      else if (!(await changes?.next())) return
    }
  } finally {
    await file.open.close()
  }
}

type LogFile = { open: OpenFile; inode: number }

async function openLog(files: Files, path: string): Promise<LogFile> {
  try {
    for (;;) {
      const target = await resolved(files, path)
      const inode = (await files.stat(target))?.inode ?? 0
      const open = await files.open(target, 'r')
      const now = await files.stat(target)
      // One that took its place between the two would be taken for another one later, and be read twice.
      if (now === undefined || now.inode === inode) return { open, inode }
      await open.close()
    }
  } catch (error) {
    throw new Error(`failed to open log file "${path}": ${errorMessage(error)}`)
  }
}

async function resolved(files: Files, path: string): Promise<string> {
  // It is no link.
  const target = await files.readLink(path).catch(() => undefined)
  return target ?? path
}

/** Another file stands there now. */
async function hasOther(files: Files, path: string, inode: number): Promise<boolean> {
  const stat = await files.stat(await resolved(files, path))
  return stat !== undefined && stat.inode !== inode
}

function splitLines(bytes: Buffer): { lines: Buffer[]; left: Buffer } {
  const lines: Buffer[] = []
  let start = 0
  for (let end = bytes.indexOf(newline); end >= 0; end = bytes.indexOf(newline, start)) {
    lines.push(bytes.subarray(start, end + 1))
    start = end + 1
  }
  return { lines, left: bytes.subarray(start) }
}

/** Lines that are no entries are left out. */
function shapedLines(lines: readonly Buffer[], shaper: LogShaper): Uint8Array {
  const pieces: Uint8Array[] = []
  for (const line of lines) {
    if (shaper.isDone) break
    const entry = parsedEntry(line)
    if (entry !== undefined) pieces.push(shaper.shaped(entry))
  }
  return Buffer.concat(pieces)
}

/** Where the last so many lines begin. */
async function tailStart(file: OpenFile, lines: number | undefined): Promise<number> {
  if (lines === undefined) return 0
  let end = await file.sizeBytes()
  // The newline at the end of the last line is one as well.
  let newlinesLeft = lines + 1
  while (end > 0) {
    const start = Math.max(0, end - blockBytes)
    const block = Buffer.from(await file.readAt(start, end - start))
    for (let at = block.lastIndexOf(newline); at >= 0; at = at === 0 ? -1 : block.lastIndexOf(newline, at - 1)) {
      newlinesLeft -= 1
      if (newlinesLeft === 0) return start + at + 1
    }
    end = start
  }
  return 0
}

/** Waits until the file, or what is known of the container, may have changed. */
class Changes implements Disposable {
  readonly #stack = new DisposableStack()
  readonly #signal: AbortSignal
  #hasChanged = false
  #wake: () => void = () => {}

  constructor(files: Files, path: string, subject: LogSubject) {
    this.#signal = subject.signal
    const onChange = () => {
      this.#hasChanged = true
      this.#wake()
    }
    this.#stack.use(files.watch(path, onChange))
    this.#stack.use(subject.onChange(onChange))
    const onAbort = () => this.#wake()
    subject.signal.addEventListener('abort', onAbort, { once: true })
    this.#stack.defer(() => subject.signal.removeEventListener('abort', onAbort))
  }

  clear(): void {
    this.#hasChanged = false
  }

  /** False when nobody waits any more. */
  async next(): Promise<boolean> {
    if (!this.#hasChanged && !this.#signal.aborted) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
    }
    return !this.#signal.aborted
  }

  [Symbol.dispose](): void {
    this.#stack.dispose()
  }
}
