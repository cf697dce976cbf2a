import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { V1NetworkPolicy } from '#api/networking/v1/types.gen.ts'
import { compilePolicy } from '#network/policy/compiled-policy.ts'
import { peerSet, policyChain } from '#network/policy/policy-names.ts'
import type { PolicyPod } from '#network/policy/policy-pod.ts'
import { PolicyTable } from '#network/policy/policy-table.ts'

const aPod = (name: string, ip: string, more: Partial<PolicyPod> = {}): PolicyPod => ({
  ...{ key: `default/${name}`, namespace: 'default', labels: { app: name }, ips: [ip], namedPorts: [], nodeName: 'n1' },
  ...more,
})
const aPolicy = (spec: V1NetworkPolicy['spec'], name = 'p'): V1NetworkPolicy => ({ metadata: { namespace: 'default', name }, spec })

function settled(table: PolicyTable): void {
  table.updated().settle()
}

test('unknown addresses of the node are closed as long as there is any policy', () => {
  const table = new PolicyTable('n1')
  table.setPodCidrs(['10.1.0.0/24', 'fd00::/64'])
  assert.doesNotMatch(table.updated().changes(), /guard ip/)
  settled(table)
  table.setPolicy(compilePolicy(aPolicy({ podSelector: { matchLabels: { app: 'nobody' } } })))
  assert.match(table.updated().changes(), /add rule inet kube-network-policy guard ip daddr 10.1.0.0\/24 ip daddr != @pods4 drop/)
  assert.match(table.updated().changes(), /guard ip6 saddr fd00::\/64 ip6 saddr != @pods6 drop/)
  settled(table)
  table.deletePolicy(compilePolicy(aPolicy({})).key)
  assert.match(table.updated().changes(), /flush chain inet kube-network-policy guard/)
  assert.doesNotMatch(table.updated().changes(), /add rule .* guard/)
})

test('a pod becomes known in the same step as its policies take effect', () => {
  const table = new PolicyTable('n1')
  table.setPolicy(compilePolicy(aPolicy({ podSelector: {} })))
  settled(table)
  table.setPod(aPod('a', '10.1.0.5'))
  const text = table.updated().changes()
  assert.match(text, /add element inet kube-network-policy pods4 { 10.1.0.5 }/)
  assert.match(text, /add element inet kube-network-policy ingress4 { 10.1.0.5 : goto group-ingress-\w+ }/)
})

test('a pod elsewhere is a peer and nothing more, and one change of it is one element', () => {
  const table = new PolicyTable('n1')
  table.setPolicy(compilePolicy(aPolicy({ podSelector: {}, ingress: [{ from: [{ podSelector: { matchLabels: { app: 'b' } } }] }] })))
  table.setPod(aPod('a', '10.1.0.5'))
  settled(table)
  table.setPod(aPod('b', '10.2.0.5', { nodeName: 'n2' }))
  assert.match(table.updated().changes(), /^add element inet kube-network-policy peers4-\w+ { 10.2.0.5 }\n$/)
})

test('policies that mean the same peers share a set, and it goes with the last of them', () => {
  const table = new PolicyTable('n1')
  const spec = { podSelector: {}, ingress: [{ from: [{ podSelector: { matchLabels: { app: 'b' } } }] }] }
  table.setPolicy(compilePolicy(aPolicy(spec, 'p')))
  table.setPolicy(compilePolicy(aPolicy(spec, 'q')))
  assert.equal(
    table
      .updated()
      .changes()
      .match(/add set \S+ \S+ peers4/g)?.length,
    1,
  )
  settled(table)
  table.deletePolicy(compilePolicy(aPolicy(spec, 'p')).key)
  assert.doesNotMatch(table.updated().changes(), /delete set/)
  settled(table)
  table.deletePolicy(compilePolicy(aPolicy(spec, 'q')).key)
  assert.match(table.updated().changes(), /delete set inet kube-network-policy peers4/)
})

test('ports: ranges are merged, protocols kept apart, SCTP too', () => {
  const table = new PolicyTable('n1')
  const ports = [{ port: 80 }, { port: 70, endPort: 90 }, { port: 53, protocol: 'UDP' }, { port: 9, protocol: 'SCTP' }]
  table.setPolicy(compilePolicy(aPolicy({ podSelector: {}, ingress: [{ ports }] })))
  const text = table.updated().changes()
  assert.match(text, /meta nfproto ipv4 tcp dport { 70-90 } accept/)
  assert.match(text, /udp dport { 53 } accept/)
  assert.match(text, /sctp dport { 9 } accept/)
})

test('exceptions of one block do not close what another opens', () => {
  const table = new PolicyTable('n1')
  const from = [{ ipBlock: { cidr: '10.0.0.0/24', except: ['10.0.0.128/25'] } }, { ipBlock: { cidr: '10.0.0.192/26' } }]
  table.setPolicy(compilePolicy(aPolicy({ podSelector: {}, ingress: [{ from }] })))
  assert.match(table.updated().changes(), /blocks4-\S+ { 10.0.0.0-10.0.0.127, 10.0.0.192-10.0.0.255 }/)
})

test('names that anybody may choose are told apart by more of a hash than anybody can match', () => {
  assert.match(policyChain('default/web', 'ingress'), /^ingress-[0-9a-f]{32}-default\/web$/)
  assert.match(peerSet('default||app=web', 4), /^peers4-[0-9a-f]{32}$/)
})

test('however many selectors a rule has, its pods are one set, found in steps', () => {
  const table = new PolicyTable('n1')
  const from = Array.from({ length: 900 }, (_, index) => ({ podSelector: { matchLabels: { app: `a${index}` } } }))
  for (let index = 0; index < 100; index++) table.setPod(aPod(`a${index}`, `10.1.0.${index}`))
  for (let index = 0; index < 500; index++) {
    table.setPod(aPod(`b${index}`, `10.2.${index >> 8}.${index & 255}`, { key: `else/b${index}`, namespace: 'else' }))
  }
  settled(table)
  table.setPolicy(compilePolicy(aPolicy({ podSelector: {}, ingress: [{ from }] })))
  const steps = table.update()
  let count = 0
  while (!steps.next().done) count++
  assert.ok(count >= 200 && count < 300, `${count} steps: one for each pod of the namespace, and those are looked at again`)
  const text = table.updated().changes()
  assert.equal(text.match(/^add set \S+ \S+ peers/gm)?.length, 2)
  assert.match(text, /peers4-\S+ { 10\.1\.0\.0, 10\.1\.0\.1, /)
  assert.equal(text.match(/^add rule .* @peers4/gm)?.length, 1)
  settled(table)
  table.deletePod('default/a7')
  assert.match(table.updated().changes(), /delete element \S+ \S+ peers4-\S+ { 10\.1\.0\.7 }/)
})

test('what is past the most that a policy may have allows nothing', () => {
  const from = Array.from({ length: 20_000 }, (_, index) => ({ podSelector: { matchLabels: { app: `a${index}` } } }))
  const { ingress, omitted } = compilePolicy(aPolicy({ podSelector: {}, ingress: [{ from }, { from: from.slice(0, 5) }, {}] }))
  assert.equal(omitted, 19_005)
  assert.deepEqual(
    ingress?.map((rule) => (rule.action === undefined ? rule.peers?.length : 'none')),
    [1000, 0, undefined],
    'a rule that has lost all its peers lets nobody in',
  )
  const many = compilePolicy(aPolicy({ podSelector: {}, ingress: Array.from({ length: 5000 }, () => ({ ports: [{ port: 80 }] })) }))
  assert.deepEqual([many.ingress?.length, many.omitted], [1000, 4000])
})

test('a named port that other pods have changes those policies that name it', () => {
  const table = new PolicyTable('n1')
  const web = { namedPorts: [{ name: 'web', protocol: 'TCP', port: 80 }] }
  for (const name of ['web', 'dns']) {
    const policy = aPolicy({ podSelector: {}, policyTypes: ['Egress'], egress: [{ ports: [{ port: name }] }] }, name)
    table.setPolicy(compilePolicy(policy))
  }
  settled(table)
  table.setPod(aPod('a', '10.2.0.1', { ...web, nodeName: 'n2' }))
  const text = table.updated().changes()
  assert.equal(text.match(/ports4-/g)?.length, 1)
  assert.match(text, /ports4-\S+ { 10\.2\.0\.1 \. tcp \. 80 }/)
})
