/**
 * Priority and fairness: which requests run now, which wait, and which are sent away, so that one noisy client
 * cannot starve the rest.
 *
 * FlowSchemas sort requests into priority levels and flows. A level has seats; while some are free a request just sits down.
 * When none is left requests wait in queues, from which flows are served in turn.
 */
import type { V1FlowSchema, V1PriorityLevelConfiguration } from '#api/flowcontrol/v1/types.gen.ts'
import { equalJson } from '#api/meta/patch/json-value.ts'
import type { UserInfo } from '#apiserver/authn/authenticator.ts'
import type { RequestInfo } from '#apiserver/http/request-info.ts'
import type { Clock } from '#base/clock.ts'
import { longestRemembered } from '#base/remembered.ts'
import type { FlowQueue, Waiter } from './fair-queues.ts'
import type { FlowMetrics } from './flow-metrics.ts'
import { byPrecedence, FlowSchema } from './flow-schema.ts'
import { PriorityLevel, type Refusal, shareOut } from './priority-level.ts'

export type FlowControlOptions = {
  clock: Clock
  metrics: FlowMetrics
  /** All seats together. */
  serverSeats: number
  /** How long a request may wait. */
  waitLimitMs: number
}

/** Who is asking, and how to learn that nobody is any more. */
export type Arrival = {
  readonly info: RequestInfo
  readonly user: UserInfo
  readonly seats: number
  readonly nowMs: number
  onLeave(callback: () => void): void
}

/** A place to work at, given up once. */
export class Seat {
  readonly schema: FlowSchema
  readonly seats: number
  readonly #sinceMs: number
  readonly #queue: FlowQueue | undefined
  readonly #release: (seat: Seat, queue: FlowQueue | undefined, tookMs: number) => void
  /** How long it was waited for. */
  readonly waitedMs: number
  #isTaken = true

  constructor(
    schema: FlowSchema,
    seats: number,
    sinceMs: number,
    waitedMs: number,
    queue: FlowQueue | undefined,
    release: (seat: Seat, queue: FlowQueue | undefined, tookMs: number) => void,
  ) {
    this.schema = schema
    this.seats = seats
    this.#sinceMs = sinceMs
    this.waitedMs = waitedMs
    this.#queue = queue
    this.#release = release
  }

  leave(nowMs: number): void {
    if (!this.#isTaken) return
    this.#isTaken = false
    this.#release(this, this.#queue, nowMs - this.#sinceMs)
  }
}

/** There is no seat and no place to wait. */
export class TooManyRequests extends Error {
  override name = 'TooManyRequests'
  readonly schema: FlowSchema
  readonly retryAfterSeconds: number

  constructor(schema: FlowSchema, retryAfterSeconds: number) {
    super('Too many requests, please try again later.')
    this.schema = schema
    this.retryAfterSeconds = retryAfterSeconds
  }
}

/** Choices remembered for one user, before they are forgotten all together. */
const choicesKept = 500

export class FlowControl {
  readonly #options: FlowControlOptions
  #schemas: readonly FlowSchema[] = []
  #levels: ReadonlyMap<string, PriorityLevel> = new Map()
  /** Authenticators give the same user object again and again. */
  #choices = new WeakMap<UserInfo, Map<string, FlowSchema>>()
  /** In all levels together. */
  #waiting = 0

  constructor(options: FlowControlOptions) {
    this.#options = options
    options.metrics.observe(() => ({ schemas: this.#schemas, levels: [...this.#levels.values()] }))
  }

  get schemas(): readonly FlowSchema[] {
    return this.#schemas
  }

  get levels(): ReadonlyMap<string, PriorityLevel> {
    return this.#levels
  }

  /** Takes the objects as they are now. Levels whose spec is the same keep who sits and waits there. */
  configure(schemas: readonly V1FlowSchema[], levels: readonly V1PriorityLevelConfiguration[]): void {
    const shares = shareOut(levels, this.#options.serverSeats)
    const before = this.#levels
    this.#levels = new Map(
      levels.map((configuration) => {
        const name = configuration.metadata?.name ?? ''
        const level = kept(before.get(name), configuration) ?? new PriorityLevel(configuration)
        specs.set(level, configuration.spec)
        level.share = shares.get(name) ?? level.share
        return [name, level]
      }),
    )
    const known = new Map(this.#schemas.map((schema) => [schema.uid, schema]))
    this.#schemas = schemas
      .flatMap((schema) => {
        const level = this.#levels.get(schema.spec?.priorityLevelConfiguration.name ?? '')
        if (level === undefined) return []
        const before = known.get(schema.metadata?.uid ?? '')
        const compiled = (before?.level === level && kept(before, schema)) || new FlowSchema(schema, level)
        specs.set(compiled, schema.spec)
        return [compiled]
      })
      .sort(byPrecedence)
    this.#choices = new WeakMap()
    for (const level of before.values()) if (this.#levels.get(level.name) !== level) level.share = unlimited
    // There may be more seats now; and whoever waits for a level that is gone has waited long enough.
    for (const level of [...before.values(), ...this.#levels.values()]) this.#dispatch(level)
  }

  /** The schema of a request; undefined before there is any. */
  schemaOf(info: RequestInfo, user: UserInfo): FlowSchema | undefined {
    let choices = this.#choices.get(user)
    if (choices === undefined) {
      choices = new Map()
      this.#choices.set(user, choices)
    }
    const key = info.isResourceRequest
      ? `${info.verb} ${info.resource}.${info.group}/${info.subresource} ${info.namespace}`
      : `${info.verb} ${info.path}`
    let schema = choices.get(key)
    if (schema === undefined) {
      schema = this.#schemas.find((each) => each.matches(info, user)) ?? this.#schemas.at(-1)
      if (schema === undefined) return undefined
      if (key.length <= longestRemembered) {
        if (choices.size >= choicesKept) choices.clear()
        choices.set(key, schema)
      }
    }
    return schema
  }

  /** A seat at once where one is free, else a promise of one; `TooManyRequests` where there is no hope. */
  admit(arrival: Arrival): Seat | Promise<Seat> | undefined {
    const schema = this.schemaOf(arrival.info, arrival.user)
    if (schema === undefined) return undefined
    const { level } = schema
    if (level.isExempt || (!level.isWaitedFor && this.#mayTake(level, arrival.seats))) {
      return this.#seat(schema, arrival.seats, arrival.nowMs, 0, undefined)
    }
    if (level.queues === undefined) throw this.#refuse(schema, 'concurrency-limit')
    return this.#wait(schema, arrival)
  }

  /** Its own seats, or what others can spare of theirs. */
  #mayTake(level: PriorityLevel, seats: number): boolean {
    if (level.fits(seats)) return true
    if (level.seatsInUse + seats > level.share.nominal + level.share.borrowable) return false
    let spare = this.#options.serverSeats
    for (const each of this.#levels.values()) spare -= each === level ? level.seatsInUse : Math.max(each.seatsInUse, each.guaranteed)
    return seats <= spare
  }

  #seat(schema: FlowSchema, seats: number, nowMs: number, waitedMs: number, queue: FlowQueue | undefined): Seat {
    schema.level.take(seats)
    schema.executing.requests++
    schema.executing.seats += seats
    this.#options.metrics.dispatched(schema, seats)
    return new Seat(schema, seats, nowMs, waitedMs, queue, this.#release)
  }

  #release = (seat: Seat, queue: FlowQueue | undefined, tookMs: number): void => {
    const { schema, seats } = seat
    schema.executing.requests--
    schema.executing.seats -= seats
    schema.level.leave(seats, queue, tookMs)
    this.#options.metrics.executed(schema, tookMs)
    if (this.#waiting === 0) return
    this.#dispatch(schema.level)
    for (const level of this.#levels.values()) if (level.isWaitedFor) this.#dispatch(level)
  }

  #wait(schema: FlowSchema, { info, user, seats, nowMs, onLeave }: Arrival): Promise<Seat> {
    const { clock, metrics, waitLimitMs } = this.#options
    const { queues } = schema.level
    const queue = queues?.queueFor(`${schema.name}\u0000${schema.flowOf(info, user)}`)
    if (queues === undefined || queue === undefined) throw this.#refuse(schema, 'queue-full')
    return new Promise((resolve, reject) => {
      const over = () => {
        timer.cancel()
        this.#waiting--
        schema.waiting.requests--
        schema.waiting.seats -= seats
        return clock.monotonic() - nowMs
      }
      let isWaiting = true
      const waiter: Waiter = {
        seats,
        start: (from) => {
          isWaiting = false
          const waitedMs = over()
          metrics.waited(schema, waitedMs, true)
          resolve(this.#seat(schema, seats, clock.monotonic(), waitedMs, from))
        },
      }
      const giveUp = (error: () => Error) => {
        if (!isWaiting) return
        isWaiting = false
        queues.remove(queue, waiter)
        metrics.waited(schema, over(), false)
        reject(error())
        // It may have been too wide for the seats that are free.
        this.#dispatch(schema.level)
      }
      this.#waiting++
      schema.waiting.requests++
      schema.waiting.seats += seats
      const timer = clock.after(waitLimitMs, () => giveUp(() => this.#refuse(schema, 'time-out')))
      queues.add(queue, waiter)
      metrics.enqueued(schema, queue.waiting.length)
      onLeave(() => giveUp(() => this.#refuse(schema, 'cancelled')))
      this.#dispatch(schema.level)
    })
  }

  #dispatch(level: PriorityLevel): void {
    const { queues } = level
    if (queues === undefined) return
    for (let next = queues.next(); next !== undefined; next = queues.next()) {
      if (!this.#mayTake(level, next.waiter.seats)) return
      queues.take(next.queue)
      next.waiter.start(next.queue)
    }
  }

  #refuse(schema: FlowSchema, reason: Refusal | 'cancelled'): TooManyRequests {
    const { clock, metrics } = this.#options
    metrics.refused(schema, reason)
    const { retryAfter } = schema.level
    retryAfter.note(clock.now())
    return new TooManyRequests(schema, retryAfter.seconds)
  }
}

const unlimited = { nominal: Number.POSITIVE_INFINITY, lendable: 0, borrowable: 0 }

/** What things were made from. */
const specs = new WeakMap<object, object | undefined>()

/** The thing as it is, if the object still says the same. */
function kept<T extends { uid: string }>(
  thing: T | undefined,
  { metadata, spec }: V1FlowSchema | V1PriorityLevelConfiguration,
): T | undefined {
  if (thing === undefined || thing.uid !== (metadata?.uid ?? '')) return undefined
  const before = specs.get(thing)
  return before === spec || equalJson(before, spec) ? thing : undefined
}
