/** Puts requests on record, as the policy says, and hands the events to those who keep them. */
import type { V1Event } from '#api/audit/v1/types.gen.ts'
import type { RequestContext } from '#apiserver/http/context.ts'
import type { Clock } from '#base/clock.ts'
import type { Metrics } from '#base/metrics.ts'
import type { AuditPolicy } from './audit-policy.ts'
import { AuditedRequest } from './audited-request.ts'

/** Keeps events. Takes them at once and never waits: what cannot be kept is counted and dropped. */
export type AuditBackend = {
  readonly name: string
  process(event: V1Event): void
  /** Everything taken so far is safe, or lost for good. */
  close(): Promise<void>
}

export type AuditorOptions = { policy: AuditPolicy; backends: readonly AuditBackend[]; clock: Clock; metrics: Metrics }

export class Auditor {
  readonly #options: AuditorOptions
  readonly #countEvent: () => void
  readonly #countLevel: (level: string) => void

  constructor(options: AuditorOptions) {
    this.#options = options
    const events = options.metrics.counter('apiserver_audit_event_total', 'Audit events that were made.').with({})
    const levels = options.metrics.counter('apiserver_audit_level_total', 'Requests by the level they were put on record at.')
    this.#countEvent = () => events.inc()
    this.#countLevel = (level) => levels.inc({ level })
  }

  /** Undefined where the policy does not care for the request. */
  begin(context: RequestContext, auditId: string, receivedMicros: number): AuditedRequest | undefined {
    const { policy, clock } = this.#options
    const decision = policy.decide(context.info, context.user)
    this.#countLevel(decision.level)
    if (decision.level === 'None') return undefined
    const emit = (event: V1Event) => {
      this.#countEvent()
      this.keep(event)
    }
    return new AuditedRequest({ context, decision, auditId, clock, receivedMicros, emit })
  }

  /** For events that were made by another server of this process, too. */
  keep(event: V1Event): void {
    for (const backend of this.#options.backends) backend.process(event)
  }

  async close(): Promise<void> {
    await Promise.all(this.#options.backends.map((backend) => backend.close()))
  }
}
