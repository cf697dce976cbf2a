/** Sees to it that of several processes one does the work, by a Lease that the leader renews. */
import { Lease } from '#api/coordination/v1/kinds.gen.ts'
import type { V1Lease } from '#api/coordination/v1/types.gen.ts'
import type { V1ObjectReference } from '#api/core/v1/types.gen.ts'
import { ignoreNotFound } from '#api/meta/server-response.ts'
import { formatMicroTime } from '#api/meta/time.ts'
import type { Clock } from '#base/clock.ts'
import type { Logger } from '#base/log.ts'
import type { Random } from '#base/random.ts'
import type { Client } from '#client/client.ts'
import type { EventRecorder } from '#client/events/event-recorder.ts'

export type LeaderElectorOptions = {
  client: Client
  clock: Clock
  random: Random
  logger: Logger
  namespace: string
  name: string
  /** Unique among the candidates. */
  identity: string
  leaseDurationMs?: number
  renewDeadlineMs?: number
  retryPeriodMs?: number
  /** Gives the lease back when asked to stop, so that the next need not wait. */
  releasesOnStop?: boolean
  /** Called when this process leads; `signal` aborts the moment it may no longer. */
  lead(signal: AbortSignal): void
  onLeaderChange?(identity: string): void
  /** Tells who leads, by events of the lease. */
  events?: EventRecorder
}

/** How much longer than the lease a leader may be late before it is no longer called healthy. */
const overdueMs = 20_000

type Observed = { version: string; atMs: number; lease: V1Lease }

export class LeaderElector {
  readonly #options: Required<Omit<LeaderElectorOptions, 'onLeaderChange' | 'events'>> &
    Pick<LeaderElectorOptions, 'onLeaderChange' | 'events'>
  #observed: Observed | undefined
  #isLeading = false
  #renewedMs = 0
  #reported = ''

  constructor(options: LeaderElectorOptions) {
    this.#options = { leaseDurationMs: 15_000, renewDeadlineMs: 10_000, retryPeriodMs: 2000, releasesOnStop: true, ...options }
  }

  get isLeading(): boolean {
    return this.#isLeading
  }
  /** Leads, and has not renewed for far longer than it may: something holds this process up. */
  get isOverdue(): boolean {
    const { clock, leaseDurationMs } = this.#options
    return this.#isLeading && clock.monotonic() - this.#renewedMs > leaseDurationMs + overdueMs
  }
  get leader(): string {
    return this.#reported
  }

  /** Resolves when leadership was lost, or the signal aborted. */
  async run(signal: AbortSignal): Promise<void> {
    if (!(await this.#acquire(signal))) return
    const leading = new AbortController()
    this.#isLeading = true
    try {
      this.#options.events?.recordFor(this.#reference(), 'Normal', 'LeaderElection', `${this.#options.identity} became leader`)
      this.#options.lead(leading.signal)
      await this.#renew(signal)
    } finally {
      this.#isLeading = false
      leading.abort()
      this.#options.events?.recordFor(this.#reference(), 'Normal', 'LeaderElection', `${this.#options.identity} stopped leading`)
      if (signal.aborted && this.#options.releasesOnStop) await this.#release().catch(() => undefined)
      // Who has lost the lease must not wait for a server that may never answer.
      if (signal.aborted) await this.#options.events?.[Symbol.asyncDispose]()
    }
  }

  #reference(): V1ObjectReference {
    const { namespace, name } = this.#options
    return { kind: 'Lease', apiVersion: 'coordination.k8s.io/v1', namespace, name }
  }

  async #acquire(signal: AbortSignal): Promise<boolean> {
    const { clock, random, retryPeriodMs, renewDeadlineMs } = this.#options
    while (!signal.aborted) {
      const startedMs = clock.monotonic()
      if (await this.#tryToHold()) {
        this.#renewedMs = startedMs
        // An answer that took this long may be of a lease that somebody else has taken meanwhile.
        if (clock.monotonic() - startedMs < renewDeadlineMs) return true
      }
      // Candidates that lost at the same moment should not all come back at the same moment.
      await clock.sleep(retryPeriodMs * (1 + 1.2 * random.float()), signal).catch(() => undefined)
    }
    return false
  }

  /** Renews until it could not for the length of the deadline. A request that hangs counts as one that failed. */
  async #renew(signal: AbortSignal): Promise<void> {
    const { clock, retryPeriodMs, renewDeadlineMs, logger } = this.#options
    while (!signal.aborted) {
      await clock.sleep(retryPeriodMs, signal).catch(() => undefined)
      if (signal.aborted) return
      const startedMs = clock.monotonic()
      const leftMs = this.#renewedMs + renewDeadlineMs - startedMs
      const held = leftMs > 0 && (await this.#within(leftMs, this.#tryToHold()))
      if (held) this.#renewedMs = startedMs
      else if (clock.monotonic() - this.#renewedMs >= renewDeadlineMs || this.#isHeldByAnother()) {
        logger.error('lost leader election lease', { lease: this.#options.name })
        return
      }
    }
  }

  async #within(limitMs: number, trying: Promise<boolean>): Promise<boolean> {
    const timeUp = Promise.withResolvers<boolean>()
    using _timer = this.#options.clock.after(limitMs, () => timeUp.resolve(false))
    return await Promise.race([trying, timeUp.promise])
  }

  async #tryToHold(): Promise<boolean> {
    const { client, clock, namespace, name, identity, leaseDurationMs, logger } = this.#options
    try {
      const now = formatMicroTime(clock.nowMicros())
      const current = await client.get(Lease, namespace, name).catch(ignoreNotFound)
      if (current === undefined) {
        const spec = { holderIdentity: identity, leaseDurationSeconds: leaseDurationMs / 1000, acquireTime: now, renewTime: now }
        this.#observe(await client.create(Lease, { metadata: { namespace, name }, spec: { ...spec, leaseTransitions: 0 } }))
        return true
      }
      this.#observe(current)
      const holder = current.spec?.holderIdentity ?? ''
      if (holder !== identity && holder !== '' && !this.#hasExpired()) return false
      const isMine = holder === identity
      const spec = {
        ...current.spec,
        holderIdentity: identity,
        leaseDurationSeconds: leaseDurationMs / 1000,
        renewTime: now,
        ...(isMine ? {} : { acquireTime: now, leaseTransitions: (current.spec?.leaseTransitions ?? 0) + 1 }),
      }
      this.#observe(await client.update(Lease, { ...current, spec }))
      return true
    } catch (error) {
      logger.debug('failed to acquire or renew leader election lease', { lease: name, error: String(error) })
      return false
    }
  }

  /** Leases are validated by this process' clock alone: from when a state was first seen here. */
  #observe(lease: V1Lease): void {
    const version = lease.metadata.resourceVersion ?? ''
    if (this.#observed?.version !== version) this.#observed = { version, atMs: this.#options.clock.monotonic(), lease }
    const holder = lease.spec?.holderIdentity ?? ''
    if (holder === this.#reported) return
    this.#reported = holder
    this.#options.onLeaderChange?.(holder)
  }

  #hasExpired(): boolean {
    if (this.#observed === undefined) return true
    const durationMs = (this.#observed.lease.spec?.leaseDurationSeconds ?? this.#options.leaseDurationMs / 1000) * 1000
    return this.#options.clock.monotonic() > this.#observed.atMs + durationMs
  }

  #isHeldByAnother(): boolean {
    const holder = this.#observed?.lease.spec?.holderIdentity ?? ''
    return holder !== '' && holder !== this.#options.identity
  }

  async #release(): Promise<void> {
    const { client, clock, namespace, name, identity } = this.#options
    const lease = await client.get(Lease, namespace, name)
    if (lease.spec?.holderIdentity !== identity) return
    const now = formatMicroTime(clock.nowMicros())
    const spec = { ...lease.spec, holderIdentity: '', leaseDurationSeconds: 1, renewTime: now, acquireTime: now }
    await client.update(Lease, { ...lease, spec })
  }
}
