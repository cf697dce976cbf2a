/** Nodes that tell each other of routes by BGP: BIRD on the real kernel. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { describe, test } from 'node:test'
import { systemClock } from '#base/clock.ts'
import { nodeFiles } from '#base/files.ts'
import { nodeProcesses } from '#base/processes.ts'
import { birdConfig } from '#network/bgp/bird-config.ts'
import { Bird } from '#network/bgp/bird-process.ts'
import { blocksOf } from '#network/bgp/blocks.ts'
import { noCalicoObjects } from '#network/calico/bgp-settings.ts'
import { IPAMBlock } from '#network/calico/definitions.ts'
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

/** Whether a bridge has a port that is up is found out a moment later, and no matter here. */
const routesOf = (lab: NetworkLab): string[] => lab.nodes.map(({ run }) => run('ip', 'route').replaceAll(' linkdown', ''))

/** Sessions take a moment; the test's own limit ends the wait. */
async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await holds())) await systemClock.sleep(200)
}

describe('routes between nodes by BGP', { skip: whyNot, timeout: 600_000 }, () => {
  test('blocks of all nodes are known on each, pods reach pods, a restart keeps routes, leaving takes them away', async () => {
    using lab = openNetworkLab()
    giveRoutes(lab)
    await using cluster = new LabCluster(lab)
    const before = routesOf(lab)
    await cluster.start('bgp')
    await until(async () => (await unreached(lab)).length === 0)
    const routes = () => lab.nodes[0]?.run('ip', 'route') ?? ''
    // Pods are in the first blocks alone.
    await until(() => /10\.50\.2\.64\/26 via 172\.31\.0\.12 dev eth0 proto bird/.test(routes()))
    assert.match(routes(), /blackhole 10\.50\.1\.0\/26 proto bird/)
    await cluster.stop()
    // While no agent runs; of packets one may get lost.
    await until(async () => (await unreached(lab)).length === 0)
    await cluster.start('bgp')
    await until(async () => (await unreached(lab)).length === 0)
    const [, , third] = lab.nodes
    third?.cut()
    // Of those that have an answer, some may have it late.
    await until(async () => (await unreached(lab, { families: 1 })).length === 4)
    third?.join()
    await until(async () => (await unreached(lab)).length === 0)
    await cluster.remove('n3')
    await until(() => !routes().includes('10.50.3.'))
    await cluster.leave()
    assert.deepEqual(routesOf(lab), before)
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
    const password = { secretKeyRef: { name: 'bgp', key: 'router' } }
    cluster.calico = {
      ...noCalicoObjects,
      peers: [{ metadata: { name: 'router' }, spec: { peerIP: '172.31.0.1', asNumber, keepOriginalNextHop: false, password } }],
      secrets: [{ metadata: { name: 'bgp' }, data: { router: Buffer.from('shared secret').toString('base64') } }],
      configurations: [
        { metadata: { name: 'default' }, spec: { nodeToNodeMeshEnabled: false, serviceClusterIPs: [{ cidr: '10.96.0.0/16' }] } },
      ],
    }
    const router = new Bird({
      ...{ directory: `${lab.directory}/router`, files: nodeFiles, processes: nodeProcesses, clock: systemClock },
      namespace: `/run/netns/${lab.hub}`,
    })
    const uplink = { interface: 'sw', mtu: 1500, address: '172.31.0.1', range: '172.31.0.0/24' }
    const peers = lab.nodes.map(({ name, address }) => ({
      name,
      address,
      asNumber: 64_512,
      isReflectorClient: false,
      password: 'shared secret',
    }))
    try {
      await router.tell(
        birdConfig({
          asNumber,
          uplink,
          families: ['IPv4'],
          blocks: ['10.200.0.0/26'],
          peers,
          reflectorClusterId: undefined,
          tunnelled: [],
        }),
      )
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

  test('pools whose packets are wrapped in frames: blocks lead into vxlan.calico, and not by BIRD; IPIP that the kernel lacks is said and done without', async () => {
    using lab = openNetworkLab({ nodes: 2 })
    giveRoutes(lab)
    await using cluster = new LabCluster(lab, { families: 1 })
    const spec = { cidr: '10.50.0.0/16', natOutgoing: true, nodeSelector: 'all()', disabled: false, disableBGPExport: false }
    const blocks = lab.nodes.map(({ name, podCidrs }) => {
      const [cidr = ''] = podCidrs.flatMap(blocksOf).slice(0, 1)
      return IPAMBlock.make({ metadata: { name }, spec: { cidr, affinity: `host:${name}` } })
    })
    cluster.calico = {
      ...noCalicoObjects,
      blocks,
      pools: [{ metadata: { name: 'p' }, spec: { ...spec, ipipMode: 'Never', vxlanMode: 'Always' } }],
    }
    cluster.tunnelAddresses = { n1: '10.50.1.63', n2: '10.50.2.63' }
    await cluster.start('bgp')
    await until(async () => (await unreached(lab, { families: 1 })).length === 0)
    const routes = () => lab.nodes[0]?.run('ip', 'route') ?? ''
    assert.match(routes(), /10\.50\.2\.0\/26 via 10\.50\.2\.63 dev vxlan\.calico proto 84 onlink/)
    assert.doesNotMatch(routes(), /10\.50\.2\.0\/26 .*proto bird/)
    assert.equal(cluster.annotationsOf('n1')['projectcalico.org/IPv4VXLANTunnelAddr'], '10.50.1.63')
    await cluster.stop()
    cluster.calico = { ...cluster.calico, pools: [{ metadata: { name: 'p' }, spec: { ...spec, ipipMode: 'Always', vxlanMode: 'Never' } }] }
    await cluster.start('bgp')
    await until(() => /10\.50\.2\.0\/26 via \S+ dev (eth0|tunl0) proto bird/.test(routes()))
    await until(async () => (await unreached(lab, { families: 1 })).length === 0)
    assert.doesNotMatch(routes(), /vxlan/)
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
        const blocks = node.podCidrs.slice(0, 1).flatMap(blocksOf)
        const tunnelled = [{ cidr: '10.50.0.0/16', mode }]
        const text = birdConfig({ asNumber: 64512, uplink, families: ['IPv4'], blocks, peers, reflectorClusterId: undefined, tunnelled })
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
