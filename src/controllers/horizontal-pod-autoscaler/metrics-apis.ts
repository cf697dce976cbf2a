/** The three APIs that measurements come from; who serves them is registered with the API server. */

import type { V2CrossVersionObjectReference } from '#api/autoscaling/v2/types.gen.ts'
import { parseApiVersion } from '#api/meta/gvk.ts'
import { milliValueOf } from '#api/meta/quantity.ts'
import { parseTime } from '#api/meta/time.ts'
import { errorMessage } from '#base/error-message.ts'
import type { Client } from '#client/client.ts'
import type { DiscoveredResource } from '#client/discovery.ts'
import type { MetricsSource } from '#controllers/horizontal-pod-autoscaler/metrics-source.ts'
import { podUsage, type ResourceMetrics } from '#controllers/horizontal-pod-autoscaler/pod-usage.ts'
import type { PodMetric } from '#controllers/horizontal-pod-autoscaler/replica-calculator.ts'

type MetricValue = { describedObject?: { name?: string }; timestamp: string; windowSeconds?: number; value: string }

/** Where an adapter does not say over how long it measured. */
const usualWindowMs = 60_000

/** The APIs that clusters have today. */
export const metricsApis = (client: Client): MetricsSource => ({
  resource: (asked) => resourceMetrics(client, asked),
  pods: (asked) => podMetrics(client, asked),
  object: (asked, resources) => objectMetric(client, asked, resources),
  external: (asked) => externalMetric(client, asked),
})

/** What each pod uses of a resource: all its containers, or one. Pods of which not all is known are left out. */
async function resourceMetrics(
  client: Client,
  { resource, namespace, selector, container }: { resource: string; namespace: string; selector: string; container: string },
): Promise<Map<string, PodMetric>> {
  const items = await listed<ResourceMetrics>(client, 'resource', `/apis/metrics.k8s.io/v1beta1/namespaces/${namespace}/pods`, {
    labelSelector: selector,
  })
  return podUsage(items, resource, container)
}

/** A measurement of each pod. */
async function podMetrics(
  client: Client,
  { metric, namespace, selector, metricSelector }: { metric: string; namespace: string; selector: string; metricSelector: string },
): Promise<Map<string, PodMetric>> {
  const path = `${await customApi(client)}/namespaces/${namespace}/pods/*/${metric}`
  const items = await listed<MetricValue>(client, 'custom', path, { labelSelector: selector, metricLabelSelector: metricSelector })
  return new Map(
    items.map(({ describedObject, timestamp, windowSeconds, value }) => [
      describedObject?.name ?? '',
      {
        value: milliValueOf(value),
        timestampMs: parseTime(timestamp),
        windowMs: windowSeconds === undefined ? usualWindowMs : windowSeconds * 1000,
      },
    ]),
  )
}

/** A measurement of one object, in thousandths. */
async function objectMetric(
  client: Client,
  asked: { metric: string; namespace: string; object: V2CrossVersionObjectReference; metricSelector: string },
  resources: readonly DiscoveredResource[],
): Promise<number> {
  const { metric, namespace, object, metricSelector } = asked
  const group = parseApiVersion(object.apiVersion ?? 'v1')?.group ?? ''
  const isNamespace = object.kind === 'Namespace' && group === ''
  const plural = resources.find((each) => each.kind === object.kind && each.group === group)?.plural
  if (plural === undefined)
    throw new Error(`unable to fetch metrics from custom metrics API: no matches for kind "${object.kind}" in group "${group}"`)
  const name = group === '' ? plural : `${plural}.${group}`
  const place = isNamespace ? `namespaces/${namespace}/metrics` : `namespaces/${namespace}/${name}/${object.name}`
  const path = `${await customApi(client)}/${place}/${metric}`
  const [first] = await listed<MetricValue>(client, 'custom', path, { metricLabelSelector: metricSelector })
  return milliValueOf(first?.value)
}

/** The sum of a measurement of something outside of the cluster, in thousandths. */
async function externalMetric(
  client: Client,
  { metric, namespace, metricSelector }: { metric: string; namespace: string; metricSelector: string },
): Promise<number> {
  const path = `/apis/external.metrics.k8s.io/v1beta1/namespaces/${namespace}/${metric}`
  const items = await listed<MetricValue>(client, 'external', path, { labelSelector: metricSelector })
  return items.reduce((sum, { value }) => sum + milliValueOf(value), 0)
}

async function listed<T>(client: Client, api: string, path: string, query: Record<string, string>): Promise<T[]> {
  const given = Object.entries(query).filter(([, value]) => value !== '')
  const text = new URLSearchParams(given).toString()
  let items: T[]
  try {
    const answer = JSON.parse(await client.raw(text === '' ? path : `${path}?${text}`)) as { items?: T[] }
    items = answer.items ?? []
  } catch (error) {
    throw new Error(`unable to fetch metrics from ${api} metrics API: ${errorMessage(error)}`)
  }
  if (items.length === 0) throw new Error(`no metrics returned from ${api} metrics API`)
  return items
}

/** Adapters serve one of two versions; the later one is taken where there are both. */
async function customApi(client: Client): Promise<string> {
  try {
    const { versions = [] } = JSON.parse(await client.raw('/apis/custom.metrics.k8s.io')) as { versions?: { version: string }[] }
    const has = (wanted: string) => versions.some(({ version }) => version === wanted)
    return `/apis/custom.metrics.k8s.io/${has('v1beta2') || !has('v1beta1') ? 'v1beta2' : 'v1beta1'}`
  } catch (error) {
    throw new Error(`unable to fetch metrics from custom metrics API: ${errorMessage(error)}`)
  }
}
