/** Nodes that tell each other of routes by BGP: BIRD on the real kernel. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { describe, test } from 'node:test'
import { systemClock } from '#base/clock.ts'
import { type NetworkLab, openNetworkLab, whyNoLab } from '../../support/network-lab.ts'
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
})
