import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Service } from '#api/core/v1/kinds.gen.ts'
import { EndpointSlice } from '#api/discovery/v1/kinds.gen.ts'
import { silentLogger } from '#base/log.ts'
import { keepDnsService } from '#cmd/dns/keep-dns-service.ts'
import { Leadership } from '#cmd/up/leadership.ts'
import { FakeCluster } from '#testing/fake-cluster.ts'

const place = { namespace: 'kube-system', name: 'kube-dns' }
const clusterIp = '10.96.0.10'

async function started() {
  const cluster = await FakeCluster.start({ withoutNodes: true })
  const { clock, client, random } = cluster
  const kept = keepDnsService({ client, clock, random, logger: silentLogger, clusterIp, at: { host: '172.30.0.1', port: 53 } })
  await clock.advance(1000)
  await kept.published
  return {
    ...{ cluster, clock, client },
    service: () => client.get(Service, place.namespace, place.name),
    slice: () => client.get(EndpointSlice, place.namespace, place.name),
    async [Symbol.asyncDispose]() {
      await kept.stop()
      await cluster[Symbol.asyncDispose]()
    },
  }
}

test('the service and its endpoints are there again after somebody removed or changed them', async () => {
  await using world = await started()
  const { client, clock } = world
  await client.delete(Service, place)
  await client.delete(EndpointSlice, place)
  await clock.advance(2000)
  assert.equal((await world.service()).spec?.clusterIP, clusterIp)
  assert.deepEqual((await world.slice()).endpoints?.[0]?.addresses, ['172.30.0.1'])
  const ports = [{ name: 'dns', protocol: 'UDP' as const, port: 5353 }]
  await client.patch(Service, place, { spec: { ports } }, { type: 'merge' })
  await clock.advance(2000)
  assert.deepEqual(
    (await world.service()).spec?.ports?.map(({ port }) => port),
    [53, 53],
  )
  await client.delete(Service, place)
  await client.create(Service, { metadata: place, spec: { clusterIP: '10.96.0.77', ports } })
  await clock.advance(2000)
  assert.equal((await world.service()).spec?.clusterIP, clusterIp, 'pods were told this address')
})

test('a service that selects pods is left alone', async () => {
  await using world = await started()
  const { client, clock } = world
  await client.patch(Service, place, { spec: { selector: { 'k8s-app': 'kube-dns' } } }, { type: 'merge' })
  await clock.advance(2000)
  assert.deepEqual((await world.service()).spec?.selector, { 'k8s-app': 'kube-dns' })
  await assert.rejects(world.slice(), /not found/)
})

test('of two servers one leads the service to itself, and the other does when that one has ended', async () => {
  await using cluster = await FakeCluster.start({ withoutNodes: true, controllers: [] })
  const { clock, client, random } = cluster
  const served = async (hostName: string, host: string) => {
    const leadership = new Leadership({ client, clock, random, logger: silentLogger, lease: 'typernetes-dns', hostName })
    const started = leadership.start()
    await cluster.advance({ seconds: 2 })
    await started
    const added = leadership.add('dns service', async (stage) => {
      const kept = keepDnsService({ client, clock, random, logger: silentLogger, clusterIp, at: { host, port: 53 } })
      stage.defer(() => kept.stop())
      await kept.published
    })
    await cluster.advance({ seconds: 2 })
    await added
    return leadership
  }
  const slice = () => client.get(EndpointSlice, place.namespace, place.name)
  const first = await served('one', '172.30.0.1')
  const before = await slice()
  const second = await served('two', '172.30.0.2')
  await cluster.advance({ seconds: 30 })
  assert.equal((await slice()).metadata.resourceVersion, before.metadata.resourceVersion, 'nobody writes it anew')
  assert.deepEqual(before.endpoints?.[0]?.addresses, ['172.30.0.1'])
  const stopped = first.stop()
  await cluster.advance({ seconds: 10 })
  await stopped
  assert.deepEqual((await slice()).endpoints?.[0]?.addresses, ['172.30.0.2'])
  const ended = second.stop()
  await cluster.advance({ seconds: 1 })
  await ended
})
