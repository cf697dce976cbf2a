/** Nodes that tell each other of routes by BGP: BIRD on the real kernel. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { describe, test } from 'node:test'
import { systemClock } from '#base/clock.ts'
import { nodeFiles } from '#base/files.ts'
import { nodeProcesses } from '#base/processes.ts'
import { birdConfig } from '#network/bgp/bird-config.ts'
import { Bird } from '#network/bgp/bird-process.ts'
import type { IpipMode } from '#network/pod-network/ipip.ts'
import { type LabNode, type NetworkLab, openNetworkLab, whyNoLab } from '../../support/network-lab.ts'
import { LabCluster, unreached } from './lab-cluster.ts'

const whyNot = whyNoLab() || (spawnSync('bird', ['--version']).status === 0 ? false : 'not installed: bird2')

/** Nodes of the lab have bridges; with BGP each pod has a route of its own. */
function giveRoutes(lab: NetworkLab): void {
  for (const { run, pod } of lab.nodes) {
    run('ip', 'route', 'add', pod.address, 'dev', 'cni0')
    run('ip', '-6', 'route', 'add', pod.addressV6, 'dev', 'cni0')
  }
}

/** Sessions take a moment; the test's own limit ends the wait. */
async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await holds())) await systemClock.sleep(200)
}

describe('routes between nodes by BGP', { skip: whyNot, timeout: 120_000 }, () => {
  test('blocks of all nodes are known on each, pods reach pods, a restart keeps routes, leaving takes them away', async () => {
    using lab = openNetworkLab()
    giveRoutes(lab)
    await using cluster = new LabCluster(lab)
    const before = lab.nodes.map(({ run }) => run('ip', 'route'))
    await cluster.start('bgp')
    await until(async () => (await unreached(lab)).length === 0)
    const routes = lab.nodes[0]?.run('ip', 'route') ?? ''
    assert.match(routes, /10\.50\.2\.64\/26 via 172\.31\.0\.12 dev eth0 proto bird/)
    assert.match(routes, /blackhole 10\.50\.1\.0\/26 proto bird/)
    await cluster.stop()
    assert.deepEqual(await unreached(lab), [], 'while no agent runs')
    await cluster.start('bgp')
    assert.deepEqual(await unreached(lab), [])
    const [, , third] = lab.nodes
    third?.cut()
    assert.equal((await unreached(lab, { families: 1 })).length, 4)
    third?.join()
    await until(async () => (await unreached(lab)).length === 0)
    await cluster.remove('n3')
    await until(() => !(lab.nodes[0]?.run('ip', 'route') ?? '').includes('10.50.3.'))
    await cluster.leave()
    assert.deepEqual(
      lab.nodes.map(({ run }) => run('ip', 'route')),
      before,
    )
  })

  test('with a reflector nodes speak to it alone, and pods reach pods by the straight way', async () => {
    using lab = openNetworkLab()
    giveRoutes(lab)
    await using cluster = new LabCluster(lab)
    await cluster.annotate('n2', { 'projectcalico.org/RouteReflectorClusterID': '1.0.0.1' })
    await cluster.start('bgp')
    await until(async () => (await unreached(lab)).length === 0)
    const [first] = lab.nodes
    assert.match(first?.run('ip', 'route') ?? '', /10\.50\.3\.0\/26 via 172\.31\.0\.13 dev eth0 proto bird/)
    const sessions = first?.run('birdc', '-s', `${lab.directory}/n1/bird.ctl`, 'show', 'protocols') ?? ''
    assert.equal(sessions.match(/BGP .*Established/g)?.length, 2, sessions)
  })

  test('objects of Calico: a peer outside is told of blocks and services, and the mesh may be switched off', async () => {
    using lab = openNetworkLab({ nodes: 2 })
    giveRoutes(lab)
    await using cluster = new LabCluster(lab, { families: 1 })
    const asNumber = 64_600
    cluster.calico = {
      pools: [],
      peers: [{ metadata: { name: 'router' }, spec: { peerIP: '172.31.0.1', asNumber, keepOriginalNextHop: false } }],
      configurations: [
        { metadata: { name: 'default' }, spec: { nodeToNodeMeshEnabled: false, serviceClusterIPs: [{ cidr: '10.96.0.0/16' }] } },
      ],
    }
    const router = new Bird({
      ...{ directory: `${lab.directory}/router`, files: nodeFiles, processes: nodeProcesses, clock: systemClock },
      namespace: `/run/netns/${lab.hub}`,
    })
    const uplink = { interface: 'sw', mtu: 1500, address: '172.31.0.1', range: '172.31.0.0/24' }
    const peers = lab.nodes.map(({ name, address }) => ({ name, address, asNumber: 64_512, isReflectorClient: false }))
    try {
      await router.tell(birdConfig({ asNumber, uplink, podCidrs: ['10.200.0.0/26'], peers, reflectorClusterId: undefined, tunnelled: [] }))
      await cluster.start('bgp')
      const routes = () => lab.run('ip', 'route')
      await until(
        () => /10\.50\.1\.0\/26 via 172\.31\.0\.11 .*proto bird/.test(routes()) && routes().includes('10.50.2.0/26 via 172.31.0.12'),
      )
      await until(() => /10\.96\.0\.0\/16 .*proto bird/.test(routes()))
      const ofNode = lab.nodes[0]?.run('ip', 'route') ?? ''
      assert.doesNotMatch(ofNode, /10\.96\.0\.0/, 'the node itself goes on as before')
      const sessions = lab.nodes[0]?.run('birdc', '-s', `${lab.directory}/n1/bird.ctl`, 'show', 'protocols') ?? ''
      assert.equal(sessions.match(/ BGP /g)?.length, 1, sessions)
    } finally {
      await router.stop()
    }
  })

  test('with IPIP routes lead into the tunnel by way of the node, always or only beyond the own subnet', async () => {
    using lab = openNetworkLab({ nodes: 2 })
    // Any device does to see where routes lead: not every kernel has tunnels of this kind.
    for (const { run } of lab.nodes) run('sh', '-ec', 'ip link add tunl0 type bridge; ip link set tunl0 up')
    const [first, second] = lab.nodes
    const tell = async (mode: Exclude<IpipMode, 'Never'>, range: string) => {
      for (const node of lab.nodes) {
        const peer = node === first ? second : first
        const uplink = { interface: 'eth0', mtu: 1500, address: node.address, range }
        const peers = [{ name: 'other', address: peer?.address ?? '', asNumber: 64512, isReflectorClient: false }]
        const podCidrs = node.podCidrs.slice(0, 1)
        const tunnelled = [{ cidr: '10.50.0.0/16', mode }]
        const text = birdConfig({ asNumber: 64512, uplink, podCidrs, peers, reflectorClusterId: undefined, tunnelled })
        await birdOf(lab, node).tell(text)
      }
    }
    const routes = () => first?.run('ip', 'route') ?? ''
    try {
      await tell('Always', '172.31.0.0/24')
      await until(() => /10\.50\.2\.0\/26 via 172\.31\.0\.12 dev tunl0 proto bird.* onlink/.test(routes()))
      assert.match(routes(), /blackhole 10\.50\.1\.0\/26 proto bird/)
      await tell('CrossSubnet', '172.31.0.0/24')
      await until(() => /10\.50\.2\.0\/26 via 172\.31\.0\.12 dev eth0 proto bird/.test(routes()))
      await tell('CrossSubnet', '172.31.9.0/24')
      await until(() => /10\.50\.2\.0\/26 via 172\.31\.0\.12 dev tunl0 proto bird.* onlink/.test(routes()))
    } finally {
      for (const node of lab.nodes) await birdOf(lab, node).stop()
    }
  })
})

function birdOf(lab: NetworkLab, { name, namespace }: LabNode): Bird {
  const seams = { files: nodeFiles, processes: nodeProcesses, clock: systemClock }
  return new Bird({ ...seams, directory: `${lab.directory}/${name}`, namespace: `/run/netns/${namespace}` })
}
