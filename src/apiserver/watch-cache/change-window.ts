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

/** So many are kept, however large they are. */
const fewest = 100

/** The recent changes to one resource, for those who come back. */
export class ChangeWindow {
  readonly #limits: WindowLimits
  #changes = new RingBuffer<Change>(128)
  #bytes = 0
  /** Changes up to and including this revision are no longer in the window. */
  #forgotten = 0

  constructor(limits: WindowLimits) {
    this.#limits = limits
  }

  /** Nothing up to this revision can be had any more. */
  startAfter(revision: number): void {
    this.#forgotten = revision
    this.#changes = new RingBuffer(128)
    this.#bytes = 0
  }

  push(change: Change): void {
    const { windowMs, maxChanges, maxBytes } = this.#limits
    const changes = this.#changes
    for (let oldest = changes.at(0); oldest !== undefined; oldest = changes.at(0)) {
      const isOld = change.atMs - oldest.atMs >= windowMs
      if ((!isOld && this.#bytes <= maxBytes) || changes.length < fewest) break
      this.#drop(changes.shift())
    }
    if (changes.length === changes.capacity && changes.capacity < maxChanges) changes.resize(Math.min(changes.capacity * 2, maxChanges))
    this.#bytes += change.object.value.byteLength
    this.#drop(changes.push(change))
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
    this.#bytes -= change.object.value.byteLength
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
