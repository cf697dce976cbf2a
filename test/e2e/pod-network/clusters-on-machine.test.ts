/** Clusters that share a machine's network: who has the machine for a node, and what is tidied up. On the real kernel, in a namespace. */
import assert from 'node:assert/strict'
import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { nodeFiles as files } from '#base/files.ts'
import { nodeProcesses } from '#base/processes.ts'
import { bridgeNameOf } from '#network/bridge-network.ts'
import { nodeBridgeName } from '#network/clusters-on-machine.ts'
import { processesIn } from '#network/node-namespace.ts'
import { layNodeNetwork, removeNodeNetwork } from '#network/node-network.ts'
import { type NetworkLab, openNetworkLab, runIn, whyNoLab } from '../../support/network-lab.ts'

/** A machine without clusters. */
function machineOf(lab: NetworkLab) {
  const namespace = lab.nodes[0]?.namespace ?? ''
  const seams = { files, processes: processesIn(`/run/netns/${namespace}`, nodeProcesses) }
  return {
    seams,
    run: (...command: string[]) => runIn(namespace, command),
    hasBridge: (directory: string) => runIn(namespace, ['ip', 'link', 'show', nodeBridgeName(directory)]).ok,
    up(name: string, mayUseMachine = true) {
      const directory = join(lab.directory, name)
      mkdirSync(directory, { recursive: true })
      return layNodeNetwork(directory, { clusterCidrs: ['10.244.0.0/16'], mayMove: true, mayUseMachine }, seams)
    },
    at: (name: string) => join(lab.directory, name),
  }
}

describe('clusters on one machine', { skip: whyNoLab(), timeout: 600_000 }, () => {
  test('the machine is a node of the first alone, before it has any pod, until that one is taken down', async () => {
    using lab = openNetworkLab({ nodes: 1 })
    const { up, at, seams } = machineOf(lab)
    const several = await up('several nodes', false)
    assert.deepEqual([several.hasMachineNode, several.machineNodeOf], [false, undefined])
    const first = await up('first one')
    assert.deepEqual([first.hasMachineNode, first.machineNodeOf, first.isNew], [true, undefined, true])
    const second = await up('second')
    assert.deepEqual([second.hasMachineNode, second.machineNodeOf], [false, `the cluster in ${at('first one')}`])
    const again = await up('first one')
    assert.deepEqual([again.hasMachineNode, again.isNew, again.range], [true, false, first.range])
    await removeNodeNetwork(at('first one'), seams)
    assert.equal((await up('third')).hasMachineNode, true)
    assert.equal((await up('second')).hasMachineNode, false, 'a node stays where it is')
  })

  test('of those that start at the same moment at most one takes the machine', async () => {
    using lab = openNetworkLab({ nodes: 1 })
    const { up } = machineOf(lab)
    const networks = await Promise.all(['a', 'b', 'c', 'd'].map((name) => up(name)))
    assert.ok(networks.filter(({ hasMachineNode }) => hasMachineNode).length <= 1)
  })

  test('the bridge of a directory that was deleted goes at the next start of any cluster, unless it is in use', async () => {
    using lab = openNetworkLab({ nodes: 1 })
    const { up, at, hasBridge, run } = machineOf(lab)
    const names = ['deleted', 'with a node', 'with pods', "with 'quotes'", 'stopped']
    for (const name of names) await up(name)
    assert.ok(run('sh', '-ec', `ip link add tnl1 type veth peer name x; ip link set tnl1 master ${nodeBridgeName(at('with a node'))}`).ok)
    assert.ok(run('ip', 'link', 'add', bridgeNameOf(at('with pods')), 'type', 'bridge').ok)
    for (const name of names.slice(0, 4)) rmSync(at(name), { recursive: true })
    await up('next')
    assert.deepEqual(
      names.filter((name) => hasBridge(at(name))),
      names.slice(1),
    )
  })
})
