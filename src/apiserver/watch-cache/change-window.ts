import type { CachedObject } from '#apiserver/watch-cache/cached-object.ts'
import { RingBuffer } from '#base/ring-buffer.ts'

export type ChangeType = 'ADDED' | 'MODIFIED' | 'DELETED'

/** A change as it happened in the store; whoever watches with a selector may see it as another type. */
export class Change {
  readonly type: ChangeType
  readonly revision: number
  readonly atMs: number
  /** After the change; for a deletion the last state, under the revision of the deletion. */
  readonly object: CachedObject
  readonly previous: CachedObject | undefined

  constructor(type: ChangeType, revision: number, atMs: number, object: CachedObject, previous: CachedObject | undefined) {
    this.type = type
    this.revision = revision
    this.atMs = atMs
    this.object = object
    this.previous = previous
  }
}

export class ResourceExpired extends Error {
  override name = 'ResourceExpired'
  readonly oldest: number
  constructor(asked: number, oldest: number) {
    super(`too old resource version: ${asked} (${oldest})`)
    this.oldest = oldest
  }
}

export type WindowLimits = {
  /** How long changes are kept, as far as the other limits allow. */
  windowMs: number
  maxChanges: number
  /** Of the objects in it. */
  maxBytes: number
}

/** So many are kept, however old they are, unless they are larger than this all together; and however large while they are new. */
const fewest = 100
const fewestBytes = 1 << 20
/** What a resource keeps of those that are too old, whatever others keep. */
const leastBytes = 32 << 10
const leastCapacity = 128

/** What windows keep of changes that are too old: where there are many resources, each of them keeps little. */
export class OldChanges {
  readonly mostBytes: number
  bytes = 0

  constructor(mostBytes = 1 << 20) {
    this.mostBytes = mostBytes
  }
}

/** The recent changes to one resource, for those who come back. */
export class ChangeWindow {
  readonly #limits: WindowLimits
  readonly #oldChanges: OldChanges
  /** What this window has added to those. */
  #oldBytes = 0
  #isAllOld = false
  #changes = new RingBuffer<Change>(leastCapacity)
  #bytes = 0
  /** Changes up to and including this revision are no longer in the window. */
  #forgotten = 0

  constructor(limits: WindowLimits, oldChanges = new OldChanges()) {
    this.#limits = limits
    this.#oldChanges = oldChanges
  }

  /** Nothing up to this revision can be had any more. */
  startAfter(revision: number): void {
    this.#forgotten = revision
    this.#changes = new RingBuffer(leastCapacity)
    this.#bytes = 0
    this.release()
  }

  /** Where nobody will ask any more: what is in the window no longer counts for others. */
  release(): void {
    this.#setOldBytes(0)
  }

  push(change: Change): void {
    const { maxChanges } = this.#limits
    const changes = this.#changes
    this.#dropOld(change.atMs)
    if (changes.length === changes.capacity && changes.capacity < maxChanges) changes.resize(Math.min(changes.capacity * 2, maxChanges))
    this.#bytes += sizeOf(change)
    this.#isAllOld = false
    this.#drop(changes.push(change))
  }

  /** Lets go of what is too old by now, where nothing new comes that would push it out. */
  settle(nowMs: number): void {
    this.#dropOld(nowMs)
    const { length, capacity } = this.#changes
    if (capacity > leastCapacity && length * 4 < capacity) this.#changes.resize(Math.max(leastCapacity, length * 2))
  }

  /** Whether there are more than are kept for good. */
  get isLong(): boolean {
    return this.#changes.length >= fewest || (this.#bytes > leastBytes && !this.#isAllOld)
  }

  #dropOld(nowMs: number): void {
    const { windowMs, maxBytes } = this.#limits
    const changes = this.#changes
    const isOld = (change: Change): boolean => nowMs - change.atMs >= windowMs
    for (let oldest = changes.at(0); oldest !== undefined && changes.length >= fewest; oldest = changes.at(0)) {
      if (!isOld(oldest) && this.#bytes <= maxBytes) break
      this.#drop(changes.shift())
    }
    let oldBytes = 0
    let old = 0
    for (let change = changes.at(0); change !== undefined && isOld(change); change = changes.at(++old)) oldBytes += sizeOf(change)
    this.#setOldBytes(oldBytes)
    this.#isAllOld = old === changes.length
    for (; old > 0 && this.#keepsTooMuch; old--) {
      const change = changes.shift()
      if (change !== undefined) this.#setOldBytes(this.#oldBytes - sizeOf(change))
      this.#drop(change)
    }
  }

  get #keepsTooMuch(): boolean {
    const { bytes, mostBytes } = this.#oldChanges
    return this.#bytes > (bytes > mostBytes ? leastBytes : fewestBytes)
  }

  #setOldBytes(bytes: number): void {
    this.#oldChanges.bytes += bytes - this.#oldBytes
    this.#oldBytes = bytes
  }

  /**
   * The changes after `revision`, oldest first; all those of one revision, or none, and about `limit` at most.
   * Throws `ResourceExpired` where the window does not reach back that far.
   */
  after(revision: number, limit: number): Change[] {
    if (revision < this.#forgotten) throw new ResourceExpired(revision, this.#forgotten + 1)
    const found: Change[] = []
    for (let index = this.#firstAfter(revision); index < this.#changes.length; index++) {
      const change = this.#changes.at(index) as Change
      if (found.length >= limit && change.revision !== found.at(-1)?.revision) break
      found.push(change)
    }
    return found
  }

  #drop(change: Change | undefined): void {
    if (change === undefined) return
    this.#bytes -= sizeOf(change)
    this.#forgotten = Math.max(this.#forgotten, change.revision)
  }

  #firstAfter(revision: number): number {
    let low = 0
    let high = this.#changes.length
    while (low < high) {
      const middle = (low + high) >> 1
      if ((this.#changes.at(middle)?.revision ?? 0) <= revision) low = middle + 1
      else high = middle
    }
    return low
  }
}

const sizeOf = ({ object }: Change): number => object.value.byteLength
