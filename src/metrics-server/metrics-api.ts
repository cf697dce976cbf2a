/** `metrics.k8s.io/v1beta1`, as requests and answers: read-only, stored nowhere. */

import { Node, Pod } from '#api/core/v1/kinds.gen.ts'
import type { V1Node, V1Pod } from '#api/core/v1/types.gen.ts'
import { ignoreNotFound } from '#api/meta/server-response.ts'
import { badRequest, methodNotSupported, notFound, statusOf } from '#api/meta/status-error.ts'
import { formatTime } from '#api/meta/time.ts'
import type { Clock } from '#base/clock.ts'
import { defined } from '#base/defined.ts'
import type { HttpExchange } from '#base/http-server.ts'
import { omitEmpty } from '#base/omit-empty.ts'
import { trimEndOf } from '#base/trim-end.ts'
import type { Client } from '#client/client.ts'
import { metricsResources } from '#metrics-server/metrics-resources.ts'
import type { Usage, UsageCollector } from '#metrics-server/usage-collector.ts'

export const metricsGroup = 'metrics.k8s.io'
export const metricsVersion = 'v1beta1'
const apiVersion = `${metricsGroup}/${metricsVersion}`
const root = `/apis/${apiVersion}`

export type MetricsApiOptions = {
  client: Pick<Client, 'get' | 'list'>
  usage: Pick<UsageCollector, 'prepare' | 'node' | 'pod'>
  clock: Clock
}

type Metrics = { metadata: object; timestamp: string; window: string } & ({ usage: object } | { containers: object[] })

/** Whoever calls has found out who asks, and that they may. */
export function metricsApi(options: MetricsApiOptions): (exchange: HttpExchange) => void {
  return (exchange) => {
    answer(exchange, options).catch((error: unknown) => {
      const status = statusOf(error)
      respondJson(exchange, status.code ?? 500, { kind: 'Status', apiVersion: 'v1', metadata: {}, ...status })
    })
  }
}

/** Of nodes and pods that are read at once. */
const pageSize = 100

async function answer(exchange: HttpExchange, options: MetricsApiOptions): Promise<void> {
  const url = new URL(exchange.target, 'https://metrics')
  const path = trimEndOf(url.pathname, '/')
  if (path === root) return respondJson(exchange, 200, metricsResources(apiVersion))
  const [, namespace, resource, name] = /^(?:\/namespaces\/([^/]+))?\/(nodes|pods)(?:\/([^/]+))?$/.exec(path.slice(root.length)) ?? []
  const isThere =
    path.startsWith(root) &&
    resource !== undefined &&
    (resource === 'pods' ? name === undefined || namespace !== undefined : namespace === undefined)
  if (!isThere) return exchange.respond(404, { 'content-type': 'text/plain; charset=utf-8' }, '404 page not found\n')
  const kind = resource === 'nodes' ? 'NodeMetrics' : 'PodMetrics'
  if (exchange.method !== 'GET') throw methodNotSupported({ group: metricsGroup, resource }, exchange.method.toLowerCase())
  if (url.searchParams.get('watch') === 'true') throw methodNotSupported({ group: metricsGroup, resource }, 'watch')
  await options.usage.prepare()
  if (name !== undefined) {
    const found = resource === 'nodes' ? await oneNode(name, options) : await onePod(namespace ?? '', name, options)
    const shown = namespace === undefined ? name : `${namespace}/${name}`
    if (found === undefined) throw notFound({ group: metricsGroup, resource: kind.toLowerCase() }, shown)
    return respond(exchange, { kind, apiVersion, ...found }, [found])
  }
  const labelSelector = url.searchParams.get('labelSelector') ?? ''
  const fieldSelector = metadataFields(url.searchParams.get('fieldSelector') ?? '')
  const query = omitEmpty({ labelSelector, fieldSelector })
  const items: Metrics[] =
    resource === 'nodes'
      ? (await options.client.list(Node, { ...query, limit: pageSize })).items.flatMap((node) => nodeMetrics(node, options) ?? [])
      : (await options.client.list(Pod, { ...query, ...omitEmpty({ namespace }), limit: pageSize })).items.flatMap(
          (pod) => podMetrics(pod, options) ?? [],
        )
  respond(exchange, { kind: `${kind}List`, apiVersion, metadata: {}, items }, items)
}

/** Other fields are not those of these objects. */
function metadataFields(selector: string): string {
  for (const part of selector.split(',').filter(Boolean)) {
    const [field = ''] = part.split(/!?=/)
    if (!['metadata.name', 'metadata.namespace'].includes(field)) throw badRequest(`field label not supported: ${field}`)
  }
  return selector
}

async function oneNode(name: string, options: MetricsApiOptions): Promise<Metrics | undefined> {
  const node = await options.client.get(Node, '', name).catch(ignoreNotFound)
  return node && nodeMetrics(node, options)
}

async function onePod(namespace: string, name: string, options: MetricsApiOptions): Promise<Metrics | undefined> {
  const pod = await options.client.get(Pod, namespace, name).catch(ignoreNotFound)
  return pod && podMetrics(pod, options)
}

function nodeMetrics({ metadata }: V1Node, { usage, clock }: MetricsApiOptions): Metrics | undefined {
  const used = usage.node(metadata.name ?? '')
  if (used === undefined) return undefined
  return { ...headOf(metadata, used, clock), usage: amounts(used) }
}

function podMetrics({ metadata, spec, status }: V1Pod, { usage, clock }: MetricsApiOptions): Metrics | undefined {
  if (status?.phase !== 'Running') return undefined
  const containers = usage.pod(spec.nodeName ?? '', metadata.namespace ?? '', metadata.name ?? '')
  const latest = [...(containers?.values() ?? [])].sort((one, other) => other.windowMs - one.windowMs)[0]
  if (containers === undefined || latest === undefined) return undefined
  return { ...headOf(metadata, latest, clock), containers: [...containers].map(([name, used]) => ({ name, usage: amounts(used) })) }
}

function headOf(
  { name, namespace, labels }: V1Pod['metadata'],
  { timeMs, windowMs }: Usage,
  clock: Clock,
): Omit<Metrics, 'usage' | 'containers'> {
  return {
    metadata: {
      ...{ name, ...omitEmpty({ namespace }), creationTimestamp: formatTime(clock.now()) },
      ...defined({ labels }),
    },
    timestamp: formatTime(timeMs),
    window: `${windowMs / 1000}s`,
  }
}

const amounts = ({ cpuNanoCores, memoryBytes }: Usage) => ({
  cpu: cpuNanoCores === 0 ? '0' : `${cpuNanoCores}n`,
  memory: `${Math.round(memoryBytes / 1024)}Ki`,
})

function respond(exchange: HttpExchange, value: object, items: readonly Metrics[]): void {
  const isTable = /;as=Table/.test(String(exchange.headers.accept ?? '').split(',')[0] ?? '')
  respondJson(exchange, 200, isTable ? tableOf(items) : value)
}

function tableOf(items: readonly Metrics[]): object {
  const column = (name: string, format = '') => ({ name, type: 'string', format, description: '', priority: 0 })
  return {
    kind: 'Table',
    apiVersion: 'meta.k8s.io/v1',
    metadata: {},
    columnDefinitions: [column('Name', 'name'), column('cpu'), column('memory'), column('Window')],
    rows: items.map((item) => {
      const parts = ('usage' in item ? [item.usage] : item.containers.map((each) => (each as { usage: object }).usage)) as {
        cpu: string
        memory: string
      }[]
      const sum = (values: string[], unit: string) => {
        const total = values.reduce((all, value) => all + Number.parseInt(value, 10), 0)
        return total === 0 ? '0' : `${total}${unit}`
      }
      const cells = [
        (item.metadata as { name?: string }).name,
        sum(
          parts.map(({ cpu }) => cpu),
          'n',
        ),
        sum(
          parts.map(({ memory }) => memory),
          'Ki',
        ),
        item.window,
      ]
      return { cells, object: { kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1', metadata: item.metadata } }
    }),
  }
}

function respondJson(exchange: HttpExchange, code: number, value: object): void {
  exchange.respond(code, { 'content-type': 'application/json' }, JSON.stringify(value))
}
