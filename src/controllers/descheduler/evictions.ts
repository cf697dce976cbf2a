import { Pod } from '#api/core/v1/kinds.gen.ts'
import type { V1Pod } from '#api/core/v1/types.gen.ts'
import { isReason } from '#api/meta/server-response.ts'
import { defined } from '#base/defined.ts'
import { errorMessage } from '#base/error-message.ts'
import type { Logger } from '#base/log.ts'
import type { Counter } from '#base/metrics.ts'
import type { Client } from '#client/client.ts'
import type { EventRecorder } from '#client/events/event-recorder.ts'
import type { EvictionResult } from '#controllers/descheduler/plugin.ts'
import type { DeschedulerPolicy } from '#controllers/descheduler/policy.ts'

export type EvictionsOptions = {
  client: Client
  events: EventRecorder
  logger: Logger
  policy: DeschedulerPolicy
  isDryRun: boolean
  /** Upstream's two names for the same. */
  counters: readonly Counter[]
}

/** Evicts by the API, within disruption budgets and within the limits of the policy. Made anew for each round. */
export class Evictions {
  readonly #options: EvictionsOptions
  readonly #byNode = new Map<string, number>()
  readonly #byNamespace = new Map<string, number>()
  #total = 0

  constructor(options: EvictionsOptions) {
    this.#options = options
  }

  get total(): number {
    return this.#total
  }

  async evict(pod: V1Pod, profile: string, strategy: string): Promise<EvictionResult> {
    const { events, logger, isDryRun } = this.#options
    const { namespace = '', name = '' } = pod.metadata
    const node = pod.spec.nodeName ?? ''
    const exceeded = this.#exceeded(namespace, node)
    if (exceeded !== undefined) {
      this.#count(exceeded.error, pod, profile, strategy)
      this.#tellFailure(pod, exceeded.told)
      return exceeded.result
    }
    try {
      if (!isDryRun) await this.#send(pod, profile, strategy)
    } catch (error) {
      const message = isReason(error, 'TooManyRequests')
        ? `error when evicting pod (ignoring) "${name}": ${errorMessage(error)}`
        : errorMessage(error)
      logger.warn('failed to evict pod', { namespace, pod: name, strategy, error: message })
      this.#count('error', pod, profile, strategy)
      this.#tellFailure(pod, message)
      return 'failed'
    }
    this.#byNode.set(node, (this.#byNode.get(node) ?? 0) + 1)
    this.#byNamespace.set(namespace, (this.#byNamespace.get(namespace) ?? 0) + 1)
    this.#total++
    this.#count('success', pod, profile, strategy)
    logger.info(isDryRun ? 'evicted pod in dry run mode' : 'evicted pod', { namespace, pod: name, node, strategy, profile })
    if (!isDryRun) events.normal(Pod, pod, strategy, `pod eviction from ${node} node by sigs.k8s.io/descheduler`)
    return 'evicted'
  }

  #exceeded(namespace: string, node: string): { result: EvictionResult; error: string; told: string } | undefined {
    const {
      maxNoOfPodsToEvictTotal: total,
      maxNoOfPodsToEvictPerNode: perNode,
      maxNoOfPodsToEvictPerNamespace: perNamespace,
    } = this.#options.policy
    if (total !== undefined && this.#total >= total)
      return {
        result: 'total limit',
        error: 'maximum number of evicted pods per a descheduling cycle reached',
        told: `total eviction limit exceeded (${total})`,
      }
    if (perNode !== undefined && node !== '' && (this.#byNode.get(node) ?? 0) >= perNode)
      return {
        result: 'node limit',
        error: `maximum number of evicted pods per node reached`,
        told: `node eviction limit exceeded (${perNode})`,
      }
    if (perNamespace !== undefined && (this.#byNamespace.get(namespace) ?? 0) >= perNamespace)
      return {
        result: 'namespace limit',
        error: 'maximum number of evicted pods per namespace reached',
        told: `namespace eviction limit exceeded (${perNamespace})`,
      }
    return undefined
  }

  async #send({ metadata: { namespace = '', name = '', uid } }: V1Pod, profile: string, strategy: string): Promise<void> {
    const { client, policy } = this.#options
    const annotations = { reason: `triggered by ${profile}/${strategy}: `, 'requested-by': 'sigs.k8s.io/descheduler' }
    const deleteOptions = { ...defined({ gracePeriodSeconds: policy.gracePeriodSeconds }), preconditions: { uid } }
    const eviction = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { namespace, name, annotations }, deleteOptions }
    await client.subresource('POST', Pod, { namespace, name }, 'eviction', eviction)
  }

  #tellFailure(pod: V1Pod, message: string): void {
    const { events, policy } = this.#options
    if (!policy.evictionFailureEventNotification) return
    const what = `pod eviction from ${pod.spec.nodeName ?? ''} node by sigs.k8s.io/descheduler failed`
    events.warning(Pod, pod, 'EvictionFailed', `${what}: ${message}`)
  }

  #count(result: string, { metadata, spec }: V1Pod, profile: string, strategy: string): void {
    const labels = { result, strategy, profile, namespace: metadata.namespace ?? '', node: spec.nodeName ?? '' }
    for (const counter of this.#options.counters) counter.inc(labels)
  }
}
