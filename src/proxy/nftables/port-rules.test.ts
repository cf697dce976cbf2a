import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { V1Service, V1ServiceSpec } from '#api/core/v1/types.gen.ts'
import type { V1EndpointSlice } from '#api/discovery/v1/types.gen.ts'
import { keepPlaces } from '#proxy/nftables/keep-places.ts'
import { NftablesBackend } from '#proxy/nftables/nftables-backend.ts'
import { defaultRuleSettings } from '#proxy/rules/rule-settings.ts'
import { ServiceTable } from '#proxy/service-table/service-table.ts'

const settings = { ...defaultRuleSettings, podTraffic: { kind: 'cidr' as const, cidrs: ['10.244.0.0/16'] } }

/** Keeps the texts in place of applying them. */
function aBackend() {
  const texts: string[] = []
  const nft = {
    apply: async (text: string) => void texts.push(text),
    check: async () => undefined,
    present: async () => undefined,
    hasChain: async () => true,
    deleteTable: async () => {},
    close() {},
  }
  return { texts, backend: new NftablesBackend({ nft, settings, families: ['IPv4'] }) }
}

function aService(spec: V1ServiceSpec, name = 'web', clusterIP = '10.96.0.10', more: Partial<V1Service> = {}): V1Service {
  return { metadata: { namespace: 'default', name }, spec: { clusterIP, clusterIPs: [clusterIP], ports: [{ port: 80 }], ...spec }, ...more }
}
function aSlice(addresses: string[], name = 'web'): V1EndpointSlice {
  return {
    metadata: { namespace: 'default', name: `${name}-1`, labels: { 'kubernetes.io/service-name': name } },
    ...{ addressType: 'IPv4', ports: [{ name: '', port: 8080, protocol: 'TCP' }] },
    endpoints: addresses.map((address) => ({ addresses: [address], nodeName: 'n1' })),
  }
}

async function changeOf(spec: V1ServiceSpec, addresses: string[], more: Partial<V1Service> = {}): Promise<string> {
  const { texts, backend } = aBackend()
  const table = new ServiceTable({ name: 'n1', zone: '' })
  await backend.sync(table, table.takeChanged(), true)
  table.setService(aService(spec, 'web', '10.96.0.10', more))
  table.setSlice(aSlice(addresses))
  await backend.sync(table, table.takeChanged(), false)
  return texts[1] ?? ''
}

test('a plain service is elements of maps and has no chain of its own', async () => {
  const text = await changeOf({}, ['10.244.0.1', '10.244.0.2'])
  assert.match(text, /add element ip kube-proxy service-ips { 10.96.0.10 \. tcp \. 80 : goto pick-2 }/)
  assert.match(text, /endpoints { 10.96.0.10 \. tcp \. 80 \. 0 : 10.244.0.1 \. 8080, 10.96.0.10 \. tcp \. 80 \. 1 : 10.244.0.2 \. 8080 }/)
  assert.match(text, /hairpin-connections { 10.244.0.1 \. 10.244.0.1 \. tcp \. 8080, /)
  assert.doesNotMatch(text, /chain ip kube-proxy service-/)
})

test('one endpoint that goes is one element and the place of the last', async () => {
  const { texts, backend } = aBackend()
  const table = new ServiceTable({ name: 'n1', zone: '' })
  table.setService(aService({}))
  table.setSlice(aSlice(['10.244.0.1', '10.244.0.2', '10.244.0.3']))
  table.setService(aService({}, 'other', '10.96.0.11'))
  table.setSlice(aSlice(['10.244.0.8', '10.244.0.9'], 'other'))
  await backend.sync(table, table.takeChanged(), true)
  table.setSlice(aSlice(['10.244.0.2', '10.244.0.3']))
  await backend.sync(table, table.takeChanged(), false)
  assert.deepEqual(texts[1]?.trim().split('\n'), [
    'delete element ip kube-proxy hairpin-connections { 10.244.0.1 . 10.244.0.1 . tcp . 8080 }',
    'delete element ip kube-proxy service-ips { 10.96.0.10 . tcp . 80 }',
    'add element ip kube-proxy service-ips { 10.96.0.10 . tcp . 80 : goto pick-2 }',
    'delete element ip kube-proxy endpoints { 10.96.0.10 . tcp . 80 . 2, 10.96.0.10 . tcp . 80 . 0 }',
    'add element ip kube-proxy endpoints { 10.96.0.10 . tcp . 80 . 0 : 10.244.0.3 . 8080 }',
  ])
})

test('as many as can keep their places', () => {
  assert.deepEqual(keepPlaces(['a', 'b', 'c', 'd'], ['a', 'c', 'd']), ['a', 'd', 'c'])
  assert.deepEqual(keepPlaces(['a', 'b'], ['a', 'b', 'c']), ['a', 'b', 'c'])
  assert.deepEqual(keepPlaces([], ['x', 'y']), ['x', 'y'])
  assert.deepEqual(keepPlaces(['a', 'b'], []), [])
})

test('affinity has a set and a chain for each endpoint, with the time of the service', async () => {
  const text = await changeOf({ sessionAffinity: 'ClientIP' }, ['10.244.0.1'])
  assert.match(text, /add set ip kube-proxy affinity-\S+__10.244.0.1\/8080 { type ipv4_addr; flags dynamic,timeout; timeout 10800s; }/)
  assert.match(text, /ip saddr @affinity-\S+ goto endpoint-/)
})

test('the external policy Local sends pods and the node anywhere, others to this node', async () => {
  const text = await changeOf({ type: 'NodePort', externalTrafficPolicy: 'Local', ports: [{ port: 80, nodePort: 30_080 }] }, ['10.244.0.1'])
  const rules = [...text.matchAll(/^add rule ip kube-proxy external-(?!pick)\S+ (.*)$/gm)].map(([, rule = '']) => rule.replace(/-\S+$/, ''))
  assert.deepEqual(rules, [
    'ip saddr 10.244.0.0/16 goto service',
    'fib saddr type local meta mark set meta mark or 0x4000',
    'fib saddr type local goto service',
    'goto local',
  ])
})

test('who may use a load balancer: ranges that overlap are one', async () => {
  const status = { loadBalancer: { ingress: [{ ip: '198.51.100.1' }] } }
  const spec = { type: 'LoadBalancer', loadBalancerSourceRanges: ['10.0.0.0/8', '10.1.0.0/16', '192.0.2.1/32'] }
  assert.match(await changeOf(spec, ['10.244.0.1'], { status }), /ip saddr != { 10.0.0.0-10.255.255.255, 192.0.2.1 } drop/)
})

test('without endpoints the address is refused', async () => {
  const text = await changeOf({}, [])
  assert.match(text, /no-endpoint-services { 10.96.0.10 \. tcp \. 80 : goto reject-chain }/)
  assert.doesNotMatch(text, /service-ips/)
})
