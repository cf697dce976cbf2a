import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { V1Node } from '#api/core/v1/types.gen.ts'
import { calicoBgp, natRanges, noCalicoObjects } from '#network/calico/bgp-settings.ts'
import type { BGPPeer, IPPool } from '#network/calico/definitions.ts'
import { parseCalicoSelector } from '#network/calico/selector.ts'

test('selectors as Calico writes them', () => {
  const labels = { app: 'web', tier: 'front-end', 'example.org/zone': 'a' }
  const rows: [string, boolean][] = [
    ['', true],
    ['all()', true],
    ['global()', false],
    ["app == 'web'", true],
    ['app == "db"', false],
    ["missing != 'x'", true],
    ['has(tier)', true],
    ['!has(tier)', false],
    ["app in {'web', 'db'} && has(example.org/zone)", true],
    ["app not in { 'web' }", false],
    ["missing not in {'web'}", true],
    ["tier starts with 'front' && tier ends with 'end' && tier contains 't-e'", true],
    ["app == 'db' || (app == 'web' && !(tier == 'back'))", true],
    ["app == 'db' || app == 'web' && tier == 'back'", false],
    ['has(toString)', false],
  ]
  for (const [text, expected] of rows) assert.equal(parseCalicoSelector(text).matches(labels), expected, text)
  for (const wrong of ["app = 'web'", 'app ==', 'app == web', 'has(', "a in {'b'", '(all()', 'all() all()', '!'.repeat(100_000)]) {
    assert.throws(() => parseCalicoSelector(wrong), /is no selector of Calico/, wrong.slice(0, 20))
  }
})

const aNode = (name: string, address: string, labels: Record<string, string> = {}, annotations: Record<string, string> = {}): V1Node => ({
  metadata: { name, labels, annotations },
  spec: {},
  status: { addresses: [{ type: 'InternalIP', address }] },
})
const [a, b, rack] = [aNode('a', '192.0.2.1', { rack: '1' }), aNode('b', '192.0.2.2'), aNode('r', '192.0.2.3', { reflector: 'yes' })]
const peer = (name: string, spec: Partial<BGPPeer['spec']>): BGPPeer => ({
  metadata: { name },
  spec: { keepOriginalNextHop: false, ...spec },
})
const pool = (spec: Partial<IPPool['spec']>): IPPool => ({
  metadata: { name: 'p' },
  spec: {
    ...{ cidr: '192.168.0.0/16', ipipMode: 'Never', vxlanMode: 'Never', natOutgoing: true, disabled: false },
    ...{ disableBGPExport: false, nodeSelector: 'all()', ...spec },
  },
})
const nothing = noCalicoObjects

test('without objects all nodes speak to each other, with the usual number', () => {
  const bgp = calicoBgp(nothing, a, [a, b])
  assert.deepEqual([bgp.asNumber, bgp.isMesh, bgp.peers, bgp.tunnelled], [64512, true, [], []])
})

test('peers are for all nodes, for one, or for those with labels; by an address, or by the labels of other nodes', () => {
  const peers = [
    peer('everybody', { peerIP: '198.51.100.1', asNumber: 64_600 }),
    peer('of-b', { node: 'b', peerIP: '198.51.100.2', asNumber: 64_600 }),
    peer('of-rack', { nodeSelector: "rack == '1'", peerIP: '[fd00::1]:1790', asNumber: '1.5', keepOriginalNextHop: true }),
    peer('reflectors', { peerSelector: 'has(reflector)' }),
    peer('wrong', { nodeSelector: 'rack ==', peerIP: '198.51.100.3', asNumber: 1 }),
    peer('empty', { peerIP: '; import all', asNumber: 1 }),
  ]
  const configurations = [{ metadata: { name: 'default' }, spec: { nodeToNodeMeshEnabled: false, asNumber: 64_700 } }]
  const bgp = calicoBgp({ ...nothing, peers, configurations }, a, [a, b, rack])
  assert.equal(bgp.isMesh, false)
  assert.deepEqual(bgp.peers, [
    { name: 'everybody', address: '198.51.100.1', asNumber: 64_600, isReflectorClient: false },
    { name: 'of-rack', address: 'fd00::1', port: 1790, asNumber: 65_541, isReflectorClient: false, keepsNextHop: true },
    { name: 'r', address: '192.0.2.3', asNumber: 64_700, isReflectorClient: false },
  ])
  assert.equal(bgp.problems.length, 2, bgp.problems.join())
  assert.equal(calicoBgp(nothing, aNode('c', '192.0.2.4', {}, { 'projectcalico.org/ASNumber': '65000' }), []).asNumber, 65_000)
})

test('pools say what is wrapped, what others are not told of, and whose pods hide behind their node', () => {
  const pools = [
    pool({ ipipMode: 'CrossSubnet' }),
    pool({ cidr: '10.9.0.0/16', disableBGPExport: true, natOutgoing: false }),
    pool({ cidr: '0.0.0.0/0 ] then reject', ipipMode: 'Always', natOutgoing: false }),
  ]
  const configurations = [{ metadata: { name: 'default' }, spec: { serviceClusterIPs: [{ cidr: '10.96.0.0/16' }] } }]
  const bgp = calicoBgp({ ...nothing, pools, configurations }, a, [a])
  assert.deepEqual(bgp.tunnelled, [{ cidr: '192.168.0.0/16', mode: 'CrossSubnet' }])
  assert.deepEqual([bgp.withheld, bgp.advertised], [['10.9.0.0/16'], ['10.96.0.0/16']])
  assert.deepEqual(natRanges(pools), ['192.168.0.0/16'])
})
