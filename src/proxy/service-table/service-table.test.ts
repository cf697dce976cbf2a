import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { V1Service, V1ServiceSpec } from '#api/core/v1/types.gen.ts'
import type { V1Endpoint, V1EndpointSlice } from '#api/discovery/v1/types.gen.ts'
import { ServiceTable } from '#proxy/service-table/service-table.ts'

const node = { name: 'n1', zone: 'z1' }

function aService(spec: V1ServiceSpec, more: Partial<V1Service> = {}): V1Service {
  return {
    metadata: { namespace: 'default', name: 'web' },
    spec: { clusterIP: '10.96.0.10', clusterIPs: ['10.96.0.10'], ports: [{ name: 'http', port: 80, protocol: 'TCP' }], ...spec },
    ...more,
  }
}

function aSlice(endpoints: V1Endpoint[], more: Partial<V1EndpointSlice> = {}): V1EndpointSlice {
  return {
    metadata: { namespace: 'default', name: 'web-1', labels: { 'kubernetes.io/service-name': 'web' } },
    addressType: 'IPv4',
    endpoints,
    ports: [{ name: 'http', port: 8080, protocol: 'TCP' }],
    ...more,
  }
}

const on = (nodeName: string, address: string, more: Partial<V1Endpoint> = {}): V1Endpoint => ({ addresses: [address], nodeName, ...more })
const ending = { conditions: { ready: false, serving: true, terminating: true } }
const unready = { conditions: { ready: false, serving: false, terminating: false } }

function planOf(spec: V1ServiceSpec, endpoints: V1Endpoint[]) {
  const table = new ServiceTable(node)
  table.setService(aService(spec))
  table.setSlice(aSlice(endpoints))
  const [plan] = table.plansOf('default/web').plans
  assert.ok(plan)
  return plan
}

const texts = (outcome: { kind: string; endpoints?: readonly { text: string }[] }) =>
  outcome.kind === 'endpoints' ? outcome.endpoints?.map(({ text }) => text) : outcome.kind

test('a connection goes to the ready endpoints of all nodes', () => {
  const plan = planOf({}, [on('n1', '10.244.1.1'), on('n2', '10.244.2.1'), on('n2', '10.244.2.2', unready)])
  assert.deepEqual(texts(plan.internal), ['10.244.1.1:8080', '10.244.2.1:8080'])
  assert.deepEqual(
    plan.hairpins.map(({ ip }) => ip),
    ['10.244.1.1'],
  )
})

test('endpoints that end are used only while nobody else is ready', () => {
  assert.deepEqual(texts(planOf({}, [on('n1', '10.244.1.1', ending), on('n2', '10.244.2.1')]).internal), ['10.244.2.1:8080'])
  assert.deepEqual(texts(planOf({}, [on('n1', '10.244.1.1', ending), on('n2', '10.244.2.1', unready)]).internal), ['10.244.1.1:8080'])
})

test('a service without endpoints is refused; one without any on this node is dropped where the policy is Local', () => {
  assert.equal(texts(planOf({}, []).internal), 'reject')
  assert.equal(texts(planOf({ internalTrafficPolicy: 'Local' }, [on('n2', '10.244.2.1')]).internal), 'drop')
  assert.equal(texts(planOf({ internalTrafficPolicy: 'Local' }, []).internal), 'reject')
})

test('the internal policy Local keeps to this node; those outside go anywhere', () => {
  const plan = planOf({ internalTrafficPolicy: 'Local', type: 'NodePort', ports: [{ name: 'http', port: 80, nodePort: 30080 }] }, [
    on('n1', '10.244.1.1'),
    on('n2', '10.244.2.1'),
  ])
  assert.deepEqual(texts(plan.internal), ['10.244.1.1:8080'])
  assert.deepEqual(texts(plan.external), ['10.244.1.1:8080', '10.244.2.1:8080'])
})

test('the external policy Local keeps those outside to this node, and lets those inside go anywhere', () => {
  const spec = { externalTrafficPolicy: 'Local', type: 'NodePort', ports: [{ name: 'http', port: 80, nodePort: 30080 }] }
  const plan = planOf(spec, [on('n1', '10.244.1.1', ending), on('n2', '10.244.2.1')])
  assert.deepEqual(texts(plan.internal), ['10.244.2.1:8080'])
  assert.deepEqual(texts(plan.external), ['10.244.1.1:8080'], 'the one that ends is the only one here')
  assert.deepEqual(texts(plan.shortCircuit), ['10.244.2.1:8080'])
  assert.deepEqual(texts(planOf(spec, [on('n2', '10.244.2.1')]).external), 'drop')
})

test('hints narrow the choice where all ready endpoints have them and one is for us', () => {
  const zone = (name: string) => ({ hints: { forZones: [{ name }] } })
  const near = planOf({}, [on('n1', '10.244.1.1', zone('z1')), on('n2', '10.244.2.1', zone('z2'))])
  assert.deepEqual(texts(near.internal), ['10.244.1.1:8080'])
  assert.equal(near.topology, 'PreferSameZone')
  assert.equal(planOf({}, [on('n1', '10.244.1.1', zone('z1')), on('n2', '10.244.2.1')]).topology, 'none', 'one has no hint')
  assert.equal(planOf({}, [on('n2', '10.244.2.1', zone('z2'))]).topology, 'none', 'none is for us')
  const byNode = (name: string) => ({ hints: { forZones: [{ name: 'z1' }], forNodes: [{ name }] } })
  const own = planOf({}, [on('n1', '10.244.1.1', byNode('n1')), on('n2', '10.244.2.1', byNode('n2'))])
  assert.deepEqual(texts(own.internal), ['10.244.1.1:8080'])
  assert.equal(own.topology, 'PreferSameNode')
})

test('both families have plans of their own', () => {
  const table = new ServiceTable(node)
  table.setService(aService({ clusterIPs: ['10.96.0.10', 'fd00::10'], externalIPs: ['192.0.2.1', '2001:db8::1'] }))
  table.setSlice(aSlice([on('n1', '10.244.1.1')]))
  table.setSlice(aSlice([on('n1', 'fd01::1')], { addressType: 'IPv6', metadata: { ...aSlice([]).metadata, name: 'web-6' } }))
  const { plans } = table.plansOf('default/web')
  assert.deepEqual(
    plans.map(({ port, internal }) => [port.clusterIp, port.externalIps, texts(internal)]),
    [
      ['10.96.0.10', ['192.0.2.1'], ['10.244.1.1:8080']],
      ['fd00::10', ['2001:db8::1'], ['[fd01::1]:8080']],
    ],
  )
})

test('headless services, names for names and those of other proxies are left alone', () => {
  for (const service of [
    aService({ clusterIP: 'None', clusterIPs: ['None'] }),
    aService({ type: 'ExternalName', clusterIP: '', clusterIPs: [] }),
    aService({}, { metadata: { namespace: 'default', name: 'web', labels: { 'service.kubernetes.io/service-proxy-name': 'mesh' } } }),
  ]) {
    const table = new ServiceTable(node)
    table.setService(service)
    assert.deepEqual(table.plansOf('default/web').plans, [])
  }
})

test('load balancers: addresses that are ours, whitespace in ranges, everything as none, and the port that is asked', () => {
  const spec = { type: 'LoadBalancer', externalTrafficPolicy: 'Local', healthCheckNodePort: 32_000 }
  const status = { loadBalancer: { ingress: [{ ip: '198.51.100.1' }, { ip: '198.51.100.2', ipMode: 'Proxy' }, { hostname: 'lb' }] } }
  const table = new ServiceTable(node)
  table.setService(aService({ ...spec, loadBalancerSourceRanges: [' 10.0.0.0/8'] }, { status }))
  table.setSlice(aSlice([on('n1', '10.244.1.1'), on('n1', '10.244.1.2', unready)]))
  const { plans, localReady, healthCheckNodePort } = table.plansOf('default/web')
  assert.deepEqual([plans[0]?.port.loadBalancerIps, plans[0]?.port.sourceRanges], [['198.51.100.1'], ['10.0.0.0/8']])
  assert.deepEqual([localReady, healthCheckNodePort], [1, 32_000])
  table.setService(aService({ ...spec, loadBalancerSourceRanges: ['0.0.0.0/0', '10.0.0.0/8'] }, { status }))
  assert.deepEqual(table.plansOf('default/web').plans[0]?.port.sourceRanges, [])
})

test('an address in two slices counts once, and the pod that stays wins', () => {
  const plan = new ServiceTable(node)
  plan.setService(aService({}))
  plan.setSlice(aSlice([on('n1', '10.244.1.1')]))
  plan.setSlice(aSlice([on('n1', '10.244.1.1', ending)], { metadata: { ...aSlice([]).metadata, name: 'web-2' } }))
  assert.deepEqual(texts(plan.plansOf('default/web').plans[0]?.internal ?? { kind: '' }), ['10.244.1.1:8080'])
})

test('only services that may lead elsewhere are looked at again', () => {
  const table = new ServiceTable(node)
  table.setService(aService({}))
  table.setSlice(aSlice([]))
  assert.deepEqual([...table.takeChanged()], ['default/web'])
  assert.deepEqual([...table.takeChanged()], [])
  table.setNode({ name: 'n1', zone: 'z2' })
  assert.deepEqual([...table.takeChanged()], ['default/web'])
  table.deleteService(aService({}))
  table.deleteSlice(aSlice([]))
  assert.deepEqual([...table.takeChanged()], ['default/web'])
  assert.deepEqual([...table.keys()], [])
})

test('addresses are written one way, whichever way a service writes them', () => {
  const [plan] = (() => {
    const table = new ServiceTable(node)
    table.setService(
      aService(
        {
          ...{ type: 'LoadBalancer', clusterIP: 'FD00::0:1', clusterIPs: ['FD00::0:1'] },
          externalIPs: ['2001:DB8:0::1', '2001:db8::1', 'no address', '2001:db8::1%eth0'],
          loadBalancerSourceRanges: ['2001:db8::1/32', ' 2001:DB8::/32 ', '2001:db8::/200'],
        },
        { status: { loadBalancer: { ingress: [{ ip: '2001:db8:0:0::2' }, { ip: '2001:db8::2' }] } } },
      ),
    )
    table.setSlice(aSlice([on('n1', 'FD01::0:5')], { addressType: 'IPv6' }))
    return table.plansOf('default/web').plans
  })()
  const { clusterIp, externalIps, loadBalancerIps, sourceRanges } = plan?.port ?? {}
  assert.deepEqual(
    { clusterIp, externalIps, loadBalancerIps, sourceRanges },
    {
      ...{ clusterIp: 'fd00::1', externalIps: ['2001:db8::1'], loadBalancerIps: ['2001:db8::2'] },
      sourceRanges: ['2001:db8::/32'],
    },
  )
  assert.deepEqual(plan && texts(plan.internal), ['[fd01::5]:8080'])
})

test("nobody gets what is meant for another service's own address", () => {
  const table = new ServiceTable(node)
  const named = (name: string, spec: V1ServiceSpec) => aService(spec, { metadata: { namespace: 'default', name } })
  const outside = () => table.plansOf('default/a').plans.map(({ port }) => port.externalIps)
  table.setService(named('a', { externalIPs: ['10.96.0.1', '192.0.2.1'] }))
  assert.deepEqual(outside(), [['10.96.0.1', '192.0.2.1']])
  table.takeChanged()
  table.setService(named('z', { clusterIP: '10.96.0.1', clusterIPs: ['10.96.0.1'] }))
  assert.deepEqual(outside(), [['192.0.2.1']])
  assert.deepEqual(table.takeChanged(), new Set(['default/z', 'default/a']))
  table.deleteService(named('z', {}))
  assert.deepEqual(outside(), [['10.96.0.1', '192.0.2.1']])
  assert.deepEqual(table.takeChanged(), new Set(['default/z', 'default/a']))
})

test('a service that would be millions of rules is served as far as it goes', () => {
  const table = new ServiceTable(node)
  const ports = Array.from({ length: 20_000 }, (_, index) => ({ name: `p${index}`, port: index + 1, protocol: 'TCP' as const }))
  const externalIPs = Array.from({ length: 20_000 }, (_, index) => `192.${index >> 16}.${(index >> 8) & 255}.${index & 255}`)
  table.setService(aService({ ports, externalIPs }))
  table.setSlice(
    aSlice(
      Array.from({ length: 1000 }, (_, index) => on('n1', `10.244.${index >> 8}.${index & 255}`)),
      { ports },
    ),
  )
  const { plans, omittedPorts } = table.plansOf('default/web')
  assert.equal(plans.length + omittedPorts, 20_000)
  assert.equal(plans.length, 0, 'one port alone has 20 million')
  table.setService(aService({ ports, externalIPs: externalIPs.slice(0, 10) }))
  assert.equal(table.plansOf('default/web').plans.length, 24)
})
