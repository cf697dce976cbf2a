/** `custom.metrics.k8s.io`: measurements of objects of the cluster. A POST to where one is read pushes it. */

import { milliQuantityOf } from '#api/meta/quantity.ts'
import { labelSelectorObject, parseLabelSelector } from '#api/meta/selector.ts'
import { badRequest, methodNotSupported, StatusError } from '#api/meta/status-error.ts'
import { formatTime } from '#api/meta/time.ts'
import type { Clock } from '#base/clock.ts'
import { defined } from '#base/defined.ts'
import { errorMessage } from '#base/error-message.ts'
import type { HttpExchange } from '#base/http-server.ts'
import { omitEmpty } from '#base/omit-empty.ts'
import type { Client } from '#client/client.ts'
import type { DiscoveredResource } from '#client/discovery.ts'
import { answering, respondJson, respondNothing } from '#metrics-server/adapter/answering.ts'
import { type GroupResource, namespaces, resourceNamed, resourceText, sameResource } from '#metrics-server/adapter/metric-resources.ts'
import type { MetricSample, MetricsProvider } from '#metrics-server/adapter/metrics-provider.ts'
import { pushedSample } from '#metrics-server/adapter/pushed-body.ts'
import type { PushedMetrics } from '#metrics-server/adapter/pushed-metrics.ts'

export const customMetricsGroup = 'custom.metrics.k8s.io'
const bodyLimitBytes = 64 * 1024

export type CustomMetricsApiOptions = {
  version: 'v1beta1' | 'v1beta2'
  provider: MetricsProvider
  pushed: PushedMetrics
  client: Pick<Client, 'list' | 'get'>
  resources(): Promise<readonly DiscoveredResource[]>
  clock: Clock
}

type Asked = { namespace: string; kind: DiscoveredResource; name: string; metric: string }

export function customMetricsApi(options: CustomMetricsApiOptions): (exchange: HttpExchange) => void {
  const root = `/apis/${customMetricsGroup}/${options.version}`
  return answering(async (exchange, url) => {
    if (url.pathname === root || url.pathname === `${root}/`) return respondJson(exchange, 200, await resourceList(options))
    const asked = url.pathname.startsWith(`${root}/`) ? await parsePath(url.pathname.slice(root.length + 1), options) : undefined
    if (asked === undefined) return respondNothing(exchange)
    if (exchange.method === 'POST') return push(exchange, asked, options)
    if (exchange.method !== 'GET')
      throw methodNotSupported({ group: customMetricsGroup, resource: asked.kind.plural }, exchange.method.toLowerCase())
    await answer(exchange, url, asked, options)
  })
}

async function resourceList({ version, provider }: CustomMetricsApiOptions): Promise<object> {
  const resources = (await provider.customMetrics()).map(({ metric, isNamespaced, ...resource }) => ({
    ...{ name: `${resourceText(resource)}/${metric}`, singularName: '', namespaced: isNamespaced, kind: 'MetricValueList', verbs: ['get'] },
  }))
  resources.sort((one, other) => (one.name < other.name ? -1 : 1))
  return { kind: 'APIResourceList', apiVersion: 'v1', groupVersion: `${customMetricsGroup}/${version}`, resources }
}

/** `namespaces/NS/metrics/METRIC`, `namespaces/NS/RESOURCE/NAME/METRIC` or `RESOURCE/NAME/METRIC`. */
async function parsePath(path: string, options: CustomMetricsApiOptions): Promise<Asked | undefined> {
  const parts = path.split('/').map(decodeURIComponent)
  const [first = '', second = '', third = '', fourth = '', metric = ''] = parts
  const resources = await options.resources()
  const named = (text: string) => {
    const dot = text.indexOf('.')
    return resourceNamed(dot < 0 ? { resource: text } : { resource: text.slice(0, dot), group: text.slice(dot + 1) }, resources)
  }
  const found = (place: string, text: string, name: string, asked: string): Asked | undefined => {
    const kind = named(text)
    return kind && { namespace: place, kind, name, metric: asked }
  }
  if (parts.length === 4 && first === 'namespaces' && third === 'metrics') return found('', 'namespaces', second, fourth)
  if (parts.length === 5 && first === 'namespaces') return found(second, third, fourth, metric)
  if (parts.length === 3) return found('', first, second, third)
  return undefined
}

async function push(exchange: HttpExchange, { kind, namespace, name, metric }: Asked, { pushed, clock }: CustomMetricsApiOptions) {
  if (name === '*') throw badRequest('a metric is pushed for one object')
  const body = (await exchange.readBody(bodyLimitBytes)).toString()
  const { sample, labels } = pushedSample(body, clock.now())
  pushed.push({ ...groupResource(kind), metric, isNamespaced: kind.scope === 'Namespaced' }, { namespace, name }, sample, labels)
  respondJson(exchange, 201, { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', code: 201 })
}

const groupResource = ({ group, plural }: DiscoveredResource): GroupResource => ({ group, resource: plural })

async function answer(exchange: HttpExchange, url: URL, asked: Asked, options: CustomMetricsApiOptions): Promise<void> {
  const { kind, namespace, name, metric } = asked
  const { provider, version } = options
  const selectorText = url.searchParams.get('metricLabelSelector') ?? ''
  const selector = parsedSelector(selectorText)
  const names = name === '*' ? await selectedNames(url.searchParams.get('labelSelector') ?? '', asked, options) : [name]
  const values = await provider.values({ ...groupResource(kind), metric, namespace, names, selector })
  if (name !== '*' && !values.has(name)) throw metricNotFound(metric, kind, name)
  const isNamespace = sameResource(groupResource(kind), namespaces)
  const shown = names.flatMap((each) => {
    const sample = values.get(each)
    if (sample === undefined) return []
    const describedObject = {
      kind: kind.kind,
      ...omitEmpty({ namespace: isNamespace ? '' : namespace }),
      name: each,
      apiVersion: `${kind.group}/${kind.version}`,
    }
    return [shownValue(version, describedObject, metric, selectorText, sample)]
  })
  respondJson(exchange, 200, { kind: 'MetricValueList', apiVersion: `${customMetricsGroup}/${version}`, metadata: {}, items: shown })
}

function shownValue(version: string, describedObject: object, name: string, selectorText: string, sample: MetricSample): object {
  const selector = selectorText === '' ? null : labelSelectorObject(selectorText)
  const metric = version === 'v1beta1' ? { metricName: name } : { metric: { name, selector } }
  const { timeMs, milli, windowSeconds } = sample
  return {
    describedObject,
    ...metric,
    timestamp: formatTime(timeMs),
    ...defined({ windowSeconds }),
    value: milliQuantityOf(milli).toString(),
    ...(version === 'v1beta1' ? { selector } : {}),
  }
}

async function selectedNames(labelSelector: string, { kind, namespace }: Asked, { client }: CustomMetricsApiOptions): Promise<string[]> {
  const { items } = await client.list(kind, { namespace, labelSelector })
  return items.map(({ metadata }) => metadata?.name ?? '')
}

function parsedSelector(text: string) {
  try {
    return parseLabelSelector(text)
  } catch (error) {
    throw badRequest(errorMessage(error))
  }
}

function metricNotFound(metric: string, kind: DiscoveredResource, name: string): StatusError {
  const message = `the server could not find the metric ${metric} for ${resourceText(groupResource(kind))} ${name}`
  return new StatusError({ status: 'Failure', code: 404, reason: 'NotFound', message })
}
