import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { alreadyExists } from '#api/meta/status-error.ts'
import { nodeFiles } from '#base/files.ts'
import { silentLogger } from '#base/log.ts'
import { nodeProcesses } from '#base/processes.ts'
import { VirtualClock } from '#base/virtual-clock.ts'
import type { Client } from '#client/client.ts'
import { type CalicoObjects, noCalicoObjects } from '#network/calico/bgp-settings.ts'
import { BlockAgent } from '#network/calico/block-agent.ts'
import { IPAMBlock, type IPPool } from '#network/calico/definitions.ts'
import { blockName, freeBlock } from '#network/calico/pool-blocks.ts'
import { calicoIpam, podAnnotations } from '#network/cni/calico-ipam.ts'
import { runPlugin } from '#network/cni/run-plugin.ts'

const pool = (name: string, spec: Partial<IPPool['spec']>): IPPool => ({
  metadata: { name },
  spec: {
    ...{ cidr: '192.168.0.0/16', ipipMode: 'Never', vxlanMode: 'Never', natOutgoing: true, disabled: false },
    ...{ disableBGPExport: false, nodeSelector: 'all()', ...spec },
  },
})
const block = (cidr: string, node: string): IPAMBlock =>
  IPAMBlock.make({ metadata: { name: blockName(cidr) }, spec: { cidr, affinity: `host:${node}` } })

/** A node with its plugin, and an API that keeps blocks. */
async function aNode(objects: Partial<CalicoObjects>) {
  const directory = await nodeFiles.temporaryDirectory('blocks-')
  const clock = new VirtualClock()
  const known: CalicoObjects = { ...noCalicoObjects, ...objects }
  const kept = new Map(known.blocks.map((each) => [each.metadata.name ?? '', each]))
  const client = {
    async create(_: unknown, { metadata, spec }: IPAMBlock) {
      if (kept.has(metadata.name ?? '')) throw alreadyExists({ group: '', resource: 'ipamblocks' }, metadata.name ?? '')
      kept.set(metadata.name ?? '', { metadata, spec })
    },
    delete: async (_: unknown, { name }: { name: string }) => void kept.delete(name),
  } as unknown as Client
  const state = { pools: known.pools, labels: {} as Record<string, string> }
  const addresses = join(directory, 'net')
  const agent = new BlockAgent({
    ...{ nodeName: 'n1', client, clock, files: nodeFiles, logger: silentLogger, families: ['IPv4'], addresses },
    labels: () => state.labels,
    calico: { list: () => ({ ...known, pools: state.pools, blocks: [...kept.values()] }), synced: Promise.resolve(), onChange() {} },
    ...{ blocksFile: join(directory, 'blocks.json'), wantedDirectory: join(directory, 'wanted') },
  })
  await agent.start()
  const settle = async () => {
    let isDone = false
    const done = agent.settled().then(() => {
      isDone = true
    })
    await clock.advance(11_000)
    // A look that was under way may end only now: the next one begins then, if time goes on.
    while (!isDone) await clock.settle()
    await done
  }
  await clock.advance(1)
  await agent.ready
  const call = async (command: string, container: string, annotations: Record<string, string> = {}) => {
    const ipam = { type: 'calico-ipam', blocks: join(directory, 'blocks.json'), wanted: join(directory, 'wanted'), dataDir: directory }
    const conf = { cniVersion: '1.1.0', name: 'net', type: 'routed', ipam, runtimeConfig: { [podAnnotations]: annotations } }
    const environment = { CNI_COMMAND: command, CNI_CONTAINERID: container, CNI_NETNS: '/n', CNI_IFNAME: 'eth0', CNI_PATH: '/p' }
    const { output } = await runPlugin(calicoIpam, environment, JSON.stringify(conf), { files: nodeFiles, processes: nodeProcesses })
    const { ips, code } = JSON.parse(output || '{}') as { ips?: { address: string }[]; code?: number }
    return ips?.[0]?.address ?? code
  }
  return {
    ...{ agent, state, kept, settle, call },
    own: () => [...kept.values()].filter(({ spec }) => spec.affinity === 'host:n1').map(({ spec }) => spec.cidr),
    async [Symbol.asyncDispose]() {
      await agent.stop()
      await nodeFiles.remove(directory)
    },
  }
}

test('a node has one block of 64 addresses, all of which pods get, and another one before the last is gone', async () => {
  await using node = await aNode({ pools: [pool('p', {})] })
  const [first = ''] = node.own()
  assert.match(first, /^192\.168\.\d+\.\d+\/26$/)
  const given = new Set<unknown>()
  for (let index = 0; index < 60; index++) given.add(await node.call('ADD', `c${index}`))
  assert.equal(given.size, 60)
  assert.ok([...given].every((address) => /^192\.168\.\d+\.\d+\/32$/.test(String(address))))
  await node.settle()
  assert.equal(node.own().length, 2)
  for (let index = 60; index < 70; index++) given.add(await node.call('ADD', `c${index}`))
  assert.equal(given.size, 70)
  await node.call('DEL', 'c1')
  assert.ok(String(await node.call('ADD', 'again')).startsWith('192.168.'))
})

test('pools say who gets what: by the size of blocks, the labels of nodes, and whether they are disabled', async () => {
  const pools = [
    pool('a-others', { cidr: '10.1.0.0/24', nodeSelector: "rack == '2'" }),
    pool('b-small', { cidr: '10.2.0.0/24', blockSize: 29 }),
    pool('c-off', { cidr: '10.3.0.0/24', disabled: true }),
  ]
  await using node = await aNode({ pools })
  assert.ok(node.own().every((cidr) => /^10\.2\.0\.\d+\/29$/.test(cidr)))
  const address = String(await node.call('ADD', 'one'))
  assert.match(address, /^10\.2\.0\./)
  // The pool is switched off: what was given stays, new pods get addresses elsewhere, idle blocks are given back.
  node.state.pools = [pool('b-small', { cidr: '10.2.0.0/24', blockSize: 29, disabled: true }), pool('d', { cidr: '10.4.0.0/24' })]
  for (let turn = 0; turn < 5; turn++) await node.settle()
  assert.match(String(await node.call('ADD', 'two')), /^10\.4\.0\./)
  const rest = node.own().filter((cidr) => cidr.startsWith('10.2.'))
  assert.equal(rest.length, 1, rest.join())
  await node.call('DEL', 'one')
  for (let turn = 0; turn < 5; turn++) await node.settle()
  assert.deepEqual(
    node.own().filter((cidr) => cidr.startsWith('10.2.')),
    [],
  )
})

test('a pod may ask for a pool or for an address; the runtime tries again once the node has the block', async () => {
  const pools = [pool('usual', { cidr: '10.1.0.0/24' }), pool('special', { cidr: '10.9.0.0/24', nodeSelector: '!all()' })]
  await using node = await aNode({ pools })
  const asks = { 'cni.projectcalico.org/ipv4pools': '["special"]' }
  assert.equal(await node.call('ADD', 'a', asks), 11)
  await node.settle()
  assert.match(String(await node.call('ADD', 'a', asks)), /^10\.9\.0\./)
  const exact = { 'cni.projectcalico.org/ipAddrs': '["10.1.0.200"]' }
  assert.ok([11, '10.1.0.200/32'].includes((await node.call('ADD', 'b', exact)) ?? 0))
  await node.settle()
  if ((await node.call('CHECK', 'b')) !== undefined) assert.equal(await node.call('ADD', 'b', exact), '10.1.0.200/32')
  assert.equal(await node.call('ADD', 'c', exact), 100)
  assert.match(String(await node.call('ADD', 'd')), /^10\.1\.0\./)
})

test('blocks of others are left alone, a pool that is full gives none, and an end of tunnels is no pod’s', async () => {
  const pools = [pool('p', { cidr: '10.1.0.0/25' })]
  await using node = await aNode({ pools, blocks: [block('10.1.0.0/26', 'n2')] })
  assert.deepEqual(node.own(), ['10.1.0.64/26'])
  assert.equal(await node.agent.tunnelAddress(), '10.1.0.64')
  assert.equal(await node.agent.tunnelAddress(), '10.1.0.64')
  const given = []
  for (let index = 0; index < 64; index++) given.push(await node.call('ADD', `c${index}`))
  assert.equal(given.filter((address) => address === 11).length, 1)
  assert.ok(!given.includes('10.1.0.64/32'))
  await node.settle()
  assert.deepEqual(node.own(), ['10.1.0.64/26'])
})

test('a block does not overlap one of another size, and nodes begin their search at different places', () => {
  const small = pool('p', { cidr: '10.1.0.0/24', blockSize: 28 })
  const taken = new Set(['10.1.0.0/25', '10.1.0.128/26', '10.1.0.192/27', '10.1.0.224/28'])
  assert.equal(freeBlock(small, taken, 'n1'), '10.1.0.240/28')
  assert.equal(freeBlock(small, new Set([...taken, '10.1.0.240/28']), 'n1'), undefined)
  const starts = new Set(['n1', 'n2', 'n3', 'n4'].map((name) => freeBlock(pool('p', {}), new Set(), name)))
  assert.equal(starts.size, 4)
  assert.match(freeBlock(pool('six', { cidr: 'fd00::/48' }), new Set(), 'n1') ?? '', /^fd00:.*\/122$/)
})
