import assert from 'node:assert/strict'
import { test } from 'node:test'
import { serviceResource } from '#api/core/v1/service/service.ts'
import type { V1Service, V1ServiceSpec } from '#api/core/v1/types.gen.ts'
import { tryCreate, tryRow, tryUpdate } from '#api/testing/try-kind.ts'

const metadata = { name: 'a', namespace: 'default', resourceVersion: '1' }
const ports = [{ port: 80 }]
const service = (spec: object): V1Service => ({
  metadata,
  spec: { ports, clusterIP: '10.0.0.1', clusterIPs: ['10.0.0.1'], ...spec } as V1ServiceSpec,
})
const errorsOf = (spec: object) => tryCreate(serviceResource, service(spec)).errors
const stored = (spec: object) => tryCreate(serviceResource, service(spec)).object

test('services are validated in the words clients know', () => {
  const cases: [string, object, string[]][] = [
    ['a plain one', {}, []],
    ['no ports', { ports: [] }, ['ports: Required value']],
    ['headless without ports', { clusterIP: 'None', clusterIPs: ['None'], ports: [] }, []],
    ['two ports without names', { ports: [{ port: 1 }, { port: 2 }] }, ['ports[0].name: Required value', 'ports[1].name: Required value']],
    [
      'a port twice',
      {
        ports: [
          { name: 'a', port: 1 },
          { name: 'b', port: 1 },
        ],
      },
      ['ports[1]: Duplicate value: {"Name":"","Protocol":"TCP","AppProtocol":null,"Port":1,"TargetPort":0,"NodePort":0}'],
    ],
    [
      'a port of zero',
      { ports: [{ port: 0, targetPort: 1 }] },
      ['ports[0].port: Invalid value: 0: must be between 1 and 65535, inclusive'],
    ],
    [
      'an unknown type',
      { type: 'Magic' },
      ['type: Unsupported value: "Magic": supported values: "ClusterIP", "ExternalName", "LoadBalancer", "NodePort"'],
    ],
    [
      'a node port in vain',
      { ports: [{ port: 1, nodePort: 30000 }] },
      ["ports[0].nodePort: Forbidden: may not be used when `type` is 'ClusterIP'"],
    ],
    ['an alias of nothing', { type: 'ExternalName', clusterIP: '', clusterIPs: [] }, ['externalName: Required value']],
    [
      'an alias with an address',
      { type: 'ExternalName', externalName: 'x.example.com' },
      ['clusterIPs: Forbidden: may not be set for ExternalName services'],
    ],
    ['an address twice', { clusterIPs: ['10.0.0.2'] }, ['clusterIPs: Invalid value: ["10.0.0.2"]: first value must match `clusterIP`']],
    [
      'an address that is none',
      { clusterIP: 'x', clusterIPs: ['x'] },
      ['clusterIPs[0]: Invalid value: "x": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)'],
    ],
    [
      'an affinity too long',
      { sessionAffinity: 'ClientIP', sessionAffinityConfig: { clientIP: { timeoutSeconds: 100000 } } },
      ['sessionAffinityConfig.clientIP.timeoutSeconds: Invalid value: 100000: must be greater than 0 and less than 86400'],
    ],
    [
      'an address of the node itself',
      { externalIPs: ['127.0.0.1'] },
      ['externalIPs[0]: Invalid value: "127.0.0.1": may not be in the loopback range (127.0.0.0/8, ::1/128)'],
    ],
    [
      'a policy in vain',
      { externalTrafficPolicy: 'Local' },
      ['externalTrafficPolicy: Invalid value: "Local": may only be set for externally-accessible services'],
    ],
    [
      'ranges in vain',
      { loadBalancerSourceRanges: ['10.0.0.0/8'] },
      ["LoadBalancerSourceRanges: Forbidden: may only be used when `type` is 'LoadBalancer'"],
    ],
    [
      'a range with bits too many',
      { type: 'LoadBalancer', loadBalancerSourceRanges: ['10.0.0.1/8'] },
      ['LoadBalancerSourceRanges[0]: Invalid value: "10.0.0.1/8": must not have bits set beyond the prefix length'],
    ],
    [
      'a class in vain',
      { loadBalancerClass: 'example.com/x' },
      ["loadBalancerClass: Forbidden: may only be used when `type` is 'LoadBalancer'"],
    ],
    [
      'an unknown distribution',
      { trafficDistribution: 'Far' },
      ['trafficDistribution: Unsupported value: "Far": supported values: "PreferClose", "PreferSameZone", "PreferSameNode"'],
    ],
    [
      'families that do not fit',
      { ipFamilies: ['IPv6'] },
      ['clusterIPs[0]: Invalid value: "10.0.0.1": expected an IPv6 value as indicated by `ipFamilies[0]`'],
    ],
  ]
  for (const [name, spec, errors] of cases)
    assert.deepEqual(
      errorsOf(spec),
      errors.map((error) => `spec.${error}`),
      name,
    )
  assert.deepEqual(tryCreate(serviceResource, { ...service({}), metadata: { ...metadata, name: '1a' } }).errors, [])
})

test('a service gets what nobody wants to write', () => {
  const { sessionAffinity, type, ports: given, internalTrafficPolicy } = stored({}).spec
  assert.deepEqual([sessionAffinity, type, internalTrafficPolicy], ['None', 'ClusterIP', 'Cluster'])
  assert.deepEqual(given, [{ port: 80, protocol: 'TCP', targetPort: 80 }])
  assert.equal(stored({ type: 'LoadBalancer' }).spec.allocateLoadBalancerNodePorts, true)
  assert.equal(stored({ type: 'NodePort' }).spec.externalTrafficPolicy, 'Cluster')
  assert.deepEqual(stored({ sessionAffinity: 'ClientIP' }).spec.sessionAffinityConfig, { clientIP: { timeoutSeconds: 10800 } })
})

test('addresses stay, and what belonged to an old type goes with it', () => {
  const update = (before: object, after: object) => tryUpdate(serviceResource, stored(before), service(after))
  assert.deepEqual(update({}, { clusterIP: '10.0.0.2', clusterIPs: ['10.0.0.2'] }).errors, [
    'spec.clusterIPs[0]: Invalid value: ["10.0.0.2"]: may not change once set',
  ])
  const balanced = { type: 'LoadBalancer', loadBalancerClass: 'example.com/a' }
  assert.deepEqual(update(balanced, { type: 'LoadBalancer', loadBalancerClass: 'example.com/b' }).errors, [
    'spec.loadBalancerClass: Invalid value: "example.com/b": may not change once set',
  ])
  const plain = update(
    { type: 'NodePort', ports: [{ port: 80, nodePort: 30000 }] },
    { type: 'ClusterIP', externalTrafficPolicy: 'Cluster', ports: [{ port: 80, nodePort: 30000 }] },
  )
  assert.deepEqual(plain.errors, [])
  assert.equal(plain.object.spec.ports?.[0]?.nodePort, undefined)
  assert.equal(plain.object.spec.externalTrafficPolicy, undefined)
  const alias = update({}, { type: 'ExternalName', externalName: 'x.example.com' })
  assert.deepEqual([alias.errors, alias.object.spec.clusterIP], [[], undefined])
})

test('a balancer says where it can be reached', () => {
  const prev = stored({ type: 'LoadBalancer' })
  const update = (ingress: object[]) =>
    tryUpdate(serviceResource, prev, { ...prev, status: { loadBalancer: { ingress } } }, { subresource: 'status' }).errors
  assert.deepEqual(update([{ ip: '1.2.3.4' }]), [])
  assert.deepEqual(update([{ hostname: '1.2.3.4' }]), [
    'status.loadBalancer.ingress[0].hostname: Invalid value: "1.2.3.4": must be a DNS name, not an IP address',
  ])
  assert.deepEqual(update([{ ip: '1.2.3.4', ipMode: 'X' }]), [
    'status.loadBalancer.ingress[0].ipMode: Unsupported value: "X": supported values: "Proxy", "VIP"',
  ])
})

test('warnings', () => {
  assert.deepEqual(tryCreate(serviceResource, service({ trafficDistribution: 'PreferClose' })).warnings, [
    'spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"',
  ])
  assert.deepEqual(tryCreate(serviceResource, service({ externalIPs: ['1.2.3.4'] })).warnings, [
    'spec.externalIPs is deprecated and may no longer be implemented in some clusters',
  ])
})

test('the table shows addresses and ports', () => {
  const row = tryRow(serviceResource, {
    ...stored({ type: 'LoadBalancer', ports: [{ port: 80, nodePort: 30001 }], selector: { b: 'c', a: 'b' } }),
    status: { loadBalancer: { ingress: [{ ip: '1.2.3.4' }] } },
  })
  assert.deepEqual(
    [row['Type'], row['Cluster-IP'], row['External-IP'], row['Port(s)'], row['Selector']],
    ['LoadBalancer', '10.0.0.1', '1.2.3.4', '80:30001/TCP', 'a=b,b=c'],
  )
  assert.equal(tryRow(serviceResource, stored({ type: 'LoadBalancer' }))['External-IP'], '<pending>')
  assert.equal(tryRow(serviceResource, stored({}))['External-IP'], '<none>')
})
