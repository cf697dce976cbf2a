/** Pods reach pods across nodes on the real kernel, by every backend that it supports. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { describe, test } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import type { BackendType, NetConf } from '#network/pod-network/net-conf.ts'
import { type NetworkLab, openNetworkLab, runIn, whyNoLab } from '../../support/network-lab.ts'
import { LabCluster, unreached } from './lab-cluster.ts'

const backends: {
  name: string
  type: BackendType
  settings?: Partial<NetConf['backend']>
  overhead: number
  devices: string[]
  families?: number
}[] = [
  { name: 'host-gw', type: 'host-gw', overhead: 0, devices: [] },
  { name: 'vxlan', type: 'vxlan', overhead: 70, devices: ['flannel.1', 'flannel-v6.1'] },
  {
    name: 'vxlan with direct routing',
    type: 'vxlan',
    settings: { directRouting: true },
    overhead: 70,
    devices: ['flannel.1', 'flannel-v6.1'],
  },
  { name: 'udp', type: 'udp', overhead: 28, devices: ['flannel0'], families: 1 },
]

const hasWireguard = spawnSync('unshare', ['--net', 'ip', 'link', 'add', 'wg', 'type', 'wireguard']).status === 0

/** Links, routes, neighbours that are no accident of the moment. */
const stateOf = (lab: NetworkLab) =>
  lab.nodes.map(({ run }) => [
    run('ip', '-br', 'link')
      .split('\n')
      .map((line) => line.split(/\s+/)[0])
      .sort(),
    run('ip', 'route')
      .split('\n')
      .map((line) => line.replace(' linkdown', ''))
      .sort(),
    run('ip', '-6', 'route', 'show', 'proto', '84'),
    run('ip', 'neigh', 'show', 'nud', 'permanent'),
  ])

describe('the network of pods between nodes', { skip: whyNoLab(), timeout: 600_000 }, () => {
  for (const { name, type, settings, overhead, devices, families = 2 } of backends) {
    test(`${name}: pods reach pods on every node, in ${families === 2 ? 'both families' : 'IPv4'}, full packets unbroken; restart and leave change nothing else`, async () => {
      using lab = openNetworkLab()
      await using cluster = new LabCluster(lab, { families })
      const before = stateOf(lab)
      // Before there is a network, only those of the same node.
      await reached(lab, { families }, acrossNodes(lab, families))

      await cluster.start(type, settings)
      await reached(lab, { families })
      const mtu = 1500 - overhead
      for (const { pod } of lab.nodes) runIn(pod.namespace, ['ip', 'link', 'set', 'eth0', 'mtu', String(mtu)])
      await reached(lab, { families, sizeBytes: mtu - 48 })
      for (const { run } of lab.nodes) {
        assert.equal(fragments(run('cat', '/proc/net/snmp')), 0)
        const links = run('ip', '-br', 'link')
        for (const device of devices) assert.ok(links.includes(device), `${device} in ${links}`)
      }

      const during = stateOf(lab)
      await cluster.stop()
      await reached(lab, { families })
      await cluster.start(type, settings)
      assert.deepEqual(stateOf(lab), during)

      await cluster.leave()
      assert.deepEqual(stateOf(lab), before)
    })

    if (settings !== undefined) continue
    test(`${name}: a node that was cut off and comes back is reached again, one that left is forgotten`, async () => {
      using lab = openNetworkLab()
      await using cluster = new LabCluster(lab, { families })
      await cluster.start(type, settings)
      await reached(lab, { families })
      const [first, , third] = lab.nodes
      third?.cut()
      const beyond = ['n1 to 10.50.3.2', 'n2 to 10.50.3.2', 'n3 to 10.50.1.2', 'n3 to 10.50.2.2']
      await reached(lab, { families: 1 }, beyond)
      third?.join()
      await reached(lab, { families })
      const connected = stateOf(lab)
      await cluster.remove('n3')
      const left = first?.run('ip', 'route') ?? ''
      assert.ok(left.includes('10.50.2.0/24') && !left.includes('10.50.3.0/24'), left)
      assert.notDeepEqual(stateOf(lab), connected)
    })
  }

  test('a device that this kernel does not know is named, and what to do', {
    skip: hasWireguard && 'this kernel has WireGuard',
  }, async () => {
    using lab = openNetworkLab({ nodes: 2 })
    await using cluster = new LabCluster(lab)
    const said = await cluster.startWithProblem('wireguard')
    assert.match(said, /this kernel has no devices of type wireguard \(modprobe wireguard\); choose another --pod-network, such as vxlan/)
    const data = cluster.annotationsOf('n1')['flannel.alpha.coreos.com/backend-data'] ?? ''
    assert.match(data, /^{"PublicKey":"[A-Za-z0-9+/]{43}="}$/)
  })

  test('another backend after a restart takes the place of the one before', async () => {
    using lab = openNetworkLab({ nodes: 2 })
    await using cluster = new LabCluster(lab, { families: 1 })
    for (const type of ['vxlan', 'udp', 'host-gw'] as const) {
      await cluster.start(type)
      await reached(lab, { families: 1 })
      const links = lab.nodes[0]?.run('ip', '-br', 'link') ?? ''
      assert.equal(links.includes('flannel.1'), type === 'vxlan')
      assert.equal(links.includes('flannel0'), type === 'udp')
      assert.equal(cluster.annotationsOf('n1')['flannel.alpha.coreos.com/backend-type'], type)
      await cluster.stop()
    }
  })

  test('what somebody has taken away is there again after the next look', async () => {
    using lab = openNetworkLab({ nodes: 2 })
    await using cluster = new LabCluster(lab)
    await cluster.start('vxlan')
    const during = stateOf(lab)
    lab.nodes[0]?.run('ip', 'link', 'delete', 'flannel.1')
    lab.nodes[1]?.run('ip', 'route', 'delete', '10.50.1.0/24')
    await cluster.settled()
    await reached(lab)
    assert.deepEqual(stateOf(lab), during)
  })
})

/**
 * All but those that are named. Neighbours take a moment to be found, IPv6 a second to be sure of its own addresses, and a busy machine its
 * time for any answer.
 */
async function reached(lab: NetworkLab, options: { families?: number; sizeBytes?: number } = {}, except: string[] = []): Promise<void> {
  const endMs = performance.now() + 60_000
  let missing = await unreached(lab, options)
  while (!isDeepStrictEqual(missing, except) && performance.now() < endMs) missing = await unreached(lab, options)
  assert.deepEqual(missing, except)
}

/** From each pod to those of the other nodes. */
const acrossNodes = ({ nodes }: NetworkLab, families: number): string[] =>
  nodes
    .flatMap((from) =>
      nodes
        .filter((to) => to !== from)
        .flatMap(({ pod }) => [pod.address, pod.addressV6].slice(0, families).map((address) => `${from.name} to ${address}`)),
    )
    .sort()

function fragments(snmp: string): number {
  const [names = [], values = []] = snmp
    .split('\n')
    .filter((line) => line.startsWith('Ip:'))
    .map((line) => line.split(' '))
  return Number(values[names.indexOf('FragCreates')])
}
