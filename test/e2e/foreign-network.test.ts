/** A network of somebody else's, unchanged: a DaemonSet installs stock plugins and its configuration on every node through host paths. */
import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import type { V1Pod } from '#api/core/v1/types.gen.ts'
import { whyNoContainers } from '../support/containerd.ts'
import { installedKubectls, type Kubectl } from '../support/kubectl.ts'
import { type RealCluster, startRealCluster } from '../support/real-cluster.ts'

const newest = installedKubectls().at(-1)
const hasStock = existsSync('/usr/lib/cni/bridge')
const whyNot =
  whyNoContainers() || (newest === undefined ? 'kubectl is not installed' : hasStock ? false : 'not installed: containernetworking-plugins')
const manifest = readFileSync(join(import.meta.dirname, 'foreign-network', 'network.yaml'), 'utf8')
const usual = ['/etc/cni/net.d/10-plain.conflist', '/opt/cni/bin/bridge']

describe('a network that a DaemonSet brings', { skip: whyNot, timeout: 600_000 }, () => {
  let cluster: RealCluster
  let kubectl: Kubectl
  const wasThere = usual.map((path) => existsSync(path))

  before(async () => {
    cluster = await startRealCluster({ flags: ['--nodes', '2', '--pod-network', 'cni'] })
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

  test('nodes are not ready without a network, get one, and pods reach pods of the other node', () => {
    ok(['wait', '--for=condition=Ready=false', 'node/node-1', 'node/node-2', '--timeout=180s'])
    const { addresses, ports } = JSON.parse(ok(['get', 'endpoints', 'kubernetes', '-o', 'json'])).subsets[0]
    const place = `${addresses[0].ip} ${ports[0].port}`
    ok(['apply', '-f', '-'], manifest.replace('NODE }', `${JSON.stringify(process.execPath)} }`).replace('PLACE', place))
    ok(['rollout', 'status', '-n', 'kube-system', 'daemonset/plain-network', '--timeout=180s'])
    ok(['wait', '--for=condition=Ready', 'node', '--all', '--timeout=180s'])
    for (const node of ['node-1', 'node-2']) {
      const containers = [{ name: 'main', image: 'typernetes.test/busybox:1', command: ['sleep', '1000'] }]
      const spec = { nodeName: node, terminationGracePeriodSeconds: 0, containers }
      ok(['create', '-f', '-'], JSON.stringify({ apiVersion: 'v1', kind: 'Pod', metadata: { name: node }, spec }))
    }
    ok(['wait', '--for=condition=Ready', 'pod', '--all', '--timeout=180s'])
    const pods = (JSON.parse(ok(['get', 'pods', '-o', 'json'])) as { items: V1Pod[] }).items
    assert.equal(new Set(pods.map(({ status }) => status?.podIP)).size, 2)
    for (const from of pods) {
      for (const to of pods) {
        const ask = `for i in $(seq 30); do ping -c 1 -W 2 ${to.status?.podIP} && exit 0; done; exit 1`
        ok(['exec', from.metadata.name ?? '', '--', 'sh', '-c', ask])
      }
    }
    assert.deepEqual(
      usual.map((path) => existsSync(path)),
      wasThere,
      'each node has these directories to itself',
    )
  })
})
