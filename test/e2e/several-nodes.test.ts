/** Several nodes on one machine, each with a network namespace of its own: real containers, real packets. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import type { V1Pod } from '#api/core/v1/types.gen.ts'
import { systemClock } from '#base/clock.ts'
import { CriClient } from '#kubelet/runtimes/cri/cri-client.ts'
import { hashOf } from '#network/bridge-network.ts'
import { whyNoContainers } from '../support/containerd.ts'
import { installedKubectls, type Kubectl } from '../support/kubectl.ts'
import { leftOf, processesOf, type RealCluster, startRealCluster } from '../support/real-cluster.ts'

const newest = installedKubectls().at(-1)
const whyNot = whyNoContainers() || (newest === undefined ? 'kubectl is not installed' : false)

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

/** Asks again until it holds; whatever is not there for a moment does not hold yet. */
async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  for (const endMs = systemClock.monotonic() + 150_000; ; await systemClock.sleep(500)) {
    let trouble: unknown
    try {
      if (await holds()) return
    } catch (error) {
      trouble = error
    }
    if (systemClock.monotonic() > endMs) throw new Error(`it never holds: ${holds}`, { cause: trouble })
  }
}

describe('a cluster of several nodes on one machine', { skip: whyNot, timeout: 600_000 }, () => {
  let cluster: RealCluster
  let kubectl: Kubectl

  before(async () => {
    // Kubelets speak every 10 s.
    const impatient = ['--node-monitor-grace-period', '30s', '--node-monitor-period', '1s']
    cluster = await startRealCluster({ podCidr: '10.244.0.0/16', flags: ['--nodes', '2', ...impatient] })
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
    return all.flatMap(({ metadata }) => {
      const asks = all.map(({ metadata: { name }, status }) => {
        const fetch = `printf 'GET /passwd HTTP/1.0\\r\\n\\r\\n' | nc -w 3 ${status?.podIP} 80 | grep -q root`
        return `${fetch} || echo ${name}`
      })
      const { exitCode, stdout, stderr } = kubectl.run(['exec', metadata.name ?? '', '--', 'sh', '-c', asks.join('\n')])
      const missing = stdout.split('\n').filter(Boolean)
      return (exitCode === 0 ? missing : [`any: ${stderr}`]).map((to) => `${metadata.name} to ${to}`)
    })
  }

  /** A container that has just started may not listen yet, and a route is laid a moment after its node is back. */
  const allReached = async () => {
    const untilMs = systemClock.monotonic() + 60_000
    let missing = unreached()
    while (missing.length > 0 && systemClock.monotonic() < untilMs) {
      await systemClock.sleep(500)
      missing = unreached()
    }
    assert.deepEqual(missing, [])
  }

  /** Whether the server in the pod has logged a request from each pod's own address. */
  const heardByAddress = (server: string) => {
    const log = ok(['logs', server])
    return pods().every(({ status }) => log.includes(`${status?.podIP}]`))
  }

  /** A pod of another node sees a node by its own address, too. */
  const nodeIsHeard = (space: string, server: string) => {
    const { status } = pods().find(({ metadata }) => metadata.name === server) ?? {}
    const ask = `printf 'GET /passwd HTTP/1.0\\r\\n\\r\\n' | busybox nc -w 3 ${status?.podIP} 80`
    spawnSync('nsenter', [`--net=/run/netns/${space}`, 'sh', '-c', ask])
    const address = node('node-1').status.addresses.find(({ type }: { type: string }) => type === 'InternalIP').address
    return ok(['logs', server]).includes(`${address}]`)
  }

  test('every node has a name, an address, a range of pods and settings of its own', async () => {
    ok(['wait', '--for=condition=Ready', 'node', '--all', '--timeout=60s'])
    const nodes = ['node-1', 'node-2'].map(node)
    const addresses = nodes.map(({ status }) => status.addresses.find(({ type }: { type: string }) => type === 'InternalIP').address)
    assert.equal(new Set(addresses).size, 2)
    assert.equal(new Set(nodes.map(({ spec }) => spec.podCIDR)).size, 2)
    const list = command('node', 'ls')
    assert.match(list, /node-1 +172\.30\.\d+\.11 +tn-[0-9a-f]{8}-1 +\d+\n/)
    // Connections that are closed at one end are kept for as long as kube-proxy asks for.
    const space = /tn-[0-9a-f]{8}-1/.exec(list)?.[0]
    const closedAtOneEnd = '/proc/sys/net/netfilter/nf_conntrack_tcp_timeout_close_wait'
    await until(() => spawnSync('nsenter', [`--net=/run/netns/${space}`, 'cat', closedAtOneEnd], { encoding: 'utf8' }).stdout === '3600\n')
  })

  test('claims are on the node of their pod, which comes back to them, and go with them', async () => {
    const names = ['spread-0', 'spread-1']
    // A container writes it a moment after it is said to run.
    const startsOf = (name: string) => kubectl.run(['exec', name, '--', 'cat', '/data/starts']).stdout
    ok(['apply', '-f', '-'], readFileSync(join(import.meta.dirname, 'storage', 'spread.yaml'), 'utf8'))
    ok(['rollout', 'status', 'sts/spread', '--timeout=90s'])
    const placeOf = (name: string) => ok(['get', 'pod', name, '-o', 'jsonpath={.spec.nodeName}'])
    const places = names.map(placeOf)
    assert.deepEqual(places.toSorted(), ['node-1', 'node-2'])
    for (const name of names) await until(() => startsOf(name).length > 0)
    ok(['delete', 'pod', '-l', 'app=spread', '--timeout=60s'])
    // What the set says of itself may be of the pods that are gone.
    const others = names.map((name) => `pod/${name}`)
    ok(['wait', '--for=create', ...others, '--timeout=60s'])
    ok(['wait', '--for=condition=Ready', ...others, '--timeout=60s'])
    assert.deepEqual(names.map(placeOf), places)
    for (const [index, name] of names.entries()) {
      const line = `${name} on ${places[index]}\n`
      await until(() => startsOf(name) === line.repeat(2))
      const volume = ok(['get', 'pvc', `data-${name}`, '-o', 'jsonpath={.spec.volumeName}'])
      const terms = ok(['get', 'pv', volume, '-o', 'jsonpath={.spec.nodeAffinity.required.nodeSelectorTerms}'])
      assert.match(terms, new RegExp(`"kubernetes.io/hostname".*"${places[index]}"`))
    }
    ok(['delete', 'sts', 'spread', '--timeout=60s'])
    ok(['wait', '--for=delete', 'pv', '--all', '--timeout=120s'])
  })

  /** Calico's pools and policies do something. */
  const calicoObjects = async (spaces: readonly string[]) => {
    assert.match(ok(['get', 'ippools', '-o', 'jsonpath={.items[*].spec.cidr}']), /^10\.\d+\.0\.0\/16/)
    const hides = (space: string) =>
      spawnSync('nsenter', [`--net=/run/netns/${space}`, 'iptables', '-t', 'nat', '-S', 'POSTROUTING'], {
        encoding: 'utf8',
      }).stdout.includes('pods of')
    await until(() => spaces.every(hides))
    ok(['patch', 'ippool', 'default-ipv4-ippool', '--type=merge', '-p', '{"spec":{"natOutgoing":false}}'])
    await until(() => !spaces.some(hides))
    ok(['patch', 'ippool', 'default-ipv4-ippool', '--type=merge', '-p', '{"spec":{"natOutgoing":true}}'])
    const spec = {
      selector: "app == 'matrix'",
      order: 10,
      ingress: [{ action: 'Deny', source: { selector: "side == 'left'" } }, { action: 'Allow' }],
    }
    ok(['label', 'pod', 'a1', 'side=left'])
    const policy = { apiVersion: 'projectcalico.org/v3', kind: 'GlobalNetworkPolicy', metadata: { name: 'left' }, spec }
    ok(['create', '-f', '-'], JSON.stringify(policy))
    const b1 = pods().find(({ metadata }) => metadata.name === 'b1')?.status?.podIP ?? ''
    const reaches = (pod: string) => kubectl.run(['exec', pod, '--', 'sh', '-c', `nc -w 3 ${b1} 80 < /dev/null`]).exitCode === 0
    await until(() => !reaches('a1'))
    await until(() => reaches('a2'))
    assert.match(cluster.run('explain', 'connection', 'a1', `${b1}:80`).stdout, /GlobalNetworkPolicy\/left denies it/)
    ok(['delete', 'globalnetworkpolicies', 'left'])
    await until(() => reaches('a1'))
    // Another pool, as those apply it who have no calicoctl, takes the place of the first one.
    const second = { cidr: '10.78.0.0/24', blockSize: 28, vxlanMode: 'Always', natOutgoing: true }
    ok(
      ['create', '-f', '-'],
      JSON.stringify({ apiVersion: 'crd.projectcalico.org/v1', kind: 'IPPool', metadata: { name: 'second' }, spec: second }),
    )
    ok(['patch', 'ippool', 'default-ipv4-ippool', '--type=merge', '-p', '{"spec":{"disabled":true}}'])
    await until(
      () =>
        new Set(
          ok(['get', 'ipamblocks', '-o', 'jsonpath={range .items[*]}{.spec.cidr} {.spec.affinity}{"\\n"}{end}']).match(
            /10\.78\.0\.\d+\/28 host:node-\d/g,
          ),
        ).size === 2,
    )
    // A node gives out addresses of a block a moment after it has taken it.
    const usable = (name: string): string[] =>
      (
        JSON.parse(readFileSync(join(cluster.dataDir, 'nodes', name, 'calico-blocks.json'), 'utf8')) as {
          cidr: string
          isUsable: boolean
        }[]
      )
        .filter(({ isUsable }) => isUsable)
        .map(({ cidr }) => cidr)
    const isOfSecond = (cidr: string) => cidr.startsWith('10.78.0.')
    await until(() => ['node-1', 'node-2'].map(usable).every((cidrs) => cidrs.length > 0 && cidrs.every(isOfSecond)))
    for (const [name, on] of Object.entries({ c1: 'node-1', c2: 'node-2' })) ok(['create', '-f', '-'], JSON.stringify(podOn(name, on)))
    ok(['wait', '--for=condition=Ready', 'pod', '-l', 'app=matrix', '--timeout=60s'])
    const added = pods().filter(({ metadata }) => metadata.name?.startsWith('c'))
    assert.ok(
      added.every(({ status }) => status?.podIP?.startsWith('10.78.0.')),
      JSON.stringify(added.map(({ status }) => status?.podIP)),
    )
    await allReached()
    const [space = ''] = spaces
    const routes = () => spawnSync('nsenter', [`--net=/run/netns/${space}`, 'ip', 'route'], { encoding: 'utf8' }).stdout
    await until(() => /10\.78\.0\.\d+\/28 via \S+ dev vxlan\.calico/.test(routes()))
  }

  const hasBird = spawnSync('bird', ['--version']).status === 0
  for (const backend of ['host-gw', ...(hasBird ? ['bgp'] : []), 'vxlan']) {
    test(`${backend}: pods reach pods on one node and on the other; exec, logs and the machine reach them too`, async () => {
      if (backend !== 'host-gw') {
        await cluster.process.stop()
        // With our own plugins, in one process for each pod.
        await cluster.start('--pod-network', backend, '--cni-plugins', 'own')
        ok(['wait', '--for=condition=Ready', 'node', '--all', '--timeout=60s'])
      }
      for (const [name, on] of [
        ['a1', 'node-1'],
        ['a2', 'node-1'],
        ['b1', 'node-2'],
      ] as const) {
        ok(['create', '-f', '-'], JSON.stringify(podOn(name, on)))
      }
      ok(['wait', '--for=condition=Ready', 'pod', '-l', 'app=matrix', '--timeout=60s'])
      ok([
        'wait',
        `--for=jsonpath={.metadata.annotations.flannel\\.alpha\\.coreos\\.com/backend-type}=${backend}`,
        'node',
        '--all',
        '--timeout=60s',
      ])
      const spaces = [...command('node', 'ls').matchAll(/tn-[0-9a-f]{8}-\d+/g)].map(([space]) => space)
      const routesOf = (space: string) => spawnSync('nsenter', [`--net=/run/netns/${space}`, 'ip', 'route'], { encoding: 'utf8' }).stdout
      // Sessions take a moment, during which packets go by way of the machine.
      if (backend === 'bgp') await until(() => spaces.every((space) => /via .* proto bird/.test(routesOf(space))))
      await allReached()
      const mtu = ok(['exec', 'b1', '--', 'cat', '/sys/class/net/eth0/mtu']).trim()
      assert.equal(mtu, backend === 'vxlan' ? '1450' : '1500')
      // What crosses nodes is not rewritten on its way: the server sees every pod by its own address.
      await until(() => heardByAddress('b1'))
      if (backend === 'host-gw') await until(() => nodeIsHeard(spaces[0] ?? '', 'b1'))
      await until(() => /^root:/.test(ok(['get', '--raw', '/api/v1/namespaces/default/pods/b1:80/proxy/passwd'])))
      if (backend === 'bgp') await calicoObjects(spaces)
      ok(['delete', 'pod', '-l', 'app=matrix', '--now'])
    })
  }

  test('kubenet: pods share cbr0, which takes all frames; the way to other nodes belongs to others, and nothing within 10.0.0.0/8 is rewritten', async () => {
    await cluster.process.stop()
    await cluster.start('--pod-network', 'kubenet')
    ok(['wait', '--for=condition=Ready', 'node', '--all', '--timeout=60s'])
    for (const [name, on] of Object.entries({ a1: 'node-1', a2: 'node-1', b1: 'node-2' })) {
      ok(['create', '-f', '-'], JSON.stringify(podOn(name, on)))
    }
    ok(['wait', '--for=condition=Ready', 'pod', '-l', 'app=matrix', '--timeout=60s'])
    const places = [...command('node', 'ls').matchAll(/node-\d +\S+ +(tn-[0-9a-f]{8}-\d+)/g)]
    const nodes = places.map(([, space = '']) => ({ space }))
    const inNode = (space: string, ...args: string[]) =>
      spawnSync('nsenter', [`--net=/run/netns/${space}`, ...args], { encoding: 'utf8' }).stdout
    for (const { space } of nodes) {
      await until(() => inNode(space, 'ip', '-d', 'link', 'show', 'cbr0').includes('PROMISC'))
      await until(() => /cbr0/.test(inNode(space, 'ip', '-br', 'link')) && !/cni0|flannel/.test(inNode(space, 'ip', '-br', 'link')))
    }
    // Nodes know no way to each other's pods; the machine does, as the router of a cloud would.
    for (const [index, { space }] of nodes.entries()) {
      const elsewhere = node(`node-${2 - index}`).spec.podCIDR
      await until(() => !inNode(space, 'ip', 'route').includes(elsewhere))
    }
    await allReached()
    await until(() => heardByAddress('b1'))
    // A pod reaches itself by the address of its service: the bridge gives back what came from the pod.
    ok(['label', 'pod', 'a1', 'self=yes'])
    ok(
      ['create', '-f', '-'],
      JSON.stringify({
        ...{ apiVersion: 'v1', kind: 'Service', metadata: { name: 'self' } },
        spec: { selector: { self: 'yes' }, ports: [{ port: 80 }] },
      }),
    )
    const address = ok(['get', 'service', 'self', '-o', 'jsonpath={.spec.clusterIP}'])
    const ask = `printf 'GET /passwd HTTP/1.0\\r\\n\\r\\n' | nc -w 3 ${address} 80 | grep -q root`
    await until(() => kubectl.run(['exec', 'a1', '--', 'sh', '-c', ask]).exitCode === 0)
    ok(['delete', 'service', 'self'])
    ok(['delete', 'pod', '-l', 'app=matrix', '--now'])
  })

  test('policies that let pods ask for names let them: by the labels of name servers, on every node', async () => {
    for (const [name, on] of Object.entries({ a1: 'node-1', b1: 'node-2' })) ok(['create', '-f', '-'], JSON.stringify(podOn(name, on)))
    ok(['wait', '--for=condition=Ready', 'pod', '-l', 'app=matrix', '--timeout=60s'])
    const resolves = (pod: string) =>
      kubectl.run(['exec', pod, '--', 'nslookup', '-timeout=1', '-retry=1', 'kubernetes.default.svc.cluster.local']).exitCode === 0
    await until(() => resolves('a1') && resolves('b1'))
    const policy = (name: string, egress: object[]) =>
      JSON.stringify({
        apiVersion: 'networking.k8s.io/v1',
        kind: 'NetworkPolicy',
        metadata: { name },
        spec: { podSelector: {}, policyTypes: ['Egress'], egress },
      })
    ok(['create', '-f', '-'], policy('closed', []))
    await until(() => !resolves('a1') && !resolves('b1'))
    const kubeSystem = { matchLabels: { 'kubernetes.io/metadata.name': 'kube-system' } }
    const to = [{ namespaceSelector: kubeSystem, podSelector: { matchLabels: { 'k8s-app': 'kube-dns' } } }]
    ok(['create', '-f', '-'], policy('names', [{ to, ports: [{ port: 53, protocol: 'UDP' }] }]))
    await until(() => resolves('a1') && resolves('b1'))
    const b1 = pods().find(({ metadata }) => metadata.name === 'b1')?.status?.podIP
    assert.notEqual(kubectl.run(['exec', 'a1', '--', 'nc', '-w', '1', b1 ?? '', '80']).exitCode, 0, 'nothing else is open')
    ok(['delete', 'networkpolicy', 'closed', 'names'])
    ok(['delete', 'pod', '-l', 'app=matrix', '--now'])
  })

  test('a node is added and pods on it are reached; it is drained and removed, and nothing of it is left', async () => {
    assert.equal(command('node', 'add', 'extra'), 'The node extra is ready\n')
    ok(['create', '-f', '-'], JSON.stringify({ ...podOn('a1', 'node-1'), metadata: { name: 'a1', labels: { app: 'matrix' } } }))
    ok(['wait', '--for=condition=Ready', 'pod/a1', '--timeout=60s'])
    const space = /extra +\S+ +(\S+)/.exec(command('node', 'ls'))?.[1] ?? ''
    assert.ok(spawnSync('ip', ['netns', 'list'], { encoding: 'utf8' }).stdout.includes(space))
    const ip = pods()[0]?.status?.podIP ?? ''
    // The node reaches pods of others.
    await until(() => spawnSync('nsenter', [`--net=/run/netns/${space}`, 'busybox', 'ping', '-c', '1', '-W', '3', ip]).status === 0)
    assert.match(command('node', 'rm', 'extra'), /The node extra is gone/)
    assert.equal(kubectl.run(['get', 'node', 'extra']).exitCode, 1)
    assert.ok(!spawnSync('ip', ['netns', 'list'], { encoding: 'utf8' }).stdout.includes(space))
    assert.ok(!existsSync(join(cluster.dataDir, 'nodes', 'extra')))
    const refused = cluster.run('node', 'drain', 'node-1')
    assert.match(refused.stderr, /nobody would make these pods anew: default\/a1; --force deletes them/)
    ok(['delete', 'pod', 'a1', '--now'])
    ok(['uncordon', 'node-1'])
  })

  test('another cluster on the same machine has other addresses, and neither disturbs the other', async () => {
    const other = await startRealCluster({ podCidr: '10.244.0.0/16' })
    try {
      const theirs = other.kubectlAt(newest?.path ?? '')
      assert.equal(theirs.run(['wait', '--for=create', 'serviceaccount/default', '--timeout=60s']).exitCode, 0)
      const input = JSON.stringify({ ...podOn('a1', ''), spec: { ...podOn('a1', '').spec, nodeName: undefined } })
      assert.equal(theirs.run(['create', '-f', '-'], { input }).exitCode, 0)
      const ready = theirs.run(['wait', '--for=condition=Ready', 'pod/a1', '--timeout=60s'])
      assert.equal(ready.exitCode, 0, ready.stderr)
      const address = theirs.run(['get', 'pod', 'a1', '-o', 'jsonpath={.status.podIP}']).stdout
      assert.ok(!address.startsWith('10.244.'), address)
      ok(['create', '-f', '-'], JSON.stringify(podOn('a1', 'node-1')))
      ok(['create', '-f', '-'], JSON.stringify(podOn('b1', 'node-2')))
      ok(['wait', '--for=condition=Ready', 'pod', '-l', 'app=matrix', '--timeout=60s'])
      await allReached()
      await until(() => spawnSync('busybox', ['ping', '-c', '1', '-W', '2', address]).status === 0)
    } finally {
      await other[Symbol.asyncDispose]()
    }
    await allReached()
    ok(['delete', 'pod', '-l', 'app=matrix', '--now'])
  })

  test('a node is cut off: its pods are replaced; it comes back: nothing of them is left on it', { timeout: 240_000 }, async () => {
    const tolerations = ['not-ready', 'unreachable'].map((name) => ({
      key: `node.kubernetes.io/${name}`,
      operator: 'Exists',
      effect: 'NoExecute',
      tolerationSeconds: 1,
    }))
    const { containers } = podOn('', '').spec
    const labels = { app: 'matrix' }
    const template = { metadata: { labels }, spec: { containers, tolerations, terminationGracePeriodSeconds: 0 } }
    const deployment = {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'web' },
      spec: { replicas: 2, selector: { matchLabels: labels }, template },
    }
    // Those of a node that was cordoned, or was away, go a moment later.
    await until(() => ['node-1', 'node-2'].every((name) => (node(name).spec.taints ?? []).length === 0))
    ok(['create', '-f', '-'], JSON.stringify(deployment))
    ok(['rollout', 'status', 'deployment/web', '--timeout=90s'])
    const nodesOf = () =>
      pods()
        .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
        .map(({ spec }) => spec.nodeName)
        .sort()
    assert.deepEqual(nodesOf(), ['node-1', 'node-2'])
    const link = `tnl2-${hashOf(cluster.dataDir)}`
    spawnSync('ip', ['link', 'set', link, 'down'])
    try {
      await until(() =>
        node('node-2').status.conditions.some((one: { type: string; status: string }) => one.type === 'Ready' && one.status === 'Unknown'),
      )
      await until(() => nodesOf().join() === 'node-1,node-1')
      ok(['wait', '--for=condition=Available', 'deployment/web', '--timeout=60s'])
    } finally {
      spawnSync('ip', ['link', 'set', link, 'up'])
    }
    ok(['wait', '--for=condition=Ready', 'node/node-2', '--timeout=60s'])
    // Taints go a moment after the condition, and nothing is placed on the node until then.
    await until(() => (node('node-2').spec.taints ?? []).length === 0)
    await until(() => pods().length === 2)
    using runtime = await CriClient.connect(join(cluster.dataDir, 'nodes', 'node-2', 'containerd', 'containerd.sock'))
    await until(async () => (await runtime.call('listPodSandbox', {})).items.length === 0)
    ok(['scale', 'deployment/web', '--replicas=4'])
    ok(['rollout', 'status', 'deployment/web', '--timeout=60s'])
    assert.equal(new Set(nodesOf()).size, 2)
    await allReached()
    ok(['delete', 'deployment', 'web', '--cascade=foreground'])
  })

  test('down leaves no link, rule, route, namespace or process behind', async () => {
    ok(['create', 'deployment', 'many', '--image=typernetes.test/busybox:1', '--replicas=4', '--', 'sleep', '1000'])
    ok(['wait', '--for=condition=Available', 'deployment/many', '--timeout=60s'])
    assert.ok(leftOf(cluster.dataDir).length > 5)
    command('down')
    assert.deepEqual(leftOf(cluster.dataDir), [])
    // Who was told to end may take a moment.
    await until(() => processesOf(cluster.directory).length === 0)
    await until(() => !readFileSync('/proc/mounts', 'utf8').includes(cluster.directory))
  })
})
