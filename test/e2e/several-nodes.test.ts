/** Several nodes on one machine, each with a network namespace of its own: real containers, real packets. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import type { V1Pod } from '#api/core/v1/types.gen.ts'
import { whyNoContainers } from '../support/containerd.ts'
import { installedKubectls, type Kubectl } from '../support/kubectl.ts'
import { type RealCluster, startRealCluster } from '../support/real-cluster.ts'

const newest = installedKubectls().at(-1)
const whyNot = whyNoContainers() || (newest === undefined ? 'kubectl is not installed' : false)

/** What of the machine could be left over: links, namespaces, rules, routes. */
const machineState = () => {
  const lines = (command: string) => spawnSync('sh', ['-c', command], { encoding: 'utf8' }).stdout.split('\n').sort()
  const ours = /\btn[nl]?\d*-[0-9a-f]{8}/
  return ['ip -o link', 'ip netns list', 'ip route', 'iptables-save', 'nft list ruleset'].flatMap(lines).filter((line) => ours.test(line))
}
const processesOf = (directory: string) =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .filter((name) => {
      try {
        return readFileSync(`/proc/${name}/cmdline`, 'utf8').includes(directory)
      } catch {
        return false
      }
    })

const podOn = (name: string, node: string) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, labels: { app: 'matrix' } },
  spec: {
    nodeName: node,
    terminationGracePeriodSeconds: 0,
    containers: [{ name: 'main', image: 'typernetes.test/busybox:1', command: ['httpd', '-f', '-v', '-p', '80', '-h', '/etc'] }],
  },
})

describe('a cluster of several nodes on one machine', { skip: whyNot, timeout: 400_000 }, () => {
  let cluster: RealCluster
  let kubectl: Kubectl
  let stateBefore: string[]

  before(async () => {
    stateBefore = machineState()
    cluster = await startRealCluster({ flags: ['--nodes', '2'] })
    kubectl = cluster.kubectlAt(newest?.path ?? '')
  })
  after(async () => {
    await cluster?.[Symbol.asyncDispose]()
  })

  const ok = (args: readonly string[], input?: string): string => {
    const { exitCode, stdout, stderr } = kubectl.run(args, input === undefined ? {} : { input })
    assert.equal(exitCode, 0, `kubectl ${args.join(' ')}: ${stderr}\n${cluster.process.output()}`)
    return stdout
  }
  const command = (...args: readonly string[]): string => {
    const { status, stdout, stderr } = cluster.run(...args)
    assert.equal(status, 0, `typernetes ${args.join(' ')}: ${stderr}\n${cluster.process.output()}`)
    return stdout
  }
  const pods = (): V1Pod[] => (JSON.parse(ok(['get', 'pods', '-l', 'app=matrix', '-o', 'json'])) as { items: V1Pod[] }).items
  const node = (name: string) => JSON.parse(ok(['get', 'node', name, '-o', 'json']))
  /** Pairs of pods of which the first does not reach the second, and pods that see another address than their caller's. */
  const unreached = () => {
    const all = pods()
    return all.flatMap((from) =>
      all
        .filter(({ status }) => {
          const fetch = `printf 'GET /passwd HTTP/1.0\\r\\n\\r\\n' | nc -w 3 ${status?.podIP} 80 | grep -q root`
          return kubectl.run(['exec', from.metadata.name ?? '', '--', 'sh', '-c', fetch]).exitCode !== 0
        })
        .map((to) => `${from.metadata.name} to ${to.metadata.name}`),
    )
  }

  test('every node has a name, an address and a range of pods of its own', () => {
    ok(['wait', '--for=condition=Ready', 'node', '--all', '--timeout=20s'])
    const nodes = ['node-1', 'node-2'].map(node)
    const addresses = nodes.map(({ status }) => status.addresses.find(({ type }: { type: string }) => type === 'InternalIP').address)
    assert.equal(new Set(addresses).size, 2)
    assert.equal(new Set(nodes.map(({ spec }) => spec.podCIDR)).size, 2)
    assert.match(command('node', 'ls'), /node-1 +172\.30\.\d+\.11 +tn-[0-9a-f]{8}-1 +\d+\n/)
  })

  for (const backend of ['host-gw', 'vxlan']) {
    test(`${backend}: pods reach pods on one node and on the other; exec, logs and the machine reach them too`, async () => {
      if (backend !== 'host-gw') {
        await cluster.process.stop()
        await cluster.start('--pod-network', backend)
        ok(['wait', '--for=condition=Ready', 'node', '--all', '--timeout=20s'])
      }
      for (const [name, on] of [
        ['a1', 'node-1'],
        ['a2', 'node-1'],
        ['b1', 'node-2'],
      ] as const) {
        ok(['create', '-f', '-'], JSON.stringify(podOn(name, on)))
      }
      ok(['wait', '--for=condition=Ready', 'pod', '-l', 'app=matrix', '--timeout=20s'])
      ok([
        'wait',
        `--for=jsonpath={.metadata.annotations.flannel\\.alpha\\.coreos\\.com/backend-type}=${backend}`,
        'node',
        '--all',
        '--timeout=20s',
      ])
      assert.deepEqual(unreached(), [])
      const mtu = ok(['exec', 'b1', '--', 'cat', '/sys/class/net/eth0/mtu']).trim()
      assert.equal(mtu, backend === 'vxlan' ? '1450' : '1500')
      // What crosses nodes is not rewritten on its way: the server sees every pod by its own address.
      const heard = ok(['logs', 'b1'])
      for (const { metadata, status } of pods()) assert.ok(heard.includes(`${status?.podIP}]`), `${metadata.name} in ${heard}`)
      assert.match(ok(['get', '--raw', '/api/v1/namespaces/default/pods/b1:80/proxy/passwd']), /^root:/)
      ok(['delete', 'pod', '-l', 'app=matrix', '--now'])
    })
  }

  test('a node is added and pods on it are reached; it is drained and removed, and nothing of it is left', () => {
    assert.equal(command('node', 'add', 'extra'), 'The node extra is ready\n')
    ok(['create', '-f', '-'], JSON.stringify({ ...podOn('a1', 'node-1'), metadata: { name: 'a1', labels: { app: 'matrix' } } }))
    ok(['wait', '--for=condition=Ready', 'pod/a1', '--timeout=20s'])
    const space = /extra +\S+ +(\S+)/.exec(command('node', 'ls'))?.[1] ?? ''
    assert.ok(spawnSync('ip', ['netns', 'list'], { encoding: 'utf8' }).stdout.includes(space))
    const ip = pods()[0]?.status?.podIP ?? ''
    const ping = spawnSync('nsenter', [`--net=/run/netns/${space}`, 'busybox', 'ping', '-c', '1', '-W', '3', ip])
    assert.equal(ping.status, 0, 'the node reaches pods of others')
    assert.match(command('node', 'rm', 'extra'), /The node extra is gone/)
    assert.equal(kubectl.run(['get', 'node', 'extra']).exitCode, 1)
    assert.ok(!spawnSync('ip', ['netns', 'list'], { encoding: 'utf8' }).stdout.includes(space))
    assert.ok(!existsSync(join(cluster.dataDir, 'nodes', 'extra')))
    const refused = cluster.run('node', 'drain', 'node-1')
    assert.match(refused.stderr, /nobody would make these pods anew: default\/a1; --force deletes them/)
    ok(['delete', 'pod', 'a1', '--now'])
    ok(['uncordon', 'node-1'])
  })

  test('down leaves no link, rule, route, namespace or process behind', () => {
    ok(['create', 'deployment', 'many', '--image=typernetes.test/busybox:1', '--replicas=4', '--', 'sleep', '1000'])
    ok(['wait', '--for=condition=Available', 'deployment/many', '--timeout=20s'])
    command('down')
    assert.deepEqual(machineState(), stateBefore)
    assert.deepEqual(processesOf(cluster.directory), [])
    assert.ok(!readFileSync('/proc/mounts', 'utf8').includes(cluster.directory))
  })
})
