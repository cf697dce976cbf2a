import { backoffMs } from '#base/backoff.ts'
import type { Clock, Timer } from '#base/clock.ts'
import { Heap } from '#base/heap.ts'
import type { PodInfo } from '#scheduler/cache/pod-info.ts'
import { anyEvent, type ClusterEvent, concerns, type RetryOn } from '#scheduler/framework/cluster-event.ts'
import type { Status } from '#scheduler/framework/status.ts'
import type { QueuedPod } from '#scheduler/queue/queued-pod.ts'

export type QueueOptions = {
  clock: Clock
  compare(one: QueuedPod, other: QueuedPod): number
  preEnqueue(pod: PodInfo): Status | undefined
  /** By plugin; one that is not listed is helped by everything. */
  retryOn: ReadonlyMap<string, readonly RetryOn[]>
  initialBackoffMs?: number
  maxBackoffMs?: number
  /** With nothing else to do, pods are tried before their time. */
  popsFromBackoff?: boolean
  /** After this long a pod is tried again, whatever happened or not. */
  maxUnschedulableMs?: number
  onQueued?(queue: 'active' | 'backoff' | 'unschedulable' | 'gated', event: string): void
  /** A plugin was asked whether an event helps. */
  onHint?(plugin: string, event: string, hint: 'Queue' | 'QueueSkip' | 'Error', seconds: number): void
}

/** Something that happened, and the parked pods that have not heard of it yet. */
type Move = { event: ClusterEvent; isCandidate(info: PodInfo): boolean; parked: Iterator<QueuedPod>; lastParked: number }

/** For how long pods are asked whether an event helps them, before others get their turn. */
const turnMs = 8
const podsBetweenLooks = 32

type Ticket = { readonly queued: QueuedPod; readonly order: number }

/**
 * Pods that wait for a node.
 *
 *     add ──▶ active ──pop──▶ in flight ──▶ bound
 *               ▲  ▲              │ no node fits
 *      time is up  └── event ──┐  ▼
 *            backoff ◀─event─ unschedulable
 *
 * A pod that no node fits sleeps until something happens that concerns a plugin that turned it down. What happens while it
 * is being tried is remembered, so that nothing falls between the two.
 */
export class SchedulingQueue {
  readonly #options: Required<Omit<QueueOptions, 'onQueued' | 'onHint'>> & Pick<QueueOptions, 'onQueued' | 'onHint'>
  readonly #pods = new Map<string, QueuedPod>()
  readonly #active: Heap<Ticket>
  readonly #backoff: Heap<Ticket>
  /** In the order in which they came, the oldest first. */
  readonly #unschedulable = new Map<string, QueuedPod>()
  readonly #inFlight = new Map<string, ClusterEvent[]>()
  readonly #moves: Move[] = []
  #lastParked = 0
  #concernedBy: { event: ClusterEvent; byPlugin: Map<string, { retryOn: readonly RetryOn[] | undefined }> } | undefined
  #order = 0
  #activeCount = 0
  #backoffCount = 0
  #backoffTimer: Timer | undefined
  #flushTimer: Timer | undefined
  #wake: (() => void) | undefined
  #isClosed = false

  constructor(options: QueueOptions) {
    this.#options = { initialBackoffMs: 1000, maxBackoffMs: 10_000, maxUnschedulableMs: 300_000, popsFromBackoff: true, ...options }
    this.#active = new Heap((one, other) => this.#options.compare(one.queued, other.queued) || one.order - other.order)
    this.#backoff = new Heap((one, other) => one.queued.backoffUntilMs - other.queued.backoffUntilMs || one.order - other.order)
  }

  get sizes(): { active: number; backoff: number; unschedulable: number; gated: number } {
    let gated = 0
    for (const { gatedBy } of this.#unschedulable.values()) if (gatedBy !== undefined) gated++
    return { active: this.#activeCount, backoff: this.#backoffCount, unschedulable: this.#unschedulable.size - gated, gated }
  }

  /** How many parked pods each plugin turned down, by their scheduler. */
  rejections(): (readonly [{ plugin: string; profile: string }, number])[] {
    const counts = new Map<string, readonly [{ plugin: string; profile: string }, number]>()
    for (const { info, rejectedBy } of this.#unschedulable.values()) {
      const profile = info.pod.spec.schedulerName ?? ''
      for (const plugin of rejectedBy) {
        const key = `${profile}/${plugin}`
        counts.set(key, [{ plugin, profile }, (counts.get(key)?.[1] ?? 0) + 1])
      }
    }
    return [...counts.values()]
  }

  /** What happened while pods are being tried, once for all of them; the pods themselves are `PodPopped`. */
  eventsInFlight(): (readonly [{ event: string }, number])[] {
    const counts = new Map<string, number>([['PodPopped', this.#inFlight.size]])
    for (const { label } of new Set([...this.#inFlight.values()].flat())) counts.set(label, (counts.get(label) ?? 0) + 1)
    return [...counts].map(([event, count]) => [{ event }, count] as const)
  }

  has(uid: string): boolean {
    return this.#pods.has(uid)
  }

  get(uid: string): QueuedPod | undefined {
    return this.#pods.get(uid)
  }

  add(info: PodInfo): void {
    if (this.#pods.has(info.uid)) return
    const queued: QueuedPod = {
      info,
      queuedAtMs: this.#options.clock.now(),
      order: 0,
      attempts: 0,
      firstAttemptAtMs: undefined,
      unschedulableCount: 0,
      errorCount: 0,
      rejectedBy: new Set(),
      pendingFor: new Set(),
      gatedBy: undefined,
      movesOnceUngated: false,
      wasFlushed: false,
      place: 'gone',
      parkedOrder: 0,
      backoffUntilMs: 0,
    }
    this.#pods.set(info.uid, queued)
    this.#activate(queued, 'PodAdd')
  }

  /** The pod itself was changed; `events` tell how. */
  update(info: PodInfo, events: readonly ClusterEvent[]): void {
    const queued = this.#pods.get(info.uid)
    if (queued === undefined) {
      this.add(info)
      return
    }
    queued.info = info
    if (queued.place === 'in-flight') {
      this.#inFlight.get(info.uid)?.push(...events)
      return
    }
    if (queued.place !== 'unschedulable') return
    if (queued.gatedBy !== undefined && this.#options.preEnqueue(info) === undefined) {
      this.#activate(queued, 'PodUpdate')
      return
    }
    for (const event of events) if (this.#moveIfWorth(queued, event)) return
  }

  delete(uid: string): void {
    const queued = this.#pods.get(uid)
    if (queued === undefined) return
    this.#leave(queued)
    queued.place = 'gone'
    this.#pods.delete(uid)
    this.#inFlight.delete(uid)
  }

  /** The next pod to try, in flight from now on until `requeue` or `done`. */
  pop(): QueuedPod | undefined {
    // Waiting out a backoff while nobody else wants the scheduler helps nobody; after errors it does.
    const isEager = ({ errorCount }: QueuedPod) => this.#options.popsFromBackoff && errorCount === 0
    const queued = this.#take(this.#active, 'active') ?? this.#take(this.#backoff, 'backoff', isEager)
    if (queued === undefined) return undefined
    this.#leave(queued)
    queued.place = 'in-flight'
    queued.attempts++
    queued.firstAttemptAtMs ??= this.#options.clock.now()
    this.#inFlight.set(queued.info.uid, [])
    return queued
  }

  /** Resolves when there may be something to pop, or the queue is closed. */
  wait(): Promise<void> {
    if (this.#isClosed || this.#activeCount > 0 || this.#hasEagerBackoff()) return Promise.resolve()
    return new Promise((resolve) => {
      this.#wake = resolve
    })
  }

  close(): void {
    this.#isClosed = true
    this.#backoffTimer?.cancel()
    this.#flushTimer?.cancel()
    this.#wake?.()
  }

  get isClosed(): boolean {
    return this.#isClosed
  }

  /** No node fitted, or something failed: `rejectedBy` is empty in the latter case. */
  requeue(queued: QueuedPod): void {
    const { uid } = queued.info
    const events = this.#inFlight.get(uid) ?? []
    this.#inFlight.delete(uid)
    if (queued.place !== 'in-flight') return
    const isError = queued.rejectedBy.size === 0 && queued.pendingFor.size === 0
    if (isError) queued.errorCount++
    else {
      queued.errorCount = 0
      queued.unschedulableCount++
    }
    queued.queuedAtMs = this.#options.clock.now()
    if (isError || events.some((event) => this.#isWorth(queued, event))) this.#moveOn(queued, 'ScheduleAttemptFailure')
    else this.#park(queued, 'ScheduleAttemptFailure')
  }

  /** The pod has left the scheduling cycle and will not come back through `requeue`. */
  done(uid: string): void {
    this.#inFlight.delete(uid)
    const queued = this.#pods.get(uid)
    if (queued?.place !== 'in-flight') return
    queued.place = 'gone'
    this.#pods.delete(uid)
  }

  /** Puts a pod that was thought to be done back, as it was when it was popped. */
  restore(queued: QueuedPod): void {
    if (this.#pods.has(queued.info.uid)) return
    queued.place = 'in-flight'
    this.#pods.set(queued.info.uid, queued)
  }

  /** Something happened: whoever it may help is tried again. */
  move(event: ClusterEvent, isCandidate: (info: PodInfo) => boolean = () => true): void {
    for (const events of this.#inFlight.values()) events.push(event)
    if (this.#unschedulable.size === 0) return
    this.#moves.push({ event, isCandidate, parked: this.#unschedulable.values(), lastParked: this.#lastParked })
    if (this.#moves.length === 1) this.#goOnMoving()
  }

  /**
   * Tens of thousands of pods may be parked: asking all of them takes several turns. Who is tried meanwhile sees what has happened, and
   * who is parked again meanwhile comes after the last one that has to be asked.
   */
  #goOnMoving(): void {
    const { clock } = this.#options
    let asked = 0
    for (let move = this.#moves[0]; move !== undefined && !this.#isClosed; move = this.#moves[0]) {
      for (let next = move.parked.next(); !next.done && next.value.parkedOrder <= move.lastParked; next = move.parked.next()) {
        if (move.isCandidate(next.value.info)) this.#moveIfWorth(next.value, move.event)
        if (++asked % podsBetweenLooks === 0 && clock.heldMs() > turnMs) {
          clock.soon(() => this.#goOnMoving())
          return
        }
      }
      this.#moves.shift()
    }
  }

  /** Tries the pods now, however long they were to wait. */
  activate(uids: Iterable<string>): void {
    for (const uid of uids) {
      const queued = this.#pods.get(uid)
      if (queued?.place === 'unschedulable' || queued?.place === 'backoff') this.#activate(queued, 'ForceActivate')
    }
  }

  /** What a plugin held the pod back for may be over. */
  reconsider(uid: string): void {
    const queued = this.#pods.get(uid)
    if (queued?.place === 'unschedulable' && queued.gatedBy !== undefined && queued.movesOnceUngated) this.#moveOn(queued, 'PodUpdate')
  }

  backoffMs({ errorCount, unschedulableCount }: Pick<QueuedPod, 'errorCount' | 'unschedulableCount'>): number {
    const { initialBackoffMs, maxBackoffMs } = this.#options
    const count = errorCount > 0 ? errorCount : unschedulableCount
    return count === 0 ? 0 : backoffMs(count - 1, { firstMs: initialBackoffMs, longestMs: maxBackoffMs })
  }

  #moveIfWorth(queued: QueuedPod, event: ClusterEvent): boolean {
    const hint = this.#hint(queued, event)
    if (hint === 'skip') return false
    if (hint === 'now') queued.unschedulableCount = 0
    this.#moveOn(queued, event.label)
    return true
  }

  #isWorth(queued: QueuedPod, event: ClusterEvent): boolean {
    return this.#hint(queued, event) !== 'skip'
  }

  /** `now` for pods that wait for just this: they have not failed, so they need not back off. */
  #hint({ rejectedBy, pendingFor, info }: QueuedPod, event: ClusterEvent): 'skip' | 'retry' | 'now' {
    if (event.resource === '*') return 'retry'
    const helps = (plugin: string): boolean => {
      const retryOn = this.#concerned(plugin, event)
      return retryOn === undefined || retryOn.some((each) => this.#says(plugin, each, info, event))
    }
    for (const plugin of pendingFor) if (helps(plugin)) return 'now'
    for (const plugin of rejectedBy) if (helps(plugin)) return 'retry'
    return 'skip'
  }

  /** What may turn the plugin's no into a yes after such an event; undefined where everything may. Worked out once for all parked pods. */
  #concerned(plugin: string, event: ClusterEvent): readonly RetryOn[] | undefined {
    if (this.#concernedBy?.event !== event) this.#concernedBy = { event, byPlugin: new Map() }
    const { byPlugin } = this.#concernedBy
    let found = byPlugin.get(plugin)
    if (found === undefined) {
      found = { retryOn: this.#options.retryOn.get(plugin)?.filter((each) => concerns(each, event)) }
      byPlugin.set(plugin, found)
    }
    return found.retryOn
  }

  /** To backoff while it lasts, else to active. */
  #moveOn(queued: QueuedPod, event: string): void {
    const untilMs = queued.queuedAtMs + this.backoffMs(queued)
    if (untilMs <= this.#options.clock.now()) {
      this.#activate(queued, event)
      return
    }
    if (this.#isGated(queued, event)) return
    this.#leave(queued)
    queued.place = 'backoff'
    queued.backoffUntilMs = untilMs
    queued.order = this.#order++
    this.#backoff.push({ queued, order: queued.order })
    this.#backoffCount++
    this.#options.onQueued?.('backoff', event)
    this.#armBackoff()
    if (queued.errorCount === 0) this.#wakeUp()
  }

  #activate(queued: QueuedPod, event: string): void {
    if (this.#isGated(queued, event)) return
    this.#leave(queued)
    queued.place = 'active'
    queued.order = this.#order++
    this.#active.push({ queued, order: queued.order })
    this.#activeCount++
    this.#options.onQueued?.('active', event)
    this.#wakeUp()
  }

  #isGated(queued: QueuedPod, event: string): boolean {
    const status = this.#options.preEnqueue(queued.info)
    if (status === undefined) {
      queued.gatedBy = undefined
      queued.movesOnceUngated = false
      return false
    }
    queued.gatedBy = status.plugin
    queued.rejectedBy = new Set([...queued.rejectedBy, status.plugin])
    queued.movesOnceUngated = true
    this.#park(queued, event)
    return true
  }

  #park(queued: QueuedPod, event: string): void {
    if (queued.place !== 'unschedulable') {
      this.#leave(queued)
      queued.place = 'unschedulable'
      this.#unschedulable.set(queued.info.uid, queued)
      queued.parkedOrder = ++this.#lastParked
      this.#options.onQueued?.(queued.gatedBy === undefined ? 'unschedulable' : 'gated', event)
    }
    this.#armFlush()
  }

  #leave(queued: QueuedPod): void {
    if (queued.place === 'active') this.#activeCount--
    else if (queued.place === 'backoff') this.#backoffCount--
    else if (queued.place === 'unschedulable') this.#unschedulable.delete(queued.info.uid)
    queued.place = 'gone'
  }

  /** Those that left a heap by another door are still in it, and are thrown out here. */
  #take(heap: Heap<Ticket>, place: QueuedPod['place'], isWanted: (queued: QueuedPod) => boolean = () => true): QueuedPod | undefined {
    for (;;) {
      const ticket = heap.peek()
      if (ticket === undefined) return undefined
      const isStale = ticket.queued.place !== place || ticket.queued.order !== ticket.order
      if (!isStale && !isWanted(ticket.queued)) return undefined
      heap.pop()
      if (!isStale) return ticket.queued
    }
  }

  #hasEagerBackoff(): boolean {
    const next = this.#backoff.peek()
    return this.#options.popsFromBackoff && this.#backoffCount > 0 && next !== undefined && next.queued.errorCount === 0
  }

  #armBackoff(): void {
    this.#backoffTimer?.cancel()
    this.#backoffTimer = undefined
    const next = this.#backoff.peek()
    if (next === undefined || this.#isClosed) return
    const { clock } = this.#options
    this.#backoffTimer = clock.after(Math.max(0, next.queued.backoffUntilMs - clock.now()), () => {
      const isOver = (queued: QueuedPod) => queued.backoffUntilMs <= clock.now()
      for (let queued = this.#take(this.#backoff, 'backoff', isOver); queued !== undefined; ) {
        this.#activate(queued, 'BackoffComplete')
        queued = this.#take(this.#backoff, 'backoff', isOver)
      }
      this.#armBackoff()
    })
  }

  #armFlush(): void {
    if (this.#flushTimer !== undefined || this.#isClosed) return
    const [oldest] = this.#unschedulable.values()
    if (oldest === undefined) return
    const { clock, maxUnschedulableMs } = this.#options
    this.#flushTimer = clock.after(Math.max(1, oldest.queuedAtMs + maxUnschedulableMs - clock.now()), () => {
      this.#flushTimer = undefined
      for (const queued of [...this.#unschedulable.values()]) {
        if (queued.queuedAtMs + maxUnschedulableMs > clock.now()) break
        queued.wasFlushed = true
        queued.queuedAtMs = clock.now()
        this.#unschedulable.delete(queued.info.uid)
        this.#unschedulable.set(queued.info.uid, queued)
        queued.parkedOrder = ++this.#lastParked
        this.#moveIfWorth(queued, anyEvent('UnschedulableTimeout'))
      }
      this.#armFlush()
    })
  }

  #wakeUp(): void {
    const wake = this.#wake
    this.#wake = undefined
    wake?.()
  }

  /** A hint that fails has no opinion, and then the pod is tried. */
  #says(plugin: string, { hint }: RetryOn, { pod }: PodInfo, { before, after, label }: ClusterEvent): boolean {
    if (hint === undefined) return true
    const { clock, onHint } = this.#options
    const startMs = clock.monotonic()
    let answer: 'Queue' | 'QueueSkip' | 'Error' = 'Error'
    try {
      answer = hint(pod, before, after) ? 'Queue' : 'QueueSkip'
    } catch {
      // It counts as an error, below.
    }
    onHint?.(plugin, label, answer, (clock.monotonic() - startMs) / 1000)
    return answer !== 'QueueSkip'
  }
}
