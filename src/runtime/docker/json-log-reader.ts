/** What Docker's json-file log holds, read from the files themselves: a container may write faster than Docker's API tells of it. */
import { basename, dirname, join } from 'node:path'
import type { Files, OpenFile } from '#base/files.ts'
import type { LogPosition } from '#runtime/docker/log-resume.ts'

type Entry = { log?: string; stream?: string; time?: string }

const chunkBytes = 1 << 20
const lineEnd = 10
/** Docker cuts longer lines. */
const pieceBytes = 16 * 1024

export class JsonLogReader {
  readonly #path: string
  readonly #files: Pick<Files, 'open' | 'stat' | 'list'>
  #after: LogPosition | undefined
  #open: { file: OpenFile; inode: number; position: number } | undefined
  #rest = Buffer.alloc(0)
  /** Lines were gone before they could be read. */
  hasLost = false

  /** Entries up to `after` are there already. */
  constructor(path: string, files: Pick<Files, 'open' | 'stat' | 'list'>, after: LogPosition | undefined) {
    this.#path = path
    this.#files = files
    this.#after = after && { ...after }
  }

  /** Lines of the form that logs of pods have, up to the end of what is there now. May be called again when there is more. */
  async *lines(): AsyncGenerator<Uint8Array> {
    this.#open ??= await this.#openAt(await this.#first())
    while (this.#open !== undefined) {
      const bytes = await this.#open.file.readAt(this.#open.position, chunkBytes)
      if (bytes.length > 0) {
        this.#open.position += bytes.length
        const lines = this.#convert(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length))
        if (lines.length > 0) yield lines
      } else if (!(await this.#moveOn())) return
    }
  }

  async close(): Promise<void> {
    await this.#open?.file.close()
    this.#open = undefined
  }

  /** False at the end of the newest file. */
  async #moveOn(): Promise<boolean> {
    const open = this.#open
    const newest = await this.#files.stat(this.#path)
    if (open === undefined || newest === undefined || newest.inode === open.inode) return false
    // What was written just before the file was put aside.
    if ((await open.file.readAt(open.position, 1)).length > 0) return true
    const aside = await this.#asideOldestFirst()
    const inodes = await Promise.all(aside.map(async (path) => (await this.#files.stat(path))?.inode))
    const at = inodes.indexOf(open.inode)
    if (at < 0) this.hasLost = true
    await this.close()
    this.#rest = Buffer.alloc(0)
    this.#open = await this.#openAt(at < 0 ? (aside[0] ?? this.#path) : (aside[at + 1] ?? this.#path))
    return true
  }

  async #openAt(path: string): Promise<{ file: OpenFile; inode: number; position: number } | undefined> {
    const before = await this.#files.stat(path)
    if (before === undefined) return undefined
    const file = await this.#files.open(path, 'r')
    // Put aside meanwhile: what was opened may be another one.
    if ((await this.#files.stat(path))?.inode === before.inode) return { file, inode: before.inode, position: 0 }
    await file.close()
    return this.#openAt(path)
  }

  /** The file to begin with: the newest that begins no later than what is known. */
  async #first(): Promise<string> {
    const all = [...(await this.#asideOldestFirst()), this.#path]
    if (this.#after === undefined) return all[0] ?? this.#path
    for (const path of all.toReversed()) {
      const time = await this.#beginningOf(path)
      if (time !== undefined && time <= this.#after.time) return path
    }
    return all[0] ?? this.#path
  }

  async #beginningOf(path: string): Promise<string | undefined> {
    await using file = await this.#files.open(path, 'r')
    const bytes = Buffer.from(await file.readAt(0, 8 * pieceBytes))
    const end = bytes.indexOf(lineEnd)
    return end < 0 ? undefined : timeOf(entryOf(bytes.subarray(0, end).toString()))
  }

  /** `….log.2`, `….log.1`. */
  async #asideOldestFirst(): Promise<string[]> {
    const [directory, name] = [dirname(this.#path), basename(this.#path)]
    const numbers = (await this.#files.list(directory)).flatMap((each) =>
      each.startsWith(`${name}.`) && /^\d+$/.test(each.slice(name.length + 1)) ? Number(each.slice(name.length + 1)) : [],
    )
    return numbers.sort((one, other) => other - one).map((number) => join(directory, `${name}.${number}`))
  }

  #convert(bytes: Buffer): Uint8Array {
    const all = this.#rest.length === 0 ? bytes : Buffer.concat([this.#rest, bytes])
    const end = all.lastIndexOf(lineEnd)
    this.#rest = Buffer.from(all.subarray(end + 1))
    let text = ''
    for (const line of all
      .subarray(0, end + 1)
      .toString()
      .split('\n')) {
      const entry = line === '' ? undefined : entryOf(line)
      const time = entry && timeOf(entry)
      if (entry === undefined || time === undefined || this.#isWritten(time)) continue
      const { log = '', stream = 'stdout' } = entry
      const hasEnd = log.endsWith('\n')
      // A shorter piece without an end is the last of all output.
      const kind = hasEnd || Buffer.byteLength(log) < pieceBytes ? 'F' : 'P'
      text += `${time} ${stream} ${kind} ${log}${hasEnd ? '' : '\n'}`
    }
    return Buffer.from(text)
  }

  #isWritten(time: string): boolean {
    const after = this.#after
    if (after === undefined || time > after.time) return false
    if (time < after.time) return true
    return after.count-- > 0
  }
}

/** Undefined for what was half written when the power went. */
function entryOf(line: string): Entry | undefined {
  try {
    return JSON.parse(line) as Entry
  } catch {
    return undefined
  }
}

/** Docker leaves out zeros at the end; texts of the same length can be compared. */
function timeOf(entry: Entry | undefined): string | undefined {
  const [, seconds, fraction = ''] = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d+))?Z$/.exec(entry?.time ?? '') ?? []
  return seconds === undefined ? undefined : `${seconds}.${fraction.padEnd(9, '0')}Z`
}
