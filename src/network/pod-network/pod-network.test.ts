import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { V1Node } from '#api/core/v1/types.gen.ts'
import type { Link } from '#network/kernel/ip-tool.ts'
import { planOf, podMtu, wordsOf } from '#network/pod-network/backend-plan.ts'
import { chooseUplink } from '#network/pod-network/choose-uplink.ts'
import { difference, type KernelState } from '#network/pod-network/difference.ts'
import { annotationsOf, areSaid, peerOf } from '#network/pod-network/flannel-annotations.ts'
import { defaultBackend, parseNetConf } from '#network/pod-network/net-conf.ts'
import { emptyPlan, type Peer, type Uplink } from '#network/pod-network/plan.ts'
import { parseSubnetEnv, subnetEnvText } from '#network/pod-network/subnet-env.ts'

const uplink: Uplink = { interface: 'eth0', mtu: 1500, address: '192.0.2.1', range: '192.0.2.0/24' }
const own: Peer = { name: 'a', podCidrs: ['10.1.1.0/24'], addresses: ['192.0.2.1'] }
const mac = '02:00:00:00:00:02'
const other: Peer = {
  name: 'b',
  podCidrs: ['10.1.2.0/24'],
  addresses: ['192.0.2.2'],
  backend: { type: 'vxlan', data: { VNI: 1, VtepMAC: mac }, dataV6: {} },
}
const nothing: KernelState = { links: [], routes: [], neighbours: [], forwarding: [], ownDevices: [] }

test('host-gw has a route by way of each neighbour, and names the nodes that are none', () => {
  const far = { ...other, name: 'far', addresses: ['198.51.100.1'], podCidrs: ['10.1.3.0/24'] }
  const plan = planOf(defaultBackend('host-gw'), uplink, own, [other, far])
  assert.deepEqual(plan.routes, [{ to: '10.1.2.0/24', via: '192.0.2.2', device: 'eth0' }])
  assert.match(plan.problems.join(), /^node far \(198\.51\.100\.1\) is no neighbour on eth0/)
})

test('vxlan has a device as Flannel makes it, with static entries for each node', () => {
  const plan = planOf(defaultBackend('vxlan'), uplink, own, [other])
  const { mac: ownMac, ...link } = plan.links[0] ?? assert.fail()
  assert.match(ownMac ?? '', /^.[26ae]:/)
  const type = 'type vxlan id 1 dev eth0 local 192.0.2.1 dstport 8472 nolearning'
  assert.deepEqual(link, { name: 'flannel.1', type, mtu: 1450, addresses: ['10.1.1.0/32'] })
  assert.deepEqual(plan.routes, [{ to: '10.1.2.0/24', via: '10.1.2.0', device: 'flannel.1', isOnLink: true }])
  assert.deepEqual(plan.neighbours, [{ address: '10.1.2.0', device: 'flannel.1', mac }])
  assert.deepEqual(plan.forwarding, [{ mac, device: 'flannel.1', address: '192.0.2.2' }])
  const silent = planOf(defaultBackend('vxlan'), uplink, own, [{ name: 'c', podCidrs: ['10.1.3.0/24'], addresses: ['192.0.2.3'] }])
  assert.match(silent.problems.join(), /node c has not said yet/)
})

test('with direct routing neighbours are reached by routes and the others by the device', () => {
  const far = { ...other, name: 'far', addresses: ['198.51.100.1'], podCidrs: ['10.1.3.0/24'] }
  const plan = planOf({ ...defaultBackend('vxlan'), directRouting: true }, uplink, own, [other, far])
  assert.deepEqual(
    plan.routes.map(({ to, device }) => [to, device]),
    [
      ['10.1.2.0/24', 'eth0'],
      ['10.1.3.0/24', 'flannel.1'],
    ],
  )
})

test('packets of pods leave room for what they are wrapped in', () => {
  const mtu = (type: 'host-gw' | 'vxlan', cidrs = own.podCidrs) => podMtu(defaultBackend(type), uplink, cidrs)
  assert.deepEqual([mtu('host-gw'), mtu('vxlan'), mtu('vxlan', ['fd00::/64'])], [1500, 1450, 1430])
  assert.equal(podMtu({ ...defaultBackend('vxlan'), mtu: 1400 }, uplink, own.podCidrs), 1400)
})

test('only the difference is changed, and what a removed device held is not removed again', () => {
  const plan = planOf(defaultBackend('vxlan'), uplink, own, [other])
  const first = difference(plan, nothing)
  assert.equal(first.ip.length, 5)
  assert.deepEqual(first.bridge, [`fdb append ${mac} dev flannel.1 dst 192.0.2.2 self permanent`])
  const link: Link = {
    ...{ ifname: 'flannel.1', ifindex: 7, flags: ['UP'], mtu: 1450, address: plan.links[0]?.mac ?? '' },
    linkinfo: { info_kind: 'vxlan', info_data: { id: 1, link: 'eth0', local: '192.0.2.1', port: 8472 } },
    addr_info: [{ family: 'inet', local: '10.1.1.0', prefixlen: 32, scope: 'global' }],
  }
  const state: KernelState = {
    links: [link],
    routes: [{ dst: '10.1.2.0/24', gateway: '10.1.2.0', dev: 'flannel.1', protocol: '84', flags: ['onlink'] }],
    neighbours: [{ dst: '10.1.2.0', dev: 'flannel.1', lladdr: mac, state: ['PERMANENT'] }],
    forwarding: [{ mac, ifname: 'flannel.1', dst: '192.0.2.2' }],
    ownDevices: ['flannel.1'],
  }
  assert.deepEqual(difference(plan, state), { ip: [], bridge: [] })
  assert.deepEqual(difference(emptyPlan, state), { ip: ['link delete flannel.1'], bridge: [] })
  assert.deepEqual(difference(emptyPlan, { ...state, ownDevices: [] }).ip, ['route delete 10.1.2.0/24 via 10.1.2.0 dev flannel.1 proto 84'])
  const moved = { ...uplink, address: '192.0.2.9' }
  assert.deepEqual(difference(planOf(defaultBackend('vxlan'), moved, own, [other]), state).ip.slice(0, 2), [
    'link delete flannel.1',
    `link add flannel.1 address ${plan.links[0]?.mac} mtu 1450 type vxlan id 1 dev eth0 local 192.0.2.9 dstport 8472 nolearning`,
  ])
  const gone = difference(planOf(defaultBackend('vxlan'), uplink, own, []), state)
  assert.deepEqual(gone.ip, ['neighbour delete 10.1.2.0 dev flannel.1', 'route delete 10.1.2.0/24 via 10.1.2.0 dev flannel.1 proto 84'])
  assert.deepEqual(gone.bridge, [`fdb delete ${mac} dev flannel.1 dst 192.0.2.2 self`])
})

test("a node says of itself what Flannel's nodes say, and is understood", () => {
  const said = annotationsOf(wordsOf(defaultBackend('vxlan'), uplink, own))
  assert.equal(said['flannel.alpha.coreos.com/backend-type'], 'vxlan')
  assert.equal(said['flannel.alpha.coreos.com/kube-subnet-manager'], 'true')
  assert.equal(said['flannel.alpha.coreos.com/public-ip'], '192.0.2.1')
  assert.match(said['flannel.alpha.coreos.com/backend-data'] ?? '', /^\{"VNI":1,"VtepMAC":"[0-9a-f:]{17}"\}$/)
  const annotations = Object.fromEntries(Object.entries(said).filter(([, value]) => value !== null)) as Record<string, string>
  const node = { metadata: { name: 'a', annotations }, spec: { podCIDRs: ['10.1.1.0/24'] } } as unknown as V1Node
  assert.ok(areSaid(said, node))
  assert.deepEqual(peerOf(node)?.addresses, ['192.0.2.1'])
  assert.equal(peerOf(node)?.backend?.data.VNI, 1)
  const hostile = { 'flannel.alpha.coreos.com/backend-type': 'vxlan', 'flannel.alpha.coreos.com/backend-data': '{"VtepMAC":"x; reboot"}' }
  assert.deepEqual(peerOf({ ...node, metadata: { name: 'a', annotations: hostile } })?.backend?.data, {})
  assert.equal(peerOf({ metadata: { name: 'new' } } as V1Node), undefined)
})

test('net-conf is read as Flannel reads it, and what is wrong with it is said', () => {
  const conf = parseNetConf('{"Network":"10.244.0.0/16","SubnetLen":26,"Backend":{"Type":"vxlan","VNI":7,"DirectRouting":true}}')
  assert.deepEqual(conf.networks, ['10.244.0.0/16'])
  assert.equal(conf.subnetLengths.ipv4, 26)
  assert.deepEqual(conf.backend, { ...defaultBackend('vxlan'), vni: 7, directRouting: true })
  assert.throws(() => parseNetConf('{"Network":"here"}'), /Network is no range/)
  assert.throws(() => parseNetConf('{"Network":"10.0.0.0/8","Backend":{"Type":"magic"}}'), /no backend "magic"/)
  assert.throws(() => parseNetConf('{"Network":"10.0.0.0/24","SubnetLen":24}'), /must be longer/)
})

test('subnet.env says what it is told, and is read again', () => {
  const env = { networks: ['10.244.0.0/16', 'fd00::/48'], subnets: ['10.244.3.0/24', 'fd00:0:0:3::/64'], mtu: 1450, masquerades: true }
  const text = subnetEnvText(env)
  assert.match(text, /^FLANNEL_NETWORK=10\.244\.0\.0\/16\nFLANNEL_SUBNET=10\.244\.3\.1\/24\n/)
  assert.match(text, /FLANNEL_IPV6_SUBNET=fd00:0:0:3::1\/64\nFLANNEL_MTU=1450\nFLANNEL_IPMASQ=true\n$/)
  assert.deepEqual(parseSubnetEnv(text), { ...env, subnets: ['10.244.3.1/24', 'fd00:0:0:3::1/64'] })
  assert.throws(() => parseSubnetEnv('FLANNEL_NETWORK=10.0.0.0/8\n'), /lacks FLANNEL_SUBNET, FLANNEL_MTU, FLANNEL_IPMASQ/)
})

test('the interface is the one asked for by name, address or expression, else that of the default route', () => {
  const link = (ifname: string, local: string): Link => ({
    ...{ ifname, ifindex: 1, flags: ['UP'], mtu: 1500 },
    addr_info: [{ family: 'inet', local, prefixlen: 24, scope: 'global' }],
  })
  const links = [link('lo', '127.0.0.1'), link('eth0', '192.0.2.1'), link('eth1', '198.51.100.7')]
  const routes = [{ dst: 'default', dev: 'eth0' }]
  const chosen = (options: Parameters<typeof chooseUplink>[2]) => chooseUplink(links, routes, options).interface
  assert.equal(chosen({}), 'eth0')
  assert.equal(chosen({ interfaces: ['eth9', 'eth1'] }), 'eth1')
  assert.equal(chosen({ interfaces: ['198.51.100.7'] }), 'eth1')
  assert.equal(chosen({ expressions: ['^198\\.'] }), 'eth1')
  assert.equal(chosen({ address: '198.51.100.7' }), 'eth1')
  assert.throws(() => chosen({ interfaces: ['eth9'] }), /no interface eth9/)
  assert.equal(chooseUplink(links, routes).range, '192.0.2.0/24')
})

test('what a node says of itself is addresses and ranges, and nothing else', () => {
  const evil = '192.0.2.9 self\nfdb flush dev eth0'
  const node = (annotations: Record<string, string>, internal: string[], podCIDRs = ['10.1.2.3/24']): V1Node => ({
    metadata: { name: 'b', annotations },
    spec: { podCIDR: podCIDRs[0] ?? '', podCIDRs },
    status: { addresses: internal.map((address) => ({ type: 'InternalIP', address })) },
  })
  const flannel = 'flannel.alpha.coreos.com'
  assert.deepEqual(peerOf(node({ [`${flannel}/public-ip`]: evil }, ['192.0.2.2', 'fd00::2'])), {
    ...{ name: 'b', podCidrs: ['10.1.2.0/24'], addresses: ['192.0.2.2', 'fd00::2'] },
  })
  assert.deepEqual(peerOf(node({ [`${flannel}/public-ip-overwrite`]: 'x', [`${flannel}/public-ip`]: '192.0.2.3' }, ['::x']))?.addresses, [
    '192.0.2.3',
  ])
  assert.deepEqual(peerOf(node({ [`${flannel}/public-ipv6`]: '192.0.2.3' }, ['999.0.2.2']))?.addresses, [])
  assert.equal(peerOf(node({}, ['192.0.2.2'], ['10.1.2.0/24\nx', '10.1.2.0/99'])), undefined)
  const tunnel = { 'projectcalico.org/IPv4IPIPTunnelAddr': '10.1.999.1', 'projectcalico.org/RouteReflectorClusterID': '300.0.0.1' }
  assert.deepEqual(peerOf(node(tunnel, ['192.0.2.2'])), { name: 'b', podCidrs: ['10.1.2.0/24'], addresses: ['192.0.2.2'] })
})
