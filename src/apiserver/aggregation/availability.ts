/** Tells whether the servers behind APIServices can be used, in the condition Available: told of changes, and looked at now and then. */

import { APIService } from '#api/apiregistration/v1/kinds.gen.ts'
import type { V1APIService, V1APIServiceCondition } from '#api/apiregistration/v1/types.gen.ts'
import { Service } from '#api/core/v1/kinds.gen.ts'
import { EndpointSlice } from '#api/discovery/v1/kinds.gen.ts'
import { serviceNameOf } from '#api/discovery/v1/service-name.ts'
import { deepCopy } from '#api/meta/deep-copy.ts'
import { findCondition, isSameCondition, transitionTime, withCondition } from '#api/meta/find-condition.ts'
import { formatTime } from '#api/meta/time.ts'
import type { AvailabilityMetrics } from '#apiserver/aggregation/availability-metrics.ts'
import { type RemoteApi, serviceOf } from '#apiserver/aggregation/remote-api.ts'
import type { RemoteApis } from '#apiserver/aggregation/remote-apis.ts'
import type { ClusterView } from '#apiserver/cluster-view/cluster-view.ts'
import { backoffMs } from '#base/backoff.ts'
import type { Clock, Timer } from '#base/clock.ts'
import { defined } from '#base/defined.ts'
import type { Logger } from '#base/log.ts'

export type Evaluation = Pick<V1APIServiceCondition, 'status' | 'reason' | 'message'> & {
  /** It may answer the next time: it is tried again soon. */
  readonly isPassing?: boolean
}

export type AvailabilityOptions = {
  cluster: ClusterView
  apis: RemoteApis
  clock: Clock
  logger: Logger
  metrics: AvailabilityMetrics
  validate(api: RemoteApi): Promise<Evaluation>
  /** Called after each look at one. */
  onValidated(api: RemoteApi, isAvailable: boolean): void
}

const recheckMs = 30_000
const firstRetryMs = 5

type Entry = { what: string; timer: Timer | undefined; failures: number; isRunning: boolean; isDirty: boolean }

export class Availability implements Disposable {
  readonly #options: AvailabilityOptions
  readonly #entries = new Map<string, Entry>()
  #following: DisposableStack | undefined
  #isStopped = false

  constructor(options: AvailabilityOptions) {
    this.#options = options
    options.apis.onChange((name, api) => this.#changed(name, api))
  }

  [Symbol.dispose](): void {
    this.#isStopped = true
    this.#following?.dispose()
    for (const { timer } of this.#entries.values()) timer?.cancel()
    this.#entries.clear()
  }

  #changed(name: string, api: RemoteApi | undefined): void {
    if (this.#isStopped) return
    if (api === undefined) {
      this.#entries.get(name)?.timer?.cancel()
      this.#entries.delete(name)
      this.#options.metrics.forget(name)
      return
    }
    this.#follow()
    // What another API server says of it is no reason to look: where the two disagree they would never stop.
    const { isAvailable: _, ...rest } = api
    const what = JSON.stringify(rest)
    const entry = this.#entries.get(name)
    if (entry?.what === what) return
    this.#look(name)
    const begun = this.#entries.get(name)
    if (begun !== undefined) begun.what = what
  }

  /** Services matter once somebody stands behind one. */
  #follow(): void {
    if (this.#following !== undefined) return
    const { cluster, apis } = this.#options
    const lookBehind = (namespace: string, service: string) => {
      for (const api of apis.all()) if (api.service.namespace === namespace && api.service.name === service) this.#look(api.name)
    }
    this.#following = new DisposableStack()
    const touched = ({ metadata }: { metadata: { namespace?: string; name?: string } }) =>
      lookBehind(metadata.namespace ?? '', metadata.name ?? '')
    this.#following.use(cluster.onChange(Service, touched, true))
    this.#following.use(cluster.onChange(EndpointSlice, (slice) => lookBehind(slice.metadata.namespace ?? '', serviceNameOf(slice)), true))
  }

  /** One look at a time for each; what changes meanwhile is looked at afterwards. */
  #look(name: string): void {
    const entry = this.#entries.getOrInsertComputed(name, () => ({
      what: '',
      timer: undefined,
      failures: 0,
      isRunning: false,
      isDirty: false,
    }))
    entry.timer?.cancel()
    if (entry.isRunning) {
      entry.isDirty = true
      return
    }
    entry.isRunning = true
    void this.#validated(name, entry).then((delayMs) => {
      entry.isRunning = false
      if (this.#isStopped || this.#entries.get(name) !== entry) return
      if (entry.isDirty) {
        entry.isDirty = false
        this.#look(name)
      } else entry.timer = this.#options.clock.after(delayMs, () => this.#look(name))
    })
  }

  /** Resolves with how long to wait for the next look. */
  async #validated(name: string, entry: Entry): Promise<number> {
    const { apis, validate, onValidated, logger } = this.#options
    const api = apis.named(name)
    if (api === undefined) return recheckMs
    try {
      const { isPassing = false, ...condition } = await validate(api)
      if (this.#isStopped || !isSameService(apis.named(name), api)) return firstRetryMs
      await this.#record(name, condition)
      onValidated(api, condition.status === 'True')
      if (isPassing) return backoffMs(entry.failures++, { firstMs: firstRetryMs, longestMs: recheckMs })
      entry.failures = 0
      return recheckMs
    } catch (error) {
      // Another API server may have written first: the next look settles it.
      logger.debug('failed to update Available condition of APIService', { apiService: name, error: String(error) })
      return backoffMs(entry.failures++, { firstMs: firstRetryMs, longestMs: recheckMs })
    }
  }

  async #record(name: string, evaluation: Evaluation): Promise<void> {
    const { cluster, clock, logger, metrics } = this.#options
    const object = await cluster.getFresh(APIService, name)
    if (object === undefined) return
    const known = findCondition(object.status?.conditions, 'Available')
    metrics.set(name, evaluation.status === 'True')
    const { status, reason, message } = evaluation
    if (isSameCondition(known, evaluation)) return
    const lastTransitionTime = transitionTime(known, status, formatTime(clock.now()))
    const condition: V1APIServiceCondition = { type: 'Available', lastTransitionTime, ...defined({ message, reason }), status }
    const next: V1APIService = deepCopy(object)
    next.status = { ...next.status, conditions: withCondition(next.status?.conditions, condition) }
    logger.info('changed Available condition of APIService', { apiService: name, status, reason: reason ?? '', message: message ?? '' })
    await cluster.replaceStatus(APIService, next)
    if (known?.status !== 'False' && status !== 'True') metrics.becameUnavailable(name, reason ?? '')
  }
}

const isSameService = (one: RemoteApi | undefined, other: RemoteApi): boolean => one !== undefined && serviceOf(one) === serviceOf(other)
