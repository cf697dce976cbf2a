/** Several nodes on one machine with addresses of both families: nodes, pods, services and names. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import type { V1Pod, V1Service } from '#api/core/v1/types.gen.ts'
import { systemClock } from '#base/clock.ts'
import { whyNoContainers } from '../support/containerd.ts'
import { installedKubectls, type Kubectl } from '../support/kubectl.ts'
import { leftOf, type RealCluster, startRealCluster } from '../support/real-cluster.ts'

const newest = installedKubectls().at(-1)
const hasIpv6 = existsSync('/proc/sys/net/ipv6')
const whyNot = whyNoContainers() || (newest === undefined ? 'kubectl is not installed' : false) || (!hasIpv6 && 'this kernel has no IPv6')

const podOn = (name: string, node: string) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, labels: { app: 'both', name } },
  spec: {
    nodeName: node,
    terminationGracePeriodSeconds: 0,
    containers: [{ name: 'main', image: 'typernetes.test/busybox:1', command: ['httpd', '-f', '-v', '-p', '80', '-h', '/etc'] }],
  },
})

/** Asks again until it holds; the test's own time limit ends it. */
async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await systemClock.sleep(500)
}

describe('nodes and pods with addresses of both families', { skip: whyNot, timeout: 600_000 }, () => {
  let cluster: RealCluster
  let kubectl: Kubectl
  before(async () => {
    const podCidr = '10.244.0.0/16,fd44:1:2::/48'
    cluster = await startRealCluster({ podCidr, flags: ['--nodes', '2', '--service-cluster-ip-range', '10.96.0.0/16,fd96::/112'] })
    kubectl = cluster.kubectlAt(newest?.path ?? '')
    ok(['wait', '--for=condition=Ready', 'node/node-1', 'node/node-2', '--timeout=120s'])
    for (const [name, on] of Object.entries({ a: 'node-1', b: 'node-2' })) ok(['create', '-f', '-'], JSON.stringify(podOn(name, on)))
    ok(['wait', '--for=condition=Ready', 'pod', '--all', '--timeout=120s'])
  })
  after(async () => cluster?.[Symbol.asyncDispose]())

  const ok = (args: readonly string[], input?: string): string => {
    const { exitCode, stdout, stderr } = kubectl.run(args, input === undefined ? {} : { input })
    assert.equal(exitCode, 0, `kubectl ${args.join(' ')}: ${stderr}\n${cluster.process.output()}`)
    return stdout
  }
  const get = <T>(...what: string[]): T => JSON.parse(ok(['get', ...what, '-o', 'json'])) as T
  const addressesOf = (pod: string): string[] => (get<V1Pod>('pod', pod).status?.podIPs ?? []).map(({ ip }) => ip ?? '')
  const fetches = (pod: string, address: string, port = 80) => {
    const fetch = `printf 'GET /passwd HTTP/1.0\\r\\n\\r\\n' | nc -w 1 ${address} ${port} | grep -q root`
    return kubectl.run(['exec', pod, '--', 'sh', '-c', fetch]).exitCode === 0
  }

  test('nodes have an address and a range of pods of each family', () => {
    for (const name of ['node-1', 'node-2']) {
      const { spec, status } = get<{ spec: { podCIDRs: string[] }; status: { addresses: { type: string; address: string }[] } }>(
        'node',
        name,
      )
      const families = (list: readonly string[]) => list.map((one) => (one.includes(':') ? 6 : 4))
      assert.deepEqual(families(spec.podCIDRs), [4, 6])
      const internal = status.addresses.filter(({ type }) => type === 'InternalIP').map(({ address }) => address)
      assert.deepEqual(families(internal), [4, 6])
    }
  })

  test('pods reach each other across nodes by both, and keep their own addresses', async () => {
    const b = addressesOf('b')
    assert.equal(b.length, 2)
    for (const address of b) await until(() => fetches('a', address))
    const own = addressesOf('a')
    await until(() => {
      const heard = kubectl.run(['logs', 'b']).stdout
      return own.every((address) => heard.includes(address))
    })
  })

  test('a service has an address of each family, both work from every node and by name, and its node port on both', async () => {
    const spec = { type: 'NodePort', ipFamilyPolicy: 'RequireDualStack', selector: { name: 'b' }, ports: [{ port: 80 }] }
    ok(['create', '-f', '-'], JSON.stringify({ apiVersion: 'v1', kind: 'Service', metadata: { name: 'web' }, spec }))
    const service = get<V1Service>('service', 'web')
    const [four = '', six = ''] = service.spec?.clusterIPs ?? []
    assert.ok(four.startsWith('10.96.') && six.startsWith('fd96::'), `${four} ${six}`)
    for (const pod of ['a', 'b']) for (const address of [four, six]) await until(() => fetches(pod, address))
    await until(() => {
      const names = kubectl.run(['exec', 'a', '--', 'nslookup', 'web.default.svc.cluster.local']).stdout
      return names.includes(four) && names.includes(six)
    })
    const { status } = get<{ status: { addresses: { type: string; address: string }[] } }>('node', 'node-1')
    for (const { address } of status.addresses.filter(({ type }) => type === 'InternalIP')) {
      const script = `printf 'GET /passwd HTTP/1.0\\r\\n\\r\\n' | busybox nc -w 3 ${address} ${service.spec?.ports?.[0]?.nodePort} | grep -q root`
      await until(() => spawnSync('sh', ['-c', script]).status === 0)
    }
  })

  test('requests without end: the agents of all nodes are killed and start again, and none fails', async () => {
    const address = get<V1Service>('service', 'web').spec?.clusterIPs?.[1] ?? ''
    const ask = `printf 'GET /passwd HTTP/1.0\\r\\n\\r\\n' | nc -w 20 ${address} 80 | grep -q root`
    const load = `n=0; while [ ! -e /tmp/end ] || [ $n -lt 6 ]; do ${ask} || echo $? >> /tmp/failed; n=$((n+1)); done; echo $n > /tmp/count`
    ok(['exec', 'a', '--', 'sh', '-c', `(${load}) > /dev/null 2>&1 &`])
    // Undefined while it is written.
    const pidOf = (name: string) => {
      try {
        return Number(readFileSync(join(cluster.dataDir, 'nodes', name, 'node.pid'), 'utf8')) || undefined
      } catch {
        return undefined
      }
    }
    const pids = () => ['node-1', 'node-2'].map(pidOf)
    const before = pids()
    for (const pid of before) process.kill(pid ?? assert.fail(), 'SIGKILL')
    await until(() => pids().every((pid, index) => pid !== undefined && pid !== before[index]))
    await until(() => ['a', 'b'].every((pod) => kubectl.run(['exec', pod, '--', 'true']).exitCode === 0))
    const script = 'touch /tmp/end; while [ ! -s /tmp/count ]; do sleep 0.1; done; cat /tmp/count; cat /tmp/failed 2>/dev/null; true'
    const [count, ...failed] = ok(['exec', 'a', '--', 'sh', '-c', script]).trim().split('\n')
    assert.ok(Number(count) > 5, `${count} requests`)
    assert.deepEqual(failed, [], `of ${count} requests`)
  })

  test('a policy closes both families', async () => {
    const spec = { podSelector: { matchLabels: { name: 'b' } }, policyTypes: ['Ingress'] }
    ok(['create', '-f', '-'], JSON.stringify({ apiVersion: 'networking.k8s.io/v1', kind: 'NetworkPolicy', metadata: { name: 'no' }, spec }))
    for (const address of addressesOf('b')) await until(() => !fetches('a', address))
    ok(['delete', 'networkpolicy', 'no'])
    for (const address of addressesOf('b')) await until(() => fetches('a', address))
  })

  test('down leaves nothing of either family', async () => {
    assert.equal(cluster.run('down').status, 0)
    // The kernel takes away what was in a network namespace some time after that has gone.
    const left = () => [
      ...leftOf(cluster.dataDir),
      ...(spawnSync('ip', ['-6', 'route'], { encoding: 'utf8' }).stdout.match(/fd44:1:2:/g) ?? []),
    ]
    for (let tries = 0; left().length > 0 && tries < 120; tries++) await systemClock.sleep(500)
    assert.deepEqual(left(), [])
  })
})
