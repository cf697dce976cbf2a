import type { Clock } from '#base/clock.ts'
import type { Change } from '#store/mvcc/history.ts'
import { CompactedError, type Watch, type WatchRequest } from '#store/store.ts'
import { RecentChanges } from '#store/watch/recent-changes.ts'
import { WatchHub } from '#store/watch/watch-hub.ts'

/** Where the changes come from: another process or another thread, which is always a little ahead. */
export type ChangeSource = {
  /** Every change up to this revision was given to `deliver`. */
  readonly position: number
  /** The newest revision that is known here; its changes may still be on their way. */
  readonly newest: number
  readonly compacted: number
  /** Resolves once everything that was acknowledged anywhere before the call was given to `deliver`; with the revision of that. */
  catchUp(): Promise<number>
  /** Asks how far others have come, without waiting for their changes. */
  askNewest(): Promise<number>
  /** Up to `limit` changes from `revision` on, oldest first, none above `position`. */
  readPast(revision: number, limit: number): Promise<Change[]>
}

/** Watches of a store that is elsewhere, served from one watch of everything in it. */
export class FollowedWatches {
  readonly #source: ChangeSource
  readonly #hub: WatchHub
  #recent: RecentChanges

  constructor(clock: Clock, source: ChangeSource, revision: number) {
    this.#source = source
    this.#recent = new RecentChanges(revision)
    this.#hub = new WatchHub(clock, this.#past())
  }

  deliver(change: Change): void {
    this.#recent.push(change)
    this.#hub.deliver(change)
  }

  watch(request: WatchRequest): Watch {
    // Somebody else may have told the caller of a revision that has not been heard of here yet.
    if ((request.fromRevision ?? 0) > this.#source.newest + 1) return this.#watchFromAhead(request)
    const watch = this.#hub.watch(request)
    const { cancel } = watch
    // Nobody here can tell what others have written without asking.
    return { cancel, [Symbol.dispose]: cancel, progress: () => this.#source.catchUp().then(() => watch.progress()) }
  }

  /** There is a gap: watches end, and new ones begin after `revision`. */
  startAnew(revision: number, compacted: number): void {
    this.#hub.close(new CompactedError(this.#source.position + 1, compacted))
    this.#recent = new RecentChanges(revision)
  }

  close(error: Error): void {
    this.#hub.close(error)
  }

  #watchFromAhead(request: WatchRequest): Watch {
    let isCancelled = false
    let watch: Watch | undefined
    const started = this.#source.askNewest().then(() => {
      if (!isCancelled) watch = this.#hub.watch(request)
    })
    started.catch((error: Error) => request.onEnd?.(error))
    const cancel = () => {
      isCancelled = true
      watch?.cancel()
    }
    const progress = async () => {
      await started
      const newest = await this.#source.catchUp()
      return watch?.progress() ?? newest
    }
    return { cancel, [Symbol.dispose]: cancel, progress }
  }

  #past() {
    const source = this.#source
    return {
      get revision() {
        return source.position
      },
      get newest() {
        return source.newest
      },
      get compacted() {
        return source.compacted
      },
      from: (revision: number, limit: number) =>
        revision >= this.#recent.first ? this.#recent.from(revision, limit) : source.readPast(revision, limit),
    }
  }
}
