import assert from 'node:assert/strict'
import { test } from 'node:test'
import { birdConfig, meshPeers } from '#network/bgp/bird-config.ts'
import { blocksOf } from '#network/bgp/blocks.ts'
import type { Peer } from '#network/pod-network/plan.ts'

const peer = (name: string, address: string, more: Partial<Peer> = {}): Peer => ({ name, podCidrs: [], addresses: [address], ...more })

test('a node’s piece is announced in blocks of 64 addresses, one of IPv6 as a whole', () => {
  assert.deepEqual(blocksOf('192.168.1.0/24'), ['192.168.1.0/26', '192.168.1.64/26', '192.168.1.128/26', '192.168.1.192/26'])
  assert.deepEqual(blocksOf('192.168.1.64/26'), ['192.168.1.64/26'])
  assert.deepEqual(blocksOf('fd00::/64'), ['fd00::/64'])
})

test('all speak to all; with reflectors, nodes speak to those alone and those to everybody', () => {
  const [a, b, c] = [peer('a', '192.0.2.1'), peer('b', '192.0.2.2'), peer('c', '192.0.2.3', { reflectorClusterId: '1.0.0.1' })]
  const names = (own: Peer, others: Peer[]) =>
    meshPeers(own, others, 64512).map(({ name, isReflectorClient }) => `${name}${isReflectorClient ? '*' : ''}`)
  assert.deepEqual(names(a, [b]), ['b'])
  assert.deepEqual(names(a, [b, c]), ['c'])
  assert.deepEqual(names(c, [a, b]), ['a*', 'b*'])
})

test('BIRD is told of the own blocks and of each peer, in the families that the node has', () => {
  const uplink = { interface: 'eth0', mtu: 1500, address: '192.0.2.1', range: '192.0.2.0/24' }
  const peers = meshPeers(peer('a', '192.0.2.1'), [peer('b', '192.0.2.2'), peer('six', 'fd00::2')], 64512)
  const text = birdConfig({
    asNumber: 64512,
    uplink,
    families: ['IPv4'],
    blocks: ['192.168.1.0/26'],
    peers,
    reflectorClusterId: undefined,
    tunnelled: [],
  })
  assert.match(text, /router id 192\.0\.2\.1;/)
  assert.match(text, /route 192\.168\.1\.0\/26 blackhole;/)
  assert.match(text, /local 192\.0\.2\.1 as 64512; neighbor 192\.0\.2\.2 as 64512;/)
  assert.ok(!text.includes('ipv6') && !text.includes('rr client'))
})

test('routes to other nodes lead into the tunnel: all of them, or those of nodes that are no neighbours', () => {
  const uplink = { interface: 'eth0', mtu: 1500, address: '192.0.2.1', range: '192.0.2.0/24' }
  const settings = {
    asNumber: 64512,
    uplink,
    families: ['IPv4'] as const,
    blocks: ['192.168.1.0/26'],
    peers: [],
    reflectorClusterId: undefined,
  }
  const text = (mode: 'Always' | 'CrossSubnet') => birdConfig({ ...settings, tunnelled: [{ cidr: '192.168.0.0/16', mode }] })
  assert.match(
    text('Always'),
    /if source = RTS_BGP && net ~ \[ 192\.168\.0\.0\/16\+ \] then { ip node = bgp_next_hop; ifname = "tunl0"; onlink = true; gw = node; accept; }/,
  )
  assert.match(text('CrossSubnet'), /\] && ! \(bgp_next_hop ~ 192\.0\.2\.0\/24\) then {/)
})
