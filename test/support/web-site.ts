/** A web site: what its pods use under its load, and the objects it is made of. */
import { HorizontalPodAutoscaler } from '#api/autoscaling/v2/kinds.gen.ts'
import { VerticalPodAutoscaler } from '#api/autoscaling/vertical/definitions.ts'
import { Namespace } from '#api/core/v1/kinds.gen.ts'
import type { V1Pod } from '#api/core/v1/types.gen.ts'
import { findCondition } from '#api/meta/find-condition.ts'
import { formatTime, parseTime } from '#api/meta/time.ts'
import { PodDisruptionBudget } from '#api/policy/v1/kinds.gen.ts'
import type { Clock } from '#base/clock.ts'
import type { Client } from '#client/client.ts'
import type { Transport } from '#client/transport.ts'
import { Deployment } from '#index.ts'
import { recordedLoad } from './recorded-load.ts'

export const siteNamespace = 'site'

/** Of one request a second. */
const cpuMillis = 8
const mostMillis = 1000
const mebibyte = 2 ** 20

/** It needs more memory than its author thought: so much after ten minutes. */
const memoryBytes = (ageMs: number): number => (150 + 200 * Math.min(1, ageMs / 600_000)) * mebibyte

/** Answers for the metrics API: the pods that are ready share the load of the moment. */
export function measured(
  transport: Transport,
  { minute, clock, pods }: { minute(): number; clock: Clock; pods(): readonly V1Pod[] },
): Transport {
  const known = new Map<string, Promise<string>>()
  const answer = (text: string) => ({ status: 200, header: () => undefined, text: async () => text, chunks: () => neverAsked() })
  return {
    async send(request) {
      const [path = ''] = request.target.split('?')
      if (path.startsWith('/apis/metrics.k8s.io/v1beta1/')) return answer(JSON.stringify({ items: usages() }))
      if (request.method !== 'GET' || !['/api', '/apis'].includes(path)) return transport.send(request)
      // Nothing new is served all day, and nobody asks for anything but what scales.
      const text = known.get(path) ?? transport.send(request).then(async (response) => withAppsAlone(await response.text()))
      known.set(path, text)
      return answer(await text)
    },
  }

  function usages() {
    const running = pods().filter(({ metadata, status }) => metadata.labels?.['app'] === 'web' && status?.phase === 'Running')
    const ready = running.filter(({ status }) => findCondition(status?.conditions ?? [], 'Ready')?.status === 'True').length
    const cpu = Math.min(mostMillis, (recordedLoad(minute()) * cpuMillis) / Math.max(1, ready))
    return running.map(({ metadata, status }) => {
      const ageMs = clock.now() - (status?.startTime ? parseTime(status.startTime) : clock.now())
      const usage = { cpu: `${Math.round(cpu * 1e6)}n`, memory: `${Math.round(memoryBytes(ageMs))}` }
      const { name, namespace, labels } = metadata
      return {
        metadata: { name, namespace, labels },
        timestamp: formatTime(clock.now()),
        window: '30s',
        containers: [{ name: 'main', usage }],
      }
    })
  }
}

function withAppsAlone(text: string): string {
  const list = JSON.parse(text) as { items?: { metadata?: { name?: string } }[] }
  return JSON.stringify({ ...list, items: (list.items ?? []).filter(({ metadata }) => metadata?.name === 'apps') })
}

async function* neverAsked(): AsyncGenerator<Uint8Array> {
  yield new Uint8Array()
}

/** Signs of life cost more than all else, and nobody looks at them here. */
export function withoutLeases(transport: Transport): Transport {
  return {
    async send(request) {
      if (request.method === 'GET' || !request.target.includes('/leases')) return transport.send(request)
      const text = request.body ?? ''
      return { status: 200, header: () => undefined, text: async () => text, chunks: () => neverAsked() }
    },
  }
}

/** Replicas follow the processor, memory follows the use, nodes follow both. */
export async function openSite(client: Client): Promise<void> {
  await client.create(Namespace, { metadata: { name: siteNamespace }, spec: {} })
  const place = { namespace: siteNamespace, name: 'web' }
  const labels = { app: 'web' }
  const containers = [{ name: 'main', image: 'site:1', resources: { requests: { cpu: '500m', memory: '128Mi' } } }]
  const template = { metadata: { labels }, spec: { containers, terminationGracePeriodSeconds: 10 } }
  await client.create(Deployment, { metadata: place, spec: { replicas: 8, selector: { matchLabels: labels }, template } })
  await client.create(PodDisruptionBudget, { metadata: place, spec: { maxUnavailable: '25%', selector: { matchLabels: labels } } })
  const target = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' }
  const metric = { type: 'Resource', resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 70 } } }
  await client.create(HorizontalPodAutoscaler, {
    metadata: place,
    spec: { scaleTargetRef: target, minReplicas: 3, maxReplicas: 80, metrics: [metric] },
  })
  await client.create(VerticalPodAutoscaler, {
    metadata: place,
    spec: {
      targetRef: target,
      updatePolicy: { updateMode: 'Auto' },
      // Replicas are the other one's business: where both looked at the processor they would chase each other.
      resourcePolicy: { containerPolicies: [{ containerName: '*', controlledResources: ['memory'] }] },
    },
  })
}

/** Four large pods for a while, on machines that are there for nothing else. */
export function nightlyReports(seconds: number) {
  const annotations = { 'sim.typernetes.dev/exit-after': `${seconds}s` }
  const containers = [{ name: 'main', image: 'reports:1', resources: { requests: { cpu: '7', memory: '4Gi' } } }]
  const tolerations = [{ key: 'purpose', operator: 'Equal', value: 'reports' }]
  const spec = { containers, tolerations, nodeSelector: { purpose: 'reports' }, restartPolicy: 'Never' }
  const metadata = { namespace: siteNamespace, name: 'reports' }
  return { metadata, spec: { completions: 4, parallelism: 4, template: { metadata: { annotations }, spec } } }
}
