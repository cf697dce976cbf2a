/** `external.metrics.k8s.io/v1beta1`: measurements of what is not in the cluster. A POST to where one is read pushes it. */
import { milliQuantityOf } from '#api/meta/quantity.ts'
import { parseLabelSelector } from '#api/meta/selector.ts'
import { badRequest, methodNotSupported, StatusError } from '#api/meta/status-error.ts'
import { formatTime } from '#api/meta/time.ts'
import type { Clock } from '#base/clock.ts'
import { defined } from '#base/defined.ts'
import { errorMessage } from '#base/error-message.ts'
import type { HttpExchange } from '#base/http-server.ts'
import { answering, respondJson, respondNothing } from '#metrics-server/adapter/answering.ts'
import type { MetricsProvider } from '#metrics-server/adapter/metrics-provider.ts'
import { pushedSample } from '#metrics-server/adapter/pushed-body.ts'
import type { PushedMetrics } from '#metrics-server/adapter/pushed-metrics.ts'

export const externalMetricsGroup = 'external.metrics.k8s.io'
const apiVersion = `${externalMetricsGroup}/v1beta1`
const root = `/apis/${apiVersion}`
const bodyLimitBytes = 64 * 1024

export type ExternalMetricsApiOptions = { provider: MetricsProvider; pushed: PushedMetrics; clock: Clock }

export function externalMetricsApi({ provider, pushed, clock }: ExternalMetricsApiOptions): (exchange: HttpExchange) => void {
  return answering(async (exchange, url) => {
    if (url.pathname === root || url.pathname === `${root}/`) {
      const names = (await provider.externalMetrics()).sort()
      const rest = { singularName: '', namespaced: true, kind: 'ExternalMetricValueList', verbs: ['get'] }
      const resources = names.map((name) => ({ name, ...rest }))
      return respondJson(exchange, 200, { kind: 'APIResourceList', apiVersion: 'v1', groupVersion: apiVersion, resources })
    }
    const [, namespace, metric] = /^\/namespaces\/([^/]+)\/([^/]+)$/.exec(url.pathname.slice(root.length))?.map(decodeURIComponent) ?? []
    if (!url.pathname.startsWith(root) || namespace === undefined || metric === undefined) return respondNothing(exchange)
    if (exchange.method === 'POST') {
      const { sample, labels } = pushedSample((await exchange.readBody(bodyLimitBytes)).toString(), clock.now())
      pushed.pushExternal({ namespace, metric }, sample, labels)
      return respondJson(exchange, 201, { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', code: 201 })
    }
    if (exchange.method !== 'GET')
      throw methodNotSupported({ group: externalMetricsGroup, resource: metric }, exchange.method.toLowerCase())
    const samples = await provider.externalValues({ metric, namespace, selector: parsed(url.searchParams.get('labelSelector') ?? '') })
    if (samples.length === 0) {
      const message = `the server could not find the metric ${metric} for external.metrics.k8s.io`
      throw new StatusError({ status: 'Failure', code: 404, reason: 'NotFound', message })
    }
    const items = samples.map(({ labels, milli, timeMs, windowSeconds }) => ({
      ...{ metricName: metric, metricLabels: labels, timestamp: formatTime(timeMs) },
      ...defined({ window: windowSeconds }),
      value: milliQuantityOf(milli).toString(),
    }))
    respondJson(exchange, 200, { kind: 'ExternalMetricValueList', apiVersion, metadata: {}, items })
  })
}

function parsed(text: string) {
  try {
    return parseLabelSelector(text)
  } catch (error) {
    throw badRequest(errorMessage(error))
  }
}
