import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Event, Secret, Service } from '#api/core/v1/kinds.gen.ts'
import { EndpointSlice } from '#api/discovery/v1/kinds.gen.ts'
import { Ingress, IngressClass } from '#api/networking/v1/kinds.gen.ts'
import { silentLogger } from '#base/log.ts'
import { ProxyControl } from '#ingress/controller/proxy-control.ts'
import { runIngressController } from '#ingress/controller/run-ingress-controller.ts'
import { anIngress, aService, aSlice, toService } from '#ingress/testing/objects.ts'
import { certificateFor } from '#ingress/testing/proxy-under-test.ts'
import { RecordingDataPlane } from '#ingress/testing/recording-data-plane.ts'
import { FakeCluster } from '#testing/fake-cluster.ts'

async function start() {
  const cluster = await FakeCluster.start({ withoutNodes: true })
  const { client, clock, random } = cluster
  const dataPlane = new RecordingDataPlane()
  let starts = 0
  const shared = { client, clock, random, logger: silentLogger }
  const control = new ProxyControl({
    ...{ ...shared, hosts: ['127.0.0.1', '10.0.0.1'] },
    startDataPlane() {
      starts++
      return dataPlane
    },
  })
  const running = await runIngressController({ ...shared, control, httpPort: 80, httpsPort: 443, addresses: ['10.0.0.1'] })
  await clock.settle()
  return {
    ...{ cluster, client, dataPlane, starts: () => starts },
    settle: () => clock.advance({ seconds: 1 }),
    async [Symbol.asyncDispose]() {
      await running.stop()
      await control.stop()
      await cluster[Symbol.asyncDispose]()
    },
  }
}

const toWeb = { rules: [{ host: 'a.com', http: { paths: [{ path: '/', pathType: 'Prefix', backend: toService('web') }] } }] }

test('nothing is started and no port is opened before there is an Ingress, and the ports close with the last one', async () => {
  await using world = await start()
  const { client, dataPlane } = world
  assert.equal(
    (await client.get(IngressClass, '', 'typernetes')).metadata.annotations?.['ingressclass.kubernetes.io/is-default-class'],
    'true',
  )
  await client.create(Ingress, anIngress('other', { ...toWeb, ingressClassName: 'nginx' }))
  await world.settle()
  assert.equal(world.starts(), 0)
  await client.create(Ingress, anIngress('ours', toWeb))
  await world.settle()
  assert.deepEqual([...dataPlane.listening.keys()], ['127.0.0.1:80', '10.0.0.1:80', '127.0.0.1:443', '10.0.0.1:443'])
  assert.deepEqual((await client.get(Ingress, 'default', 'ours')).status?.loadBalancer, { ingress: [{ ip: '10.0.0.1' }] })
  assert.deepEqual((await client.get(Ingress, 'default', 'other')).status?.loadBalancer, {})
  await client.delete(Ingress, { namespace: 'default', name: 'ours' })
  await world.settle()
  assert.deepEqual([...dataPlane.listening.keys()], [])
})

test('the proxy hears of what has changed, and of nothing else', async () => {
  await using world = await start()
  const { client, dataPlane } = world
  await client.create(Service, aService('web'))
  await client.create(EndpointSlice, aSlice('web', { '10.1.0.1': { ready: true } }))
  await client.create(Ingress, anIngress('a', { ...toWeb, tls: [{ hosts: ['a.com'], secretName: 'cert' }] }))
  await world.settle()
  const first = dataPlane.updates.splice(0)
  assert.deepEqual(first.flatMap(({ sites }) => sites.map(({ listener, host }) => `${listener} ${host}`)).sort(), [
    'http a.com',
    'https a.com',
  ])
  assert.deepEqual(first.flatMap(({ backends }) => backends).at(-1), [
    'default/web:80',
    { protocol: 'http', endpoints: [{ host: '10.1.0.1', port: 8080 }] },
  ])

  await client.create(Service, aService('unrelated'))
  await world.settle()
  assert.equal(dataPlane.updates.length, 0)

  await client.update(EndpointSlice, aSlice('web', { '10.1.0.1': { ready: true }, '10.1.0.2': { ready: true } }))
  await world.settle()
  const [change, ...others] = dataPlane.updates.splice(0)
  assert.deepEqual([change?.sites, change?.backends[0]?.[1].endpoints.length, others], [[], 2, []])

  const { cert, key } = certificateFor('a.com')
  const data = { 'tls.crt': btoa(cert), 'tls.key': btoa(key) }
  await client.create(Secret, { metadata: { name: 'cert', namespace: 'default' }, type: 'kubernetes.io/tls', data })
  await world.settle()
  const told = dataPlane.updates.splice(0)
  assert.deepEqual(
    told.flatMap(({ certificates }) => certificates),
    [{ listener: 'https', host: 'a.com', secret: 'default/cert' }],
  )
  assert.deepEqual(
    told.flatMap(({ pairs }) => pairs),
    [['default/cert', { cert, key }]],
  )

  await client.delete(Ingress, { namespace: 'default', name: 'a' })
  await world.settle()
  const [last] = dataPlane.updates
  assert.deepEqual(
    [last?.removedSites.length, last?.removedBackends, last?.removedCertificates, last?.removedPairs],
    [2, ['default/web:80'], [{ listener: 'https', host: 'a.com' }], ['default/cert']],
  )
})

test('what is wrong is told once by events, and an Ingress that cannot be reached has no address', async () => {
  await using world = await start()
  const { client, dataPlane } = world
  dataPlane.taken.add(80)
  await client.create(Ingress, anIngress('a', toWeb))
  await world.settle()
  await client.create(Service, aService('unrelated'))
  await world.settle()
  const events = async () => (await client.list(Event)).items.map(({ reason, message, count }) => `${reason} ${count}: ${message}`).sort()
  assert.deepEqual(await events(), [
    'BackendNotFound 1: service "default/web" not found',
    'PortUnavailable 1: port 80 of 10.0.0.1 cannot be had: listen EADDRINUSE: address already in use 10.0.0.1:80',
  ])
  assert.equal((await client.get(Ingress, 'default', 'a')).status?.loadBalancer?.ingress, undefined)
  dataPlane.taken.clear()
  await world.cluster.clock.advance({ seconds: 60 })
  assert.equal((await client.get(Ingress, 'default', 'a')).status?.loadBalancer?.ingress?.length, 1, 'ports are tried again')
})
