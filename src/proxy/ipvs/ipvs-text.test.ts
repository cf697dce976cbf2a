import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { V1Service, V1ServiceSpec } from '#api/core/v1/types.gen.ts'
import type { V1EndpointSlice } from '#api/discovery/v1/types.gen.ts'
import { defined } from '#base/defined.ts'
import { ipvsSchedulers, ipvsStateOf } from '#proxy/ipvs/ipvs-state.ts'
import { addressText, ipsetText, ipvsadmText, ipvsIptablesText, parseIpvs, setName } from '#proxy/ipvs/ipvs-text.ts'
import { defaultRuleSettings } from '#proxy/rules/rule-settings.ts'
import { ServiceTable } from '#proxy/service-table/service-table.ts'

function stateOf(spec: V1ServiceSpec, addresses: string[], { scheduler = '', status = {} as V1Service['status'] } = {}) {
  const table = new ServiceTable({ name: 'n1', zone: '' })
  table.setService({
    metadata: { namespace: 'default', name: 'web' },
    spec: { clusterIP: '10.96.0.10', clusterIPs: ['10.96.0.10'], ports: [{ port: 80 }], ...spec },
    ...defined({ status }),
  })
  const slice: V1EndpointSlice = {
    metadata: { namespace: 'default', name: 'web-1', labels: { 'kubernetes.io/service-name': 'web' } },
    ...{ addressType: 'IPv4', ports: [{ name: '', port: 8080, protocol: 'TCP' }] },
    endpoints: addresses.map((address) => ({ addresses: [address], nodeName: 'n1' })),
  }
  table.setSlice(slice)
  return ipvsStateOf(table.allPlans(), 'IPv4', scheduler, ['192.0.2.1'])
}

test('a service is a virtual server with a real one for each endpoint, changed by the difference', () => {
  const one = stateOf({}, ['10.1.0.1'])
  const two = stateOf({}, ['10.1.0.2', '10.1.0.1'])
  assert.equal(ipvsadmText(new Map(), one.virtualServers), '-A -t 10.96.0.10:80 -s rr\n-a -t 10.96.0.10:80 -r 10.1.0.1:8080 -m -w 1\n')
  assert.equal(ipvsadmText(one.virtualServers, two.virtualServers), '-a -t 10.96.0.10:80 -r 10.1.0.2:8080 -m -w 1\n')
  assert.equal(ipvsadmText(two.virtualServers, one.virtualServers), '-d -t 10.96.0.10:80 -r 10.1.0.2:8080\n')
  assert.equal(ipvsadmText(one.virtualServers, new Map()), '-D -t 10.96.0.10:80\n')
})

test('what ipvsadm prints is read back, so that another run takes over', () => {
  const state = stateOf({ sessionAffinity: 'ClientIP' }, ['10.1.0.1', '10.1.0.2'])
  const printed = ipvsadmText(new Map(), state.virtualServers)
  assert.equal(ipvsadmText(parseIpvs(printed), state.virtualServers), '')
})

test('clients stay with their endpoint for 10800 seconds unless said otherwise, and every scheduler is handed on', () => {
  assert.match(ipvsadmText(new Map(), stateOf({ sessionAffinity: 'ClientIP' }, []).virtualServers), /-s rr -p 10800/)
  for (const scheduler of ipvsSchedulers) {
    assert.match(ipvsadmText(new Map(), stateOf({}, [], { scheduler }).virtualServers), new RegExp(`-s ${scheduler}\\n`))
  }
})

test('the sets that rules look into', () => {
  const status = { loadBalancer: { ingress: [{ ip: '198.51.100.1' }] } }
  const spec = {
    ...{ type: 'LoadBalancer', externalIPs: ['203.0.113.1'], ports: [{ port: 80, nodePort: 30_080 }] },
    loadBalancerSourceRanges: ['192.0.2.0/24'],
  }
  const { sets, addresses, virtualServers } = stateOf(spec, ['10.1.0.1'], { status })
  const entries = (set: Parameters<typeof sets.get>[0]) => [...(sets.get(set) ?? [])]
  assert.deepEqual(entries('LOOP-BACK'), ['10.1.0.1,tcp:8080,10.1.0.1'])
  assert.deepEqual(entries('CLUSTER-IP'), ['10.96.0.10,tcp:80'])
  assert.deepEqual(entries('EXTERNAL-IP'), ['203.0.113.1,tcp:80'])
  assert.deepEqual(entries('NODE-PORT-TCP'), ['30080'])
  assert.deepEqual(entries('LOAD-BALANCER-SOURCE-CIDR'), ['198.51.100.1,tcp:80,192.0.2.0/24'])
  assert.deepEqual([...addresses], ['10.96.0.10', '203.0.113.1', '198.51.100.1'])
  assert.ok(virtualServers.has('-t 192.0.2.1:30080'))
  const text = ipsetText({ sets }, undefined, 'KUBE', 'IPv4')
  assert.match(text, /create KUBE-LOOP-BACK hash:ip,port,ip family inet/)
  assert.match(text, /create KUBE-NODE-PORT-TCP bitmap:port range 0-65535/)
  assert.equal(ipsetText({ sets }, sets, 'KUBE', 'IPv4'), '')
  assert.equal(
    addressText(new Set(['10.96.0.9']), new Set(['fd00::1']), 'kube-ipvs0').split('\n')[1],
    'address replace fd00::1/128 dev kube-ipvs0',
  )
})

test('rules of iptables do not grow with services, and names of sets are short enough', () => {
  const text = ipvsIptablesText({ ...defaultRuleSettings, podTraffic: { kind: 'cidr', cidrs: ['10.244.0.0/16'] } }, 'KUBE', 'IPv4')
  assert.match(text, /-A KUBE-SERVICES ! -s 10.244.0.0\/16 -m set --match-set KUBE-CLUSTER-IP dst,dst -j KUBE-MARK-MASQ/)
  assert.match(text, /--match-set KUBE-LOOP-BACK dst,dst,src -j MASQUERADE/)
  assert.ok(setName('K123456', 'LOAD-BALANCER-SOURCE-CIDR', 'IPv6').length <= 31)
})
