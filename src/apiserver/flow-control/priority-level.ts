/** A priority level: its seats, who sits on them, and who waits. */
import type { V1PriorityLevelConfiguration } from '#api/flowcontrol/v1/types.gen.ts'
import { FairQueues, type FlowQueue } from './fair-queues.ts'

export type Refusal = 'queue-full' | 'concurrency-limit' | 'time-out'

/** How many seats there are for the level, and how many it may lend and borrow. */
export type Share = { readonly nominal: number; readonly lendable: number; readonly borrowable: number }

export class PriorityLevel {
  readonly name: string
  readonly uid: string
  readonly isExempt: boolean
  readonly queues: FairQueues | undefined
  share: Share = { nominal: 0, lendable: 0, borrowable: 0 }
  seatsInUse = 0
  requests = 0
  readonly retryAfter = new RetryAfter()

  constructor({ metadata, spec }: V1PriorityLevelConfiguration) {
    this.name = metadata?.name ?? ''
    this.uid = metadata?.uid ?? ''
    this.isExempt = spec?.type === 'Exempt'
    const { type, queuing } = spec?.limited?.limitResponse ?? {}
    this.queues =
      type === 'Queue'
        ? new FairQueues({
            queues: queuing?.queues ?? 64,
            handSize: queuing?.handSize ?? 8,
            queueLengthLimit: queuing?.queueLengthLimit ?? 50,
          })
        : undefined
  }

  /** Seats that stay its own whatever others borrow. */
  get guaranteed(): number {
    return this.share.nominal - this.share.lendable
  }

  get isWaitedFor(): boolean {
    return this.queues !== undefined && this.queues.length > 0
  }

  /** Whether so many more fit. Whoever wants more than there are gets in when nobody else is. */
  fits(seats: number): boolean {
    return this.isExempt || this.seatsInUse + seats <= this.share.nominal || (this.seatsInUse === 0 && this.share.nominal > 0)
  }

  take(seats: number): void {
    this.seatsInUse += seats
    this.requests++
  }

  leave(seats: number, queue: FlowQueue | undefined, tookMs: number): void {
    this.seatsInUse -= seats
    this.requests--
    if (queue !== undefined) this.queues?.done(queue, seats, tookMs)
  }
}

/** The seats of the server dealt out in proportion to the levels' shares; a level never gets less than one where it has a share. */
export function shareOut(configurations: readonly V1PriorityLevelConfiguration[], serverSeats: number): Map<string, Share> {
  const sharesOf = ({ spec }: V1PriorityLevelConfiguration) =>
    spec?.type === 'Exempt' ? (spec.exempt?.nominalConcurrencyShares ?? 0) : (spec?.limited?.nominalConcurrencyShares ?? 30)
  const sum = configurations.reduce((total, each) => total + sharesOf(each), 0)
  return new Map(
    configurations.map((each) => {
      const nominal = sum === 0 ? 0 : Math.ceil((serverSeats * sharesOf(each)) / sum)
      const { lendablePercent = 0, borrowingLimitPercent } = each.spec?.limited ?? {
        lendablePercent: each.spec?.exempt?.lendablePercent ?? 0,
      }
      const lendable = Math.round((nominal * lendablePercent) / 100)
      const borrowable = borrowingLimitPercent === undefined ? serverSeats : Math.round((nominal * borrowingLimitPercent) / 100)
      return [each.metadata?.name ?? '', { nominal, lendable, borrowable }]
    }),
  )
}

/** How many seconds those who are refused are asked to stay away: more and more while there are many of them, then less again. */
class RetryAfter {
  seconds = 1
  #changedAt = 0
  #second = 0
  #refused = 0

  note(nowMs: number): void {
    const second = Math.floor(nowMs / 1000)
    if (second === this.#second) {
      this.#refused++
      return
    }
    const perWindow = this.#refused * (second - this.#second <= this.seconds ? 1 : 0)
    if (perWindow >= 3 * this.seconds && second - this.#changedAt >= this.seconds) {
      this.seconds = Math.min(this.seconds * 2, longestRetryAfter)
      this.#changedAt = second
    } else if (perWindow < this.seconds && this.seconds > 1) this.seconds--
    this.#second = second
    this.#refused = 1
  }
}

const longestRetryAfter = 32
