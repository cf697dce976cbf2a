/** Pods on a machine whose firewall forwards nothing by itself, as one with Docker does. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { describe, test } from 'node:test'
import { nodeProcesses } from '#base/processes.ts'
import { ensureForwarding, removeForwarding } from '#network/forwarding.ts'
import { processesIn } from '#network/node-namespace.ts'
import { openNetworkLab, runIn, whyNoLab } from '../../support/network-lab.ts'

const whyNot = whyNoLab() || (spawnSync('iptables', ['--version']).status === 0 ? false : 'not installed: iptables')

describe('a machine that forwards nothing by itself', { skip: whyNot, timeout: 600_000 }, () => {
  test('pods reach others and are reached once their ranges are let through, and not when they are no more', async () => {
    using lab = openNetworkLab({ nodes: 2 })
    const [node, far] = lab.nodes
    if (node === undefined || far === undefined) return assert.fail()
    const processes = processesIn(`/run/netns/${node.namespace}`, nodeProcesses)
    node.run(
      'sh',
      '-ec',
      'iptables -P FORWARD DROP; iptables -N DOCKER-USER; iptables -I FORWARD -j DOCKER-USER; ip6tables -P FORWARD DROP',
    )
    // The way back, for those whom no agent has told of it.
    far.run('ip', 'route', 'add', node.podCidrs[0] ?? '', 'via', node.address)
    far.run('ip', '-6', 'route', 'add', node.podCidrs[1] ?? '', 'via', node.addressV6)
    node.run('ip', '-6', 'route', 'add', 'default', 'via', far.addressV6)
    const reaches = (namespace: string, address: string) =>
      runIn(namespace, ['busybox', address.includes(':') ? 'ping6' : 'ping', '-c', '1', '-W', '1', address]).ok
    const ways = () => [
      reaches(node.pod.namespace, far.address),
      reaches(node.pod.namespace, far.addressV6),
      reaches(far.namespace, node.pod.address),
      reaches(far.namespace, node.pod.addressV6),
    ]
    assert.equal(reaches(node.pod.namespace, far.address), false)
    assert.equal(reaches(far.namespace, node.pod.addressV6), false)
    assert.equal(await ensureForwarding(node.podCidrs, 'pods of test', processes), true)
    // Neighbours take a moment to be found, and a busy machine its time for an answer.
    const endMs = performance.now() + 60_000
    let open = ways()
    while (open.includes(false) && performance.now() < endMs) open = ways()
    assert.deepEqual(open, [true, true, true, true])
    const rules = () => node.run('iptables', '-S', 'FORWARD')
    const before = rules()
    await ensureForwarding(node.podCidrs, 'pods of test', processes)
    assert.equal(rules(), before, 'nothing is laid twice')
    await removeForwarding('pods of test', processes)
    assert.doesNotMatch(rules(), /pods of test/)
    assert.equal(reaches(node.pod.namespace, far.address), false)
  })
})
