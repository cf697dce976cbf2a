import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Lease } from '#api/coordination/v1/kinds.gen.ts'
import { Event, Node, Service } from '#api/core/v1/kinds.gen.ts'
import type { V1Service, V1ServiceSpec } from '#api/core/v1/types.gen.ts'
import { EndpointSlice } from '#api/discovery/v1/kinds.gen.ts'
import { silentLogger } from '#base/log.ts'
import { ControllerManager } from '#controllers/runtime/controller-manager.ts'
import { defaultSettings } from '#controllers/runtime/settings.ts'
import { AddressLedger, NoAddress, parsePool } from '#controllers/service-load-balancer/address-pools.ts'
import { serviceLoadBalancerController } from '#controllers/service-load-balancer/service-load-balancer-controller.ts'
import { FakeCluster } from '#testing/fake-cluster.ts'

async function start(...pools: string[]) {
  const cluster = await FakeCluster.start({ withoutNodes: true })
  const { client, clock, random } = cluster
  const run = async () => {
    const manager = new ControllerManager({
      ...{ controllers: [serviceLoadBalancerController(pools.map(parsePool))], client, clock, random, settings: defaultSettings },
      logger: silentLogger,
    })
    await manager.start()
    return manager
  }
  let manager = await run()
  return {
    ...{ cluster, client, settle: () => clock.advance({ seconds: 1 }) },
    async restart() {
      await manager.stop()
      manager = await run()
    },
    async create(name: string, spec: Partial<V1ServiceSpec> = {}, annotations: Record<string, string> = {}) {
      await client.create(Service, {
        metadata: { name, namespace: 'default', annotations },
        spec: { type: 'LoadBalancer', ports: [{ port: 80 }], ...spec },
      })
      await clock.advance({ seconds: 1 })
      return client.get(Service, 'default', name)
    },
    async [Symbol.asyncDispose]() {
      await manager.stop()
      await cluster[Symbol.asyncDispose]()
    },
  }
}

const addressesOf = ({ status }: V1Service) => (status?.loadBalancer?.ingress ?? []).map(({ ip, ipMode }) => `${ip} ${ipMode}`)
const nodeOf = ({ metadata }: V1Service) => metadata.annotations?.['loadbalancer.typernetes.io/node']

test('services get addresses, keep them over a restart, and give them back', async () => {
  await using world = await start('10.9.0.1-10.9.0.2')
  assert.deepEqual(addressesOf(await world.create('a')), ['10.9.0.1 VIP'])
  assert.deepEqual(addressesOf(await world.create('b')), ['10.9.0.2 VIP'])
  assert.deepEqual(addressesOf(await world.create('c')), [])
  await world.restart()
  await world.settle()
  const { client } = world
  assert.deepEqual(addressesOf(await client.get(Service, 'default', 'b')), ['10.9.0.2 VIP'])
  await client.delete(Service, { namespace: 'default', name: 'a' })
  await world.settle()
  assert.deepEqual(addressesOf(await client.get(Service, 'default', 'c')), ['10.9.0.1 VIP'], 'who has waited gets what is free')
  const events = (await client.list(Event)).items.map(({ reason, message }) => `${reason}: ${message}`)
  assert.ok(events.includes('EnsuredLoadBalancer: Ensured load balancer'))
  assert.ok(
    events.includes('SyncLoadBalancerFailed: Error syncing load balancer: failed to ensure load balancer: no IPv4 addresses are free'),
    events.join('\n'),
  )
})

test('an address, a pool and a class may be asked for', async () => {
  await using world = await start('10.9.0.0/24', 'public=192.0.2.7')
  assert.deepEqual(addressesOf(await world.create('wanted', { loadBalancerIP: '10.9.0.77' })), ['10.9.0.77 VIP'])
  assert.deepEqual(addressesOf(await world.create('taken', { loadBalancerIP: '10.9.0.77' })), [])
  assert.deepEqual(addressesOf(await world.create('outside', { loadBalancerIP: '10.8.0.1' })), [])
  assert.deepEqual(addressesOf(await world.create('public', {}, { 'loadbalancer.typernetes.io/pool': 'public' })), ['192.0.2.7 VIP'])
  assert.deepEqual(addressesOf(await world.create('other', { loadBalancerClass: 'example.com/other' })), [])
  assert.deepEqual(addressesOf(await world.create('ours', { loadBalancerClass: 'typernetes.io/load-balancer' })), ['10.9.0.1 VIP'])
  const { items } = await world.client.list(Event)
  assert.ok(items.some(({ message }) => message?.endsWith('the address 10.9.0.77 is in use by service default/wanted')))
})

test('a node that is ready answers, another one when it is lost, and with the policy Local one with an endpoint', async () => {
  await using world = await start('10.9.0.0/24')
  const { client } = world
  const node = (name: string, ready: string) => ({ metadata: { name }, status: { conditions: [{ type: 'Ready', status: ready }] } })
  for (const name of ['n1', 'n2']) {
    await client.create(Node, { metadata: { name }, spec: {} })
    await client.patch(Node, { name }, { status: node(name, 'True').status }, { subresource: 'status' })
  }
  const first = nodeOf(await world.create('a'))
  assert.ok(first === 'n1' || first === 'n2')
  const other = first === 'n1' ? 'n2' : 'n1'
  await client.patch(Node, { name: first }, { status: node(first, 'Unknown').status }, { subresource: 'status' })
  await world.settle()
  assert.equal(nodeOf(await client.get(Service, 'default', 'a')), other)
  await client.patch(Node, { name: first }, { status: node(first, 'True').status }, { subresource: 'status' })
  await world.settle()
  assert.equal(nodeOf(await client.get(Service, 'default', 'a')), other, 'nothing moves back without need')

  assert.equal(nodeOf(await world.create('local', { externalTrafficPolicy: 'Local' })), undefined)
  for (const nodeName of ['n1', 'n2']) {
    const slice = {
      metadata: { name: 'local-1', namespace: 'default', labels: { 'kubernetes.io/service-name': 'local' } },
      ...{ addressType: 'IPv4', ports: [{ port: 80 }], endpoints: [{ addresses: ['10.1.0.1'], nodeName }] },
    }
    await (nodeName === 'n1' ? client.create(EndpointSlice, slice) : client.update(EndpointSlice, slice))
    await world.settle()
    assert.equal(nodeOf(await client.get(Service, 'default', 'local')), nodeName)
  }
})

test('pools are ranges, ends or single addresses', () => {
  const sizes = ['10.0.0.0/30', '10.0.0.1-10.0.0.9', 'a=10.0.0.1', 'fd00::1-fd00::ff'].map((text) => Number(parsePool(text).count))
  assert.deepEqual(sizes, [2, 9, 1, 255])
  for (const text of ['', 'x', '10.0.0.9-10.0.0.1', '10.0.0.1-fd00::1', '10.0.0.0/x'])
    assert.throws(() => parsePool(text), /is not a valid pool of addresses/, text)
})

test('a pool of many addresses in use is searched no longer than it takes', () => {
  const ledger = new AddressLedger([parsePool('10.0.0.0/16')])
  for (let number = 0; number < 65_534; number++) ledger.assign(`s${number}`, 'IPv4', {})
  assert.throws(() => ledger.assign('one more', 'IPv4', {}), NoAddress)
  ledger.release('s100')
  assert.equal(ledger.assign('one more', 'IPv4', {}), '10.0.0.101')
})

test('a node that is not heard of for fifteen seconds, or takes its lease away, loses its services to another one', async () => {
  await using world = await start('10.9.0.0/24')
  const { client, cluster } = world
  for (const name of ['n1', 'n2']) {
    await client.create(Node, { metadata: { name }, spec: {} })
    await client.patch(Node, { name }, { status: { conditions: [{ type: 'Ready', status: 'True' }] } }, { subresource: 'status' })
  }
  const first = nodeOf(await world.create('a')) ?? ''
  await cluster.clock.advance({ seconds: 60 })
  const node = async () => nodeOf(await client.get(Service, 'default', 'a'))
  assert.equal(await node(), first, 'where no node says anything, nobody is missed')
  const lease = (name: string) => ({ namespace: 'kube-system', name: `load-balancer-${name}` })
  let second = 0
  const beat = async (name: string) => {
    const spec = { holderIdentity: name, renewTime: `2026-01-01T00:00:${String(second++).padStart(2, '0')}.000000Z` }
    await client.patch(Lease, lease(name), { spec }, { type: 'merge' }).catch(() => client.create(Lease, { metadata: lease(name), spec }))
    await cluster.clock.advance({ seconds: 2 })
  }
  for (let turn = 0; turn < 10; turn++) await beat(first)
  assert.equal(await node(), first)
  await cluster.clock.advance({ seconds: 19 })
  const other = first === 'n1' ? 'n2' : 'n1'
  assert.equal(await node(), other)
  for (let turn = 0; turn < 3; turn++) await beat(other)
  assert.equal(await node(), other)
  await client.delete(Lease, lease(other))
  await cluster.clock.advance({ seconds: 1 })
  assert.equal(await node(), first, 'though it was silent before: there is no third')
})
