import assert from 'node:assert/strict'
import { test } from 'node:test'
import { planOf, podMtu, wordsOf } from '#network/pod-network/backend-plan.ts'
import { difference, type KernelState } from '#network/pod-network/difference.ts'
import { ipipPlan } from '#network/pod-network/ipip.ts'
import { defaultBackend, parseNetConf } from '#network/pod-network/net-conf.ts'
import { emptyPlan, type Peer, type Uplink } from '#network/pod-network/plan.ts'
import { forwarderSettings } from '#network/pod-network/udp.ts'
import { wireguardDevices } from '#network/pod-network/wireguard.ts'
import { publicKeyOf } from '#network/wireguard/wireguard-tool.ts'

const uplink: Uplink = {
  interface: 'eth0',
  mtu: 1500,
  address: '192.0.2.1',
  range: '192.0.2.0/24',
  addressV6: 'fd02::1',
  rangeV6: 'fd02::/64',
}
const own: Peer = { name: 'a', podCidrs: ['10.1.1.0/24', 'fd00:1::/64'], addresses: ['192.0.2.1', 'fd02::1'] }
const key = 'xTIBA5rboUvnH4htodjb6e697QjLERt1NAB4mZqp8Dg='
const other: Peer = {
  ...{ name: 'b', podCidrs: ['10.1.2.0/24', 'fd00:2::/64'], addresses: ['192.0.2.2', 'fd02::2'] },
  backend: { type: 'wireguard', data: { PublicKey: key }, dataV6: { PublicKey: key } },
}
const nothing: KernelState = { links: [], routes: [], neighbours: [], forwarding: [], ownDevices: [] }

test('udp has a device that a program reads, routes into it, and tells the program of each node', () => {
  const plan = planOf(defaultBackend('udp'), uplink, own, [other])
  assert.deepEqual(difference(plan, nothing).ip, [
    'tuntap add dev flannel0 mode tun',
    'link set flannel0 mtu 1472',
    'address add 10.1.1.0/32 dev flannel0',
    'link set flannel0 up',
    'route replace 10.1.2.0/24 dev flannel0 proto 84',
  ])
  assert.match(plan.problems.join(), /pods fd00:2::\/64 of node b cannot be reached: the backend udp carries IPv4 only/)
  assert.deepEqual(forwarderSettings(uplink, [other], 8285), {
    ...{ device: 'flannel0', at: { host: '192.0.2.1', port: 8285 }, ranges: [{ range: '10.1.2.0/24', address: '192.0.2.2' }] },
  })
})

test('wireguard has a device a family, a route for each node that has said its key, and peers as wg takes them', () => {
  const silent: Peer = { name: 'c', podCidrs: ['10.1.3.0/24'], addresses: ['192.0.2.3'] }
  const plan = planOf(defaultBackend('wireguard'), uplink, own, [other, silent])
  assert.deepEqual(difference(plan, nothing).ip, [
    'link add flannel-wg mtu 1440 type wireguard',
    'address add 10.1.1.0/32 dev flannel-wg',
    'link set flannel-wg up',
    'link add flannel-wg-v6 mtu 1420 type wireguard',
    'address add fd00:1::/128 dev flannel-wg-v6 nodad',
    'link set flannel-wg-v6 up',
    'route replace 10.1.2.0/24 dev flannel-wg proto 84',
    'route replace fd00:2::/64 dev flannel-wg-v6 proto 84',
  ])
  assert.match(plan.problems.join(), /node c has not said yet how its pods 10.1.3.0\/24 are reached by wireguard/)
  const settings = { port: 51_820, keepaliveSeconds: 25, presharedKey: undefined }
  const [ipv4, ipv6] = wireguardDevices(uplink, own, [other, silent], settings, 'SECRET')
  assert.equal(
    ipv4?.configuration,
    `[Interface]\nPrivateKey = SECRET\nListenPort = 51820\n\n[Peer]\nPublicKey = ${key}\nAllowedIPs = 10.1.2.0/24\nEndpoint = 192.0.2.2:51820\nPersistentKeepalive = 25\n`,
  )
  assert.match(ipv6?.configuration ?? '', /AllowedIPs = fd00:2::\/64\nEndpoint = \[fd02::2\]:51821/)
  assert.deepEqual(wordsOf(defaultBackend('wireguard'), uplink, own, key).data, { PublicKey: key })
})

test('a public key is what WireGuard makes of the private one', () => {
  // The second pair of RFC 7748, 6.1.
  const base64 = (hex: string) => Buffer.from(hex, 'hex').toString('base64')
  assert.equal(
    publicKeyOf(base64('5dab087e624a8a4b79e17f8b83800ee66f3bb1292618b6fd1c2f8b27ff88e0eb')),
    base64('de9edb7d7b7dc1b4d35b61c2ece435373f8343c85b78674dadfc7e146f882b4f'),
  )
})

test('IPIP has one tunnel with an address of the node, which the kernel keeps when it is not wanted any more', () => {
  const plan = ipipPlan(uplink, own)
  assert.deepEqual(difference(plan, nothing).ip, [
    'link add tunl0 mtu 1480 type ipip',
    'address add 10.1.1.0/32 dev tunl0',
    'link set tunl0 up',
  ])
  const tunl0 = { ifname: 'tunl0', ifindex: 3, mtu: 1480, flags: ['UP'], linkinfo: { info_kind: 'ipip' } }
  assert.deepEqual(difference(emptyPlan, { ...nothing, links: [tunl0], ownDevices: ['tunl0'] }).ip, [
    'address flush dev tunl0',
    'link set tunl0 down',
  ])
  assert.deepEqual(planOf(defaultBackend('bgp'), uplink, own, [other]), emptyPlan)
})

test('packets of pods leave room for each way of wrapping them', () => {
  const ipv4 = ['10.1.1.0/24']
  assert.equal(podMtu(defaultBackend('udp'), uplink, ipv4), 1472)
  assert.equal(podMtu(defaultBackend('wireguard'), uplink, ipv4), 1440)
  assert.equal(podMtu(defaultBackend('bgp'), uplink, ipv4), 1500)
})

test('net-conf without a backend means udp, as Flannel has it; wireguard has a port, a key and an interval', () => {
  const { backend, subnetLengths } = parseNetConf('{"Network":"10.1.0.0/16","SubnetLen":26}')
  assert.deepEqual([backend.type, backend.port, subnetLengths.ipv4], ['udp', 8285, 26])
  const text = `{"Network":"10.1.0.0/16","Backend":{"Type":"wireguard","ListenPort":4500,"PSK":"${key}","PersistentKeepaliveInterval":9}}`
  const parsed = parseNetConf(text).backend
  assert.deepEqual([parsed.port, parsed.presharedKey, parsed.keepaliveSeconds], [4500, key, 9])
  assert.throws(() => parseNetConf('{"Network":"10.1.0.0/16","Backend":{"Type":"wireguard","PSK":"x"}}'), /PSK is no key/)
})
