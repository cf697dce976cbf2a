/** What is counted of flows and levels. */
import type { Metrics } from '#base/metrics.ts'
import type { FlowSchema } from './flow-schema.ts'
import type { PriorityLevel } from './priority-level.ts'

const secondsBuckets = [0, 0.005, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30]

type Measures = {
  readonly dispatched: { inc(): void }
  readonly executed: { observe(seconds: number): void }
  readonly seats: { observe(seats: number): void }
}

type Population = { schemas: readonly FlowSchema[]; levels: readonly PriorityLevel[] }

const labelsOf = ({ name, level }: FlowSchema) => ({ flow_schema: name, priority_level: level.name })

export class FlowMetrics {
  readonly #metrics: Metrics
  readonly #measures = new WeakMap<FlowSchema, Measures>()
  readonly #make: (schema: FlowSchema) => Measures
  readonly refused: (schema: FlowSchema, reason: string) => void
  readonly waited: (schema: FlowSchema, waitedMs: number, gotIn: boolean) => void
  readonly enqueued: (schema: FlowSchema, length: number) => void

  constructor(metrics: Metrics) {
    this.#metrics = metrics
    const dispatched = metrics.counter('apiserver_flowcontrol_dispatched_requests_total', 'Requests that got a seat.')
    const executed = metrics.histogram('apiserver_flowcontrol_request_execution_seconds', 'How long requests sat.', secondsBuckets)
    const widths = metrics.histogram(
      'apiserver_flowcontrol_work_estimated_seats',
      'Seats that requests take.',
      [1, 2, 4, 8, 16, 32, 64, 100],
    )
    this.#make = (schema) => ({
      dispatched: dispatched.with(labelsOf(schema)),
      executed: executed.with({ ...labelsOf(schema), type: 'regular' }),
      seats: widths.with(labelsOf(schema)),
    })
    const refused = metrics.counter('apiserver_flowcontrol_rejected_requests_total', 'Requests that were sent away.')
    this.refused = (schema, reason) => refused.inc({ ...labelsOf(schema), reason })
    const waited = metrics.histogram(
      'apiserver_flowcontrol_request_wait_duration_seconds',
      'How long requests waited for a seat.',
      secondsBuckets,
    )
    this.waited = (schema, waitedMs, gotIn) => waited.observe(waitedMs / 1000, { execute: String(gotIn), ...labelsOf(schema) })
    const lengths = metrics.histogram(
      'apiserver_flowcontrol_request_queue_length_after_enqueue',
      'How long the queue was when a request joined it, itself included.',
      [0, 10, 25, 50, 100, 250, 500, 1000],
    )
    this.enqueued = (schema, length) => lengths.observe(length, labelsOf(schema))
  }

  dispatched(schema: FlowSchema, seats: number): void {
    const measures = this.#of(schema)
    measures.dispatched.inc()
    measures.seats.observe(seats)
  }

  executed(schema: FlowSchema, tookMs: number): void {
    this.#of(schema).executed.observe(tookMs / 1000)
  }

  #of(schema: FlowSchema): Measures {
    let measures = this.#measures.get(schema)
    if (measures === undefined) {
      measures = this.#make(schema)
      this.#measures.set(schema, measures)
    }
    return measures
  }

  /** What is looked up only when somebody reads the metrics. */
  observe(population: () => Population): void {
    const bySchema = (name: string, help: string, read: (schema: FlowSchema) => number) =>
      this.#metrics.measured(`apiserver_flowcontrol_${name}`, help, () =>
        population().schemas.map((schema) => [labelsOf(schema), read(schema)]),
      )
    const byLevel = (name: string, help: string, read: (level: PriorityLevel) => number) =>
      this.#metrics.measured(`apiserver_flowcontrol_${name}`, help, () =>
        population().levels.map((level) => [{ priority_level: level.name }, read(level)]),
      )
    bySchema('current_executing_requests', 'Requests that sit.', ({ executing }) => executing.requests)
    bySchema('current_executing_seats', 'Seats that are taken.', ({ executing }) => executing.seats)
    bySchema('current_inqueue_requests', 'Requests that wait.', ({ waiting }) => waiting.requests)
    bySchema('current_inqueue_seats', 'Seats that are waited for.', ({ waiting }) => waiting.seats)
    byLevel('nominal_limit_seats', 'Seats of the level.', ({ share }) => share.nominal)
    byLevel('current_limit_seats', 'Seats of the level, with what it has borrowed.', ({ share, seatsInUse }) =>
      Math.max(share.nominal, seatsInUse),
    )
    byLevel('lower_limit_seats', 'Seats of the level that it does not lend.', ({ guaranteed }) => guaranteed)
    byLevel('upper_limit_seats', 'Seats of the level with all it may borrow.', ({ share }) => share.nominal + share.borrowable)
  }
}
