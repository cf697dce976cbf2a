import type {
  V2HorizontalPodAutoscaler,
  V2MetricIdentifier,
  V2MetricSpec,
  V2MetricStatus,
  V2MetricTarget,
} from '#api/autoscaling/v2/types.gen.ts'
import type { V1Pod } from '#api/core/v1/types.gen.ts'
import { milliQuantityOf, milliValueOf, parseQuantity } from '#api/meta/quantity.ts'
import { type LabelSelector, labelSelectorFrom } from '#api/meta/selector.ts'
import { errorMessage } from '#base/error-message.ts'
import type { DiscoveredResource } from '#client/discovery.ts'
import type { MetricsSource } from '#controllers/horizontal-pod-autoscaler/metrics-source.ts'
import { podRequests } from '#controllers/horizontal-pod-autoscaler/pod-requests.ts'
import {
  type Readiness,
  replicasForAverage,
  replicasForShare,
  replicasForTotal,
  replicasForUtilization,
  type Tolerances,
} from '#controllers/horizontal-pod-autoscaler/replica-calculator.ts'

/** What one metric asks for, what is shown of it, and its name in reasons. */
export type Proposal = { replicas: number; status: V2MetricStatus; name: string }

export type ProposalContext = {
  autoscaler: V2HorizontalPodAutoscaler
  source: MetricsSource
  resources: readonly DiscoveredResource[]
  specReplicas: number
  statusReplicas: number
  selector: LabelSelector
  pods: readonly V1Pod[]
  tolerances: Tolerances
  readiness: Readiness
}

/** A metric that could not be had, and the reason that the condition and the event give for it. */
export class MetricError extends Error {
  override name = 'MetricError'
  readonly reason: string
  /** What the condition says: the error without what it was needed for. */
  readonly detail: string

  constructor(reason: string, detail: string, message: string) {
    super(message)
    this.reason = reason
    this.detail = detail
  }
}

export async function metricProposal(metric: V2MetricSpec, context: ProposalContext): Promise<Proposal> {
  const { resource, containerResource, pods, object, external } = metric
  if (resource !== undefined)
    return orMetricError('FailedGetResourceMetric', `failed to get ${resource.name} resource metric value`, async () => {
      const { current, ...rest } = await resourceProposal(resource.name, '', resource.target, context)
      return { ...rest, status: { type: 'Resource', resource: { name: resource.name, current } } }
    })
  if (containerResource !== undefined) {
    const { name, container, target } = containerResource
    return orMetricError('FailedGetContainerResourceMetric', `failed to get ${container} container metric value`, async () => {
      const { current, ...rest } = await resourceProposal(name, container, target, context)
      return { ...rest, status: { type: 'ContainerResource', containerResource: { name, container, current } } }
    })
  }
  if (pods !== undefined) return orMetricError('FailedGetPodsMetric', 'failed to get pods metric value', () => podsProposal(pods, context))
  if (object !== undefined)
    return orMetricError('FailedGetObjectMetric', 'failed to get object metric value', () => objectProposal(object, context))
  if (external !== undefined)
    return orMetricError('FailedGetExternalMetric', `failed to get ${external.metric.name} external metric value`, () =>
      externalProposal(external, context),
    )
  const message = `unknown metric source type "${metric.type}"`
  throw new MetricError('InvalidMetricSourceType', message, message)
}

async function orMetricError(reason: string, what: string, propose: () => Promise<Proposal>): Promise<Proposal> {
  try {
    return await propose()
  } catch (error) {
    throw new MetricError(reason, errorMessage(error), `${what}: ${errorMessage(error)}`)
  }
}

async function resourceProposal(resource: string, container: string, target: V2MetricTarget, context: ProposalContext) {
  const { specReplicas: currentReplicas, pods, tolerances, readiness, source, selector, autoscaler } = context
  const what = target.averageValue === undefined ? 'utilization' : 'usage'
  if (target.averageValue === undefined && target.averageUtilization === undefined)
    throw new Error('invalid resource metric source: neither an average utilization target nor an average value (usage) target was set')
  try {
    const namespace = autoscaler.metadata.namespace ?? ''
    const metrics = await source.resource({ resource, namespace, selector: selector.toString(), container }).catch((error: unknown) => {
      throw new Error(`unable to get metrics for resource ${resource}: ${errorMessage(error)}`)
    })
    const asked = { currentReplicas, pods, metrics, resource, tolerances, readiness }
    const shown = (average: number) => milliQuantityOf(average, resource === 'memory' ? 'BinarySI' : 'DecimalSI').toString()
    if (target.averageValue !== undefined) {
      const { replicas, average } = replicasForAverage({ ...asked, target: milliValueOf(target.averageValue) })
      return { replicas, current: { averageValue: shown(average) }, name: `${resource} resource` }
    }
    const requests = podRequests(pods, resource, container)
    const targetPercent = target.averageUtilization ?? 0
    const { replicas, utilization, average } = replicasForUtilization({ ...asked, requests, targetPercent })
    const kind = container === '' ? 'resource' : 'container resource'
    const name = `${resource} ${kind} utilization (percentage of request)`
    return { replicas, current: { averageUtilization: utilization, averageValue: shown(average) }, name }
  } catch (error) {
    throw new Error(`failed to get ${resource} ${what}: ${errorMessage(error)}`)
  }
}

const selectorOf = ({ selector }: V2MetricIdentifier): string => (selector === undefined ? '' : labelSelectorFrom(selector).toString())
const shownOf = (milli: number): string => milliQuantityOf(milli).toString()

async function podsProposal({ metric, target }: NonNullable<V2MetricSpec['pods']>, context: ProposalContext): Promise<Proposal> {
  const { specReplicas: currentReplicas, pods, tolerances, readiness, source, selector, autoscaler } = context
  const namespace = autoscaler.metadata.namespace ?? ''
  const asked = { metric: metric.name, namespace, selector: selector.toString(), metricSelector: selectorOf(metric) }
  const metrics = await source.pods(asked).catch((error: unknown) => {
    throw new Error(`unable to get metric ${metric.name}: ${errorMessage(error)}`)
  })
  const wanted = milliValueOf(target.averageValue)
  const { replicas, average } = replicasForAverage({ currentReplicas, pods, metrics, resource: '', tolerances, readiness, target: wanted })
  const status = { type: 'Pods', pods: { metric, current: { averageValue: shownOf(average) } } }
  return { replicas, status, name: `pods metric ${metric.name}` }
}

async function objectProposal(metricSource: NonNullable<V2MetricSpec['object']>, context: ProposalContext): Promise<Proposal> {
  const { metric, target, describedObject: object } = metricSource
  const { specReplicas: currentReplicas, statusReplicas, pods, tolerances, source, autoscaler, resources } = context
  const namespace = autoscaler.metadata.namespace ?? ''
  const asked = { metric: metric.name, namespace, object, metricSelector: selectorOf(metric) }
  const usage = await source.object(asked, resources).catch((error: unknown) => {
    throw new Error(`unable to get metric ${metric.name} on ${object.kind} ${namespace}/${object.name}: ${errorMessage(error)}`)
  })
  const status = (current: object) => ({ type: 'Object', object: { describedObject: object, metric, current } })
  if (target.type === 'Value' && target.value !== undefined) {
    const replicas = replicasForTotal({ currentReplicas, pods, usage, target: milliValueOf(target.value), tolerances })
    return { replicas, status: status({ value: shownOf(usage) }), name: `${object.kind} metric ${metric.name}` }
  }
  if (target.type === 'AverageValue' && target.averageValue !== undefined) {
    const { replicas, average } = replicasForShare({ statusReplicas, usage, target: milliValueOf(target.averageValue), tolerances })
    return { replicas, status: status({ averageValue: shownOf(average) }), name: externalName(metric) }
  }
  throw new Error('invalid object metric source: neither a value target nor an average value target was set')
}

async function externalProposal({ metric, target }: NonNullable<V2MetricSpec['external']>, context: ProposalContext): Promise<Proposal> {
  const { specReplicas: currentReplicas, statusReplicas, pods, tolerances, source, autoscaler } = context
  const namespace = autoscaler.metadata.namespace ?? ''
  if (target.averageValue === undefined && target.value === undefined)
    throw new Error('invalid external metric source: neither a value target nor an average value target was set')
  const metricSelector = selectorOf(metric)
  const usage = await source.external({ metric: metric.name, namespace, metricSelector }).catch((error: unknown) => {
    throw new Error(`unable to get external metric ${namespace}/${metric.name}/${metricSelector}: ${errorMessage(error)}`)
  })
  const status = (current: object) => ({ type: 'External', external: { metric, current } })
  if (target.averageValue !== undefined) {
    const { replicas, average } = replicasForShare({ statusReplicas, usage, target: milliValueOf(target.averageValue), tolerances })
    return { replicas, status: status({ averageValue: shownOf(average) }), name: externalName(metric) }
  }
  const replicas = replicasForTotal({ currentReplicas, pods, usage, target: milliValueOf(target.value), tolerances })
  return { replicas, status: status({ value: shownOf(usage) }), name: externalName(metric) }
}

const externalName = (metric: V2MetricIdentifier): string => `external metric ${metric.name}(${selectorOf(metric) || '<nil>'})`

/** Of the autoscaler's own rules, or those of the flag. */
export function tolerancesOf({ spec }: V2HorizontalPodAutoscaler, usual: number): Tolerances {
  const { scaleDown, scaleUp } = spec.behavior ?? {}
  const number = (text: string | undefined) => (text === undefined ? usual : parseQuantity(text).milliValue() / 1000)
  return { down: number(scaleDown?.tolerance), up: number(scaleUp?.tolerance) }
}
