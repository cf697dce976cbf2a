import assert from 'node:assert/strict'
import { basename, dirname } from 'node:path'
import { test } from 'node:test'
import { Event, Node, Service } from '#api/core/v1/kinds.gen.ts'
import type { V1Node } from '#api/core/v1/types.gen.ts'
import type { Files } from '#base/files.ts'
import { Metrics } from '#base/metrics.ts'
import type { Processes } from '#base/processes.ts'
import { machineCloud } from '#cmd/cloud-controller-manager/machine-cloud/machine-cloud.ts'
import { parseMachineCloudConfig } from '#cmd/cloud-controller-manager/machine-cloud/machine-cloud-config.ts'
import { nodePaths } from '#cmd/node/node-directory.ts'
import { cloudControllers } from '#controllers/cloud/cloud-controllers.ts'
import { FakeCluster } from '#testing/fake-cluster.ts'

const dataDir = '/var/lib/a cluster'
/** In memory: a disk takes its time, whatever the clock says. */
const written = new Map<string, string>()
const files = {
  stat: async (path: string) => (path === dataDir ? {} : undefined),
  list: async (path: string) => [...written.keys()].filter((file) => dirname(file) === path).map((file) => basename(file)),
  readTextIfPresent: async (path: string) => written.get(path),
} as unknown as Files

/** A kernel that keeps routes, and in which processes of some ids live. */
class FakeKernel {
  readonly routes = new Map<string, string>()
  readonly alive = new Set<number>()

  get processes(): Processes {
    return {
      run: async (_command, args, options) => ({
        exitCode: 0,
        signal: null,
        stderr: '',
        stdout: this.#ip(args, String(options?.input ?? '')),
      }),
      start: () => Promise.reject(new Error('nothing is started here')),
      isAlive: (pid) => this.alive.has(pid),
      kill: () => undefined,
    }
  }

  #ip(args: readonly string[], input: string): string {
    for (const line of input.split('\n')) {
      const [, replaced, gateway] = /^route replace (\S+) via (\S+) proto 85 metric 100$/.exec(line) ?? []
      if (replaced !== undefined && gateway !== undefined) this.routes.set(replaced, gateway)
      const [, deleted] = /route delete (\S+) proto 85 metric 100$/.exec(line) ?? []
      if (deleted !== undefined) this.routes.delete(deleted)
    }
    if (!args.includes('show')) return ''
    const isV6 = args.includes('-6')
    return JSON.stringify([...this.routes].filter(([dst]) => dst.includes(':') === isV6).map(([dst, gateway]) => ({ dst, gateway })))
  }
}

function addMachine(name: string, address: string, pid: number): void {
  const paths = nodePaths(dataDir, name)
  written.set(paths.record, JSON.stringify({ name, number: pid }))
  written.set(paths.settings, JSON.stringify({ address }))
  written.set(paths.pid, `${pid}\n`)
}

const aNode = (name: string, podCidr: string): V1Node => ({
  metadata: { name },
  spec: {
    taints: [{ key: 'node.cloudprovider.kubernetes.io/uninitialized', effect: 'NoSchedule' }],
    podCIDR: podCidr,
    podCIDRs: [podCidr],
  },
})

const config = parseMachineCloudConfig(
  { dataDir, zone: 'a', machines: { two: { zone: 'b', labels: { rack: '7' } } }, loadBalancerPools: ['192.0.2.1'] },
  '',
)

test('nodes in network namespaces are machines of a cloud with load balancers and routes', async () => {
  const kernel = new FakeKernel()
  addMachine('one', '172.30.0.11', 101)
  addMachine('two', '172.30.0.12', 102)
  kernel.alive.add(101).add(102)
  const own = { name: 'host', addresses: () => ['192.0.2.200'] }
  await using cluster = await FakeCluster.start({ withoutNodes: true })
  const { client } = cluster
  const provider = machineCloud({ config, client, files, processes: kernel.processes, own })
  const periods = { nodeStatusUpdateMs: 300_000, routePeriodMs: 10_000 }
  const controllers = cloudControllers({ provider, metrics: new Metrics(), concurrentNodeUpdates: 1, configuresRoutes: true, ...periods })
  await using _ = await cluster.run([...controllers, ...(provider.controllers ?? [])], { clusterCidrs: ['10.244.0.0/16'] })
  for (const [name, cidr] of [
    ['one', '10.244.1.0/24'],
    ['two', '10.244.2.0/24'],
  ] as const) {
    const node = await cluster.create(Node, aNode(name, cidr))
    const conditions = [{ type: 'Ready', status: name === 'one' ? 'True' : 'Unknown' }]
    await cluster.client.updateStatus(Node, { ...node, status: { conditions } } as V1Node)
  }
  for (const name of ['web', 'late'])
    await cluster.create(Service, { metadata: { namespace: 'default', name }, spec: { type: 'LoadBalancer', ports: [{ port: 80 }] } })
  await cluster.advance({ minutes: 1 })
  const two = await cluster.get(Node, '', 'two')
  assert.match(two.spec?.providerID ?? '', /^typernetes:\/\/[0-9a-z]+\/two$/)
  assert.deepEqual([two.metadata.labels?.['topology.kubernetes.io/zone'], two.metadata.labels?.['rack']], ['b', '7'])
  assert.deepEqual(two.status?.addresses, [
    { type: 'InternalIP', address: '172.30.0.12' },
    { type: 'Hostname', address: 'two' },
  ])
  assert.deepEqual(Object.fromEntries(kernel.routes), { '10.244.1.0/24': '172.30.0.11', '10.244.2.0/24': '172.30.0.12' })
  const web = await cluster.get(Service, 'default', 'web')
  assert.deepEqual(web.status?.loadBalancer?.ingress, [{ ip: '192.0.2.1', ipMode: 'VIP' }])
  assert.equal(web.metadata.annotations?.['loadbalancer.typernetes.io/node'], 'one')
  const failed = (await cluster.list(Event, 'default')).find(({ reason }) => reason === 'SyncLoadBalancerFailed')
  assert.equal(failed?.message, 'Error syncing load balancer: failed to ensure load balancer: no IPv4 addresses are free')
  // The only address is free again: the other one has it.
  await cluster.client.delete(Service, { namespace: 'default', name: 'web' })
  await cluster.advance({ minutes: 6 })
  assert.equal((await cluster.get(Service, 'default', 'late')).status?.loadBalancer?.ingress?.[0]?.ip, '192.0.2.1')
  // A machine whose process has ended is shut down; one whose record is gone does not exist.
  kernel.alive.delete(102)
  await cluster.advance({ seconds: 10 })
  assert.ok((await cluster.get(Node, '', 'two')).spec?.taints?.some(({ key }) => key === 'node.cloudprovider.kubernetes.io/shutdown'))
  written.delete(nodePaths(dataDir, 'two').record)
  await cluster.advance({ seconds: 30 })
  assert.deepEqual(
    (await cluster.list(Node)).map(({ metadata }) => metadata.name),
    ['one'],
  )
  assert.deepEqual([...kernel.routes.keys()], ['10.244.1.0/24'])
})

test('a mistake in the configuration is named', () => {
  for (const [settings, message] of [
    [{ regoin: 'x' }, /unknown setting regoin/],
    [{ region: 7 }, /region must be a string/],
    [{ loadBalancerPools: '10.0.0.1' }, /loadBalancerPools must be a list/],
    [{ loadBalancerPools: ['nonsense'] }, /"nonsense" is not a valid pool/],
    [{ machines: [] }, /machines must be a map/],
  ] as const)
    assert.throws(() => parseMachineCloudConfig(settings, ''), message)
})
