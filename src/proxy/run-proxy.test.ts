import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Node, Service } from '#api/core/v1/kinds.gen.ts'
import type { V1Service } from '#api/core/v1/types.gen.ts'
import { EndpointSlice } from '#api/discovery/v1/kinds.gen.ts'
import type { V1EndpointSlice } from '#api/discovery/v1/types.gen.ts'
import { ServiceCIDR } from '#api/networking/v1/kinds.gen.ts'
import type { HttpListener } from '#base/http-server.ts'
import { silentLogger } from '#base/log.ts'
import { Metrics } from '#base/metrics.ts'
import { Client } from '#client/client.ts'
import type { ProxyBackend } from '#proxy/backend.ts'
import type { Flow } from '#proxy/conntrack/stale-flows.ts'
import { defaultRuleSettings, type RuleSettings } from '#proxy/rules/rule-settings.ts'
import { runProxy } from '#proxy/run-proxy.ts'
import { FakeCluster } from '#testing/fake-cluster.ts'

/** Writes down what it is told, and fails when told to. */
class RecordingBackend implements ProxyBackend {
  readonly mode = 'nftables'
  readonly families = ['IPv4'] as const
  syncs: { isFull: boolean; changed: string[]; leadsTo: Record<string, string[] | string> }[] = []
  settings: RuleSettings[] = []
  isThere = true
  failures = 0
  /** A sync takes until then. */
  isFree: Promise<void> = Promise.resolve()

  setSettings(settings: RuleSettings): void {
    this.settings.push(settings)
  }
  async sync(...[table, changed, isFull]: Parameters<ProxyBackend['sync']>): Promise<void> {
    await this.isFree
    if (this.failures > 0) {
      this.failures--
      throw new Error('the kernel says no')
    }
    const leadsTo: Record<string, string[] | string> = {}
    for (const { port, internal } of table.allPlans()) {
      leadsTo[port.name] = internal.kind === 'endpoints' ? internal.endpoints.map(({ text }) => text) : internal.kind
    }
    this.syncs.push({ isFull, changed: [...changed].sort(), leadsTo })
  }
  async isIntact(): Promise<boolean> {
    return this.isThere
  }
  async stop(): Promise<void> {}
  async cleanUp(): Promise<void> {}
}

const aService = (spec: V1Service['spec']): V1Service => ({
  metadata: { namespace: 'default', name: 'web' },
  spec: { ports: [{ port: 80 }], ...spec },
})
const aSlice = (addresses: string[], protocol = 'TCP'): V1EndpointSlice => ({
  metadata: { namespace: 'default', name: 'web-1', labels: { 'kubernetes.io/service-name': 'web' } },
  ...{ addressType: 'IPv4', ports: [{ name: '', port: 8080, protocol }] },
  endpoints: addresses.map((address) => ({ addresses: [address], nodeName: 'n1', conditions: { ready: true } })),
})

async function started(flows: Flow[] = []) {
  const cluster = await FakeCluster.start({ withoutNodes: true })
  const { clock, random, client } = cluster
  await client.create(Node, { metadata: { name: 'n1' }, spec: {} })
  const backend = new RecordingBackend()
  const metrics = new Metrics()
  const ports: number[] = []
  const deleted: Omit<Flow, 'source' | 'sourcePort'>[] = []
  const run = () =>
    runProxy({
      // As kube-proxy, with no more than kube-proxy may.
      client: new Client({ transport: cluster.transportAs('system:kube-proxy'), userAgent: 'kube-proxy' }),
      ...{ clock, random, logger: silentLogger, metrics, nodeName: 'n1', backend, minSyncMs: 1000, syncMs: 30_000 },
      settingsFor: (_, serviceCidrs) => ({ ...defaultRuleSettings, serviceCidrs }),
      conntrack: {
        list: async () => flows,
        delete: async (_, flow) => void deleted.push(flow),
      },
      async listen({ port }) {
        ports.push(port)
        return { close: async () => void ports.splice(ports.indexOf(port), 1) } as unknown as HttpListener
      },
    })
  const proxy = run()
  await clock.advance(100)
  await proxy.synced
  return {
    ...{ cluster, clock, client, backend, metrics, proxy, ports, deleted },
    async [Symbol.asyncDispose]() {
      await proxy.stop()
      await cluster[Symbol.asyncDispose]()
    },
  }
}

test('the first sync knows everything, those that follow what changed', async () => {
  await using world = await started()
  const { clock, client, backend } = world
  assert.deepEqual(
    backend.syncs.map(({ isFull }) => isFull),
    [true],
  )
  const { spec } = await client.create(Service, aService({}))
  await client.create(EndpointSlice, aSlice(['10.1.0.1', '10.1.0.2']))
  await clock.advance(3000)
  const last = backend.syncs.at(-1)
  assert.deepEqual(last?.leadsTo['default/web'], ['10.1.0.1:8080', '10.1.0.2:8080'])
  assert.equal(last?.isFull, false)
  assert.deepEqual(last?.changed, ['default/web'])
  assert.ok(spec?.clusterIP)
  await client.delete(EndpointSlice, { namespace: 'default', name: 'web-1' })
  await clock.advance(3000)
  assert.equal(backend.syncs.at(-1)?.leadsTo['default/web'], 'reject')
})

test('a range of services that is added during a sync is in the next one, which is full', async () => {
  await using world = await started()
  const { clock, client, backend } = world
  const free = Promise.withResolvers<void>()
  backend.isFree = free.promise
  await client.create(Service, aService({}))
  await clock.advance(2000)
  await client.create(ServiceCIDR, { metadata: { name: 'more' }, spec: { cidrs: ['10.99.0.0/24'] } })
  await clock.advance(2000)
  assert.deepEqual(backend.settings.at(-1)?.serviceCidrs.includes('10.99.0.0/24'), true)
  free.resolve()
  await clock.advance(5000)
  assert.deepEqual(
    backend.syncs.slice(1).map(({ isFull }) => isFull),
    [false, true],
  )
})

test('a sync that failed is followed by a full one, and meanwhile the proxy turns unwell', async () => {
  await using world = await started()
  const { clock, client, backend, proxy, metrics } = world
  backend.failures = 1000
  await client.create(Service, aService({}))
  await clock.advance(59_000)
  assert.equal(proxy.health.isHealthy, true, 'not yet')
  await clock.advance(2000)
  assert.equal(proxy.health.isHealthy, false)
  backend.failures = 0
  await clock.advance(30_000)
  assert.equal(backend.syncs.at(-1)?.isFull, true)
  assert.equal(proxy.health.isHealthy, true)
  assert.match(metrics.text(), /^kubeproxy_sync_proxy_rules_nftables_sync_failures_total\{ip_family="IPv4"\} \d+/m)
})

test('rules that somebody removed come back, all of them', async () => {
  await using world = await started()
  const { clock, backend } = world
  await clock.advance(31_000)
  assert.equal(backend.syncs.length, 1, 'nothing to do')
  backend.isThere = false
  await clock.advance(30_000)
  assert.equal(backend.syncs.at(-1)?.isFull, true)
  assert.equal(backend.syncs.length, 2)
})

test('ranges of services are heard of, and a node that is about to go takes no new connections', async () => {
  await using world = await started()
  const { clock, client, backend, proxy } = world
  await clock.advance(2000)
  assert.deepEqual(backend.settings.at(-1)?.serviceCidrs, ['10.96.0.0/16'])
  assert.equal(proxy.health.isNodeEligible, true)
  const node = await client.get(Node, '', 'n1')
  await client.update(Node, { ...node, spec: { ...node.spec, taints: [{ key: 'ToBeDeletedByClusterAutoscaler', effect: 'NoSchedule' }] } })
  await clock.advance(2000)
  assert.equal(proxy.health.isNodeEligible, false)
  assert.equal(proxy.health.isHealthy, true)
})

test('load balancers have a port to ask, as long as the service wants one', async () => {
  await using world = await started()
  const { clock, client, ports } = world
  const made = await client.create(Service, aService({ type: 'LoadBalancer', externalTrafficPolicy: 'Local' }))
  await clock.advance(3000)
  assert.deepEqual(ports, [made.spec?.healthCheckNodePort])
  await client.delete(Service, { namespace: 'default', name: 'web' })
  await clock.advance(3000)
  assert.deepEqual(ports, [])
})

test('datagrams to endpoints that are gone are forgotten by the kernel', async () => {
  const flows: Flow[] = []
  await using world = await started(flows)
  const { clock, client, deleted } = world
  const made = await client.create(Service, aService({ ports: [{ port: 53, protocol: 'UDP' }] }))
  const flow = (replySource: string): Flow => ({
    ...{ source: '10.1.0.9', sourcePort: 4000, destination: made.spec?.clusterIP ?? '', destinationPort: 53 },
    ...{ replySource, replySourcePort: 8080 },
  })
  flows.push(flow('10.1.0.1'), flow('10.1.0.2'))
  await client.create(EndpointSlice, aSlice(['10.1.0.1'], 'UDP'))
  await clock.advance(3000)
  assert.equal(deleted.at(-1)?.replySource, '10.1.0.2')
})
