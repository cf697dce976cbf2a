import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { Secret } from '#api/core/v1/kinds.gen.ts'
import { isConditionTrue } from '#api/meta/find-condition.ts'
import { isNotFound } from '#api/meta/server-response.ts'
import { defined } from '#base/defined.ts'
import { nodeHttpClient } from '#base/http-client.ts'
import type { Client } from '#client/client.ts'
import { installDefinitions } from '#controllers/kit/install-definitions.ts'
import { runControllers } from '#controllers/runtime/run-controllers.ts'
import type { OpenHttp } from '#controllers/service-catalog/brokers.ts'
import {
  ClusterServiceBroker,
  ClusterServiceClass,
  ClusterServicePlan,
  ServiceBinding,
  ServiceInstance,
  serviceCatalogResources,
} from '#controllers/service-catalog/definitions.ts'
import { serviceCatalogControllers } from '#controllers/service-catalog/service-catalog.ts'
import { type FakeBroker, startFakeBroker } from '#controllers/service-catalog/testing/fake-broker.ts'
import { FakeCluster } from '#testing/fake-cluster.ts'

const plans = [
  { id: 'plan-small', name: 'small', description: 'Little', free: true },
  { id: 'plan-large', name: 'large', description: 'Much', free: false },
]
const database = {
  ...{ id: 'class-database', name: 'database', description: 'A database', bindable: true, tags: ['sql'], plans },
  ...{ plan_updateable: true, bindings_retrievable: true },
}
const queue = { id: 'class-queue', name: 'queue', description: 'A queue', plans: [{ id: 'plan-queue', name: 'only', description: '' }] }

/** How many questions to the broker are under way. */
let asking = 0
const openHttp: OpenHttp = (options) => {
  const http = nodeHttpClient(options)
  return {
    async request(request) {
      asking++
      try {
        const response = await http.request(request)
        const text = await response.text()
        return { ...response, text: async () => text }
      } finally {
        asking--
      }
    },
    [Symbol.dispose]: () => http[Symbol.dispose](),
  }
}

const stop = new AbortController()
let broker: FakeBroker
let cluster: FakeCluster
let client: Client
let running: Promise<void>

before(async () => {
  broker = await startFakeBroker([database, queue])
  cluster = await FakeCluster.start({ withoutNodes: true })
  client = cluster.client
  const { clock, random } = cluster
  await clock.during(installDefinitions(client, serviceCatalogResources, { clock }))
  const ready = Promise.withResolvers<void>()
  const seams = { clock, random, signal: stop.signal, onReady: ready.resolve }
  running = runControllers({ client, controllers: serviceCatalogControllers(openHttp), ...seams })
  await clock.during(ready.promise)
  const data = { username: Buffer.from('catalog').toString('base64'), password: Buffer.from('secret').toString('base64') }
  await client.create(Secret, { metadata: { namespace: 'kube-system', name: 'broker' }, data })
  const authInfo = { basic: { secretRef: { namespace: 'kube-system', name: 'broker' } } }
  await client.create(ClusterServiceBroker, ClusterServiceBroker.make({ metadata: { name: 'shop' }, spec: { url: broker.url, authInfo } }))
})
after(async () => {
  stop.abort()
  await cluster.clock.during(running)
  await cluster[Symbol.asyncDispose]()
  await broker[Symbol.asyncDispose]()
})

/** The broker answers in time of the machine: while it is asked, no other time passes, or it would have taken too long. */
const step = (ms: number) => cluster.clock.advance(asking > 0 ? 0 : ms)
const until = async (holds: () => Promise<boolean>) => {
  while (!(await holds())) await step(100)
}
const pass = async (minutes: number) => {
  const endMs = cluster.clock.now() + minutes * 60_000
  while (cluster.clock.now() < endMs) await step(1000)
}
const gone = (work: Promise<unknown>) => work.then(() => false, isNotFound)
const instance = (name: string) => client.get(ServiceInstance, 'default', name)
const ask = (name: string, plan: string, parameters?: Record<string, unknown>) =>
  client.create(
    ServiceInstance,
    ServiceInstance.make({
      metadata: { namespace: 'default', name },
      spec: {
        clusterServiceClassExternalName: 'database',
        clusterServicePlanExternalName: plan,
        ...defined({ parameters }),
      },
    }),
  )
const reasonOf = async (name: string) => (await instance(name)).status?.conditions?.find(({ type }) => type === 'Ready')?.reason

test('what a broker offers becomes classes and plans; it is asked with the secret that is named', async () => {
  await until(async () => isConditionTrue((await client.get(ClusterServiceBroker, '', 'shop')).status?.conditions, 'Ready'))
  assert.deepEqual((await client.list(ClusterServiceClass)).items.map(({ spec }) => spec.externalName).sort(), ['database', 'queue'])
  const large = await client.get(ClusterServicePlan, '', 'plan-large')
  assert.deepEqual([large.spec.free, large.spec.clusterServiceClassRef.name], [false, 'class-database'])
  const { authorization, 'x-broker-api-version': version } = broker.asked[0]?.headers ?? {}
  assert.equal(authorization, `Basic ${Buffer.from('catalog:secret').toString('base64')}`)
  assert.equal(version, '2.14')
})

test('an instance is provisioned at once, with its parameters', async () => {
  await ask('orders', 'small', { size: 3 })
  await until(async () => isConditionTrue((await instance('orders')).status?.conditions, 'Ready'))
  const { status, metadata } = await instance('orders')
  assert.deepEqual(
    [status?.provisionStatus, status?.deprovisionStatus, await reasonOf('orders')],
    ['Provisioned', 'Required', 'ProvisionedSuccessfully'],
  )
  assert.equal(status?.dashboardURL, `https://broker.example.com/${metadata.uid}`)
  const asked = broker.instances.get(metadata.uid ?? '')
  assert.deepEqual([asked?.['service_id'], asked?.['plan_id'], asked?.['parameters']], ['class-database', 'plan-small', { size: 3 }])
})

test('one that takes its time is asked about until it is there', async () => {
  broker.pollsUntilDone = 3
  await ask('slow', 'large')
  await until(async () => (await reasonOf('slow')) === 'Provisioning')
  assert.equal((await instance('slow')).status?.asyncOpInProgress, true)
  await until(async () => (await reasonOf('slow')) === 'ProvisionedSuccessfully')
  const { status, metadata } = await instance('slow')
  assert.deepEqual([status?.asyncOpInProgress, status?.currentOperation], [false, undefined])
  const polls = broker.asked.filter(({ path }) => path === `/v2/service_instances/${metadata.uid}/last_operation`)
  assert.equal(polls.length, 4)
  assert.deepEqual(polls[0]?.query, { service_id: 'class-database', plan_id: 'plan-large', operation: `PUT ${metadata.uid}` })
  broker.pollsUntilDone = undefined
})

test('a broker that is down is asked again; one that refuses is not', async () => {
  // So often that the pauses in between have grown to seconds.
  for (let time = 0; time < 10; time++) broker.refusals.push({ status: 500, body: { description: 'out of order' } })
  await ask('stubborn', 'small')
  await until(async () => (await reasonOf('stubborn')) === 'ErrorCallingProvision')
  await until(async () => (await reasonOf('stubborn')) === 'ProvisionedSuccessfully')
  broker.refusals.push({ status: 400, body: { description: 'no more for you' } })
  await ask('refused', 'small')
  await until(async () => (await reasonOf('refused')) === 'ProvisionCallFailed')
  const { uid = '' } = (await instance('refused')).metadata
  await pass(10)
  assert.equal(broker.asked.filter(({ path }) => path === `/v2/service_instances/${uid}`).length, 1)
  const { status } = await instance('refused')
  assert.ok(isConditionTrue(status?.conditions, 'Failed'))
  assert.match(status?.conditions?.find(({ type }) => type === 'Failed')?.message ?? '', /the broker answered 400: no more for you/)
})

const change = (name: string, spec: object) => client.patch(ServiceInstance, { namespace: 'default', name }, { spec }, { type: 'merge' })
const askedOf = (uid: string, method: string) =>
  broker.asked.filter((each) => each.method === method && each.path === `/v2/service_instances/${uid}`)

test('another plan and other parameters are told to the broker, and nothing else is', async () => {
  const { uid = '' } = (await instance('orders')).metadata
  await change('orders', { clusterServicePlanExternalName: 'large' })
  await until(async () => (await reasonOf('orders')) === 'InstanceUpdatedSuccessfully')
  const [first] = askedOf(uid, 'PATCH')
  assert.deepEqual([first?.body['plan_id'], first?.body['parameters']], ['plan-large', undefined])
  assert.partialDeepStrictEqual(first?.body['previous_values'], { plan_id: 'plan-small' })
  await change('orders', { parameters: { size: 5 } })
  await until(async () => askedOf(uid, 'PATCH').length === 2)
  const [, second] = askedOf(uid, 'PATCH')
  assert.deepEqual([second?.body['plan_id'], second?.body['parameters']], [undefined, { size: 5 }])
  await until(async () => (await instance('orders')).status?.reconciledGeneration === (await instance('orders')).metadata.generation)
  assert.equal((await instance('orders')).status?.externalProperties?.['planId'], 'plan-large')
})

test('a change that takes its time is asked about, and what is changed meanwhile comes after it', async () => {
  const { uid = '' } = (await instance('orders')).metadata
  broker.pollsUntilDone = 3
  await change('orders', { parameters: { size: 6 } })
  await until(async () => (await reasonOf('orders')) === 'UpdatingInstance')
  await change('orders', { parameters: { size: 7 } })
  await until(async () => askedOf(uid, 'PATCH').length === 4)
  broker.pollsUntilDone = undefined
  await until(async () => (await reasonOf('orders')) === 'InstanceUpdatedSuccessfully')
  await until(async () => (await instance('orders')).status?.reconciledGeneration === (await instance('orders')).metadata.generation)
  assert.deepEqual(broker.instances.get(uid)?.['parameters'], { size: 7 })
  assert.equal((await instance('orders')).status?.inProgressProperties, undefined)
})

test('a change that is refused leaves the instance as it was, and is tried again once it is changed', async () => {
  const { uid = '' } = (await instance('orders')).metadata
  broker.refusals.push({ status: 400, body: { description: 'too small' } })
  await change('orders', { parameters: { size: 0 } })
  await until(async () => (await reasonOf('orders')) === 'UpdateInstanceCallFailed')
  assert.deepEqual(broker.instances.get(uid)?.['parameters'], { size: 7 })
  const count = askedOf(uid, 'PATCH').length
  await pass(10)
  assert.equal(askedOf(uid, 'PATCH').length, count)
  await change('orders', { parameters: { size: 8 } })
  await until(async () => (await reasonOf('orders')) === 'InstanceUpdatedSuccessfully')
  assert.ok(!isConditionTrue((await instance('orders')).status?.conditions, 'Failed'))
})

test('the class of an instance stays', async () => {
  const { uid = '' } = (await instance('orders')).metadata
  const count = askedOf(uid, 'PATCH').length
  await change('orders', { clusterServiceClassExternalName: 'queue', clusterServicePlanExternalName: 'only' })
  await until(async () => (await reasonOf('orders')) === 'UpdateInstanceCallFailed')
  assert.equal(askedOf(uid, 'PATCH').length, count)
  await change('orders', { clusterServiceClassExternalName: 'database', clusterServicePlanExternalName: 'large' })
  await until(async () => (await reasonOf('orders')) === 'InstanceUpdatedSuccessfully')
})

test('what a broker may have made without saying so is taken away before it is asked again', async () => {
  broker.refusals.push({ status: 500, body: { description: 'lost my mind' }, doesIt: true })
  await ask('orphan', 'small')
  await until(async () => (await reasonOf('orphan')) === 'ProvisionedSuccessfully')
  const { uid = '' } = (await instance('orphan')).metadata
  const calls = broker.asked.filter(({ path }) => path === `/v2/service_instances/${uid}`).map(({ method }) => method)
  assert.deepEqual(calls, ['PUT', 'DELETE', 'PUT'])
  assert.equal((await instance('orphan')).status?.orphanMitigationInProgress, false)
})

test('one that fails after a while is taken away, and is not tried again', async () => {
  broker.pollsUntilDone = 1
  broker.failsInTheEnd = true
  await ask('doomed', 'small')
  await until(async () => (await reasonOf('doomed')) === 'ProvisionCallFailed')
  await until(async () => (await instance('doomed')).status?.orphanMitigationInProgress === false)
  const { metadata, status } = await instance('doomed')
  assert.ok(isConditionTrue(status?.conditions, 'Failed'))
  assert.deepEqual([askedOf(metadata.uid ?? '', 'PUT').length, askedOf(metadata.uid ?? '', 'DELETE').length], [1, 1])
  broker.pollsUntilDone = undefined
  broker.failsInTheEnd = false
})

test('what is not on offer is waited for', async () => {
  await ask('later', 'huge')
  await until(async () => (await reasonOf('later')) === 'ReferencesNonexistentServicePlan')
  broker.services = [{ ...database, plans: [...plans, { id: 'plan-huge', name: 'huge', description: '' }] }]
  await pass(16)
  await until(async () => (await reasonOf('later')) === 'ProvisionedSuccessfully')
  assert.ok(await gone(client.get(ClusterServiceClass, '', 'class-queue')), 'what is offered no longer goes')
})

test('a binding gets what it needs in a secret, and an instance stays until nobody is bound to it', async () => {
  const spec = { instanceRef: { name: 'orders' }, secretName: 'orders-access' }
  await client.create(ServiceBinding, { metadata: { namespace: 'default', name: 'web' }, spec })
  const binding = () => client.get(ServiceBinding, 'default', 'web')
  await until(async () => isConditionTrue((await binding()).status?.conditions, 'Ready'))
  const text = async (key: string) =>
    Buffer.from((await client.get(Secret, 'default', 'orders-access')).data?.[key] ?? '', 'base64').toString()
  assert.deepEqual([await text('host'), await text('port')], ['db.example.com', '5432'])
  // A secret that somebody deletes comes back, with what the broker says again.
  await client.delete(Secret, { namespace: 'default', name: 'orders-access' })
  await until(async () => !(await gone(client.get(Secret, 'default', 'orders-access'))))

  await client.delete(ServiceInstance, { namespace: 'default', name: 'orders' })
  await until(async () => (await reasonOf('orders')) === 'DeprovisionBlockedByExistingCredentials')
  const { uid = '' } = (await instance('orders')).metadata
  await client.delete(ServiceBinding, { namespace: 'default', name: 'web' })
  await until(() => gone(binding()))
  assert.equal(broker.bindings.size, 0)
  await until(() => gone(instance('orders')))
  assert.ok(!broker.instances.has(uid))
})

test('a binding that takes its time is asked about until it is there, and until it is gone', async () => {
  broker.pollsUntilDone = 2
  await client.create(ServiceBinding, { metadata: { namespace: 'default', name: 'patient' }, spec: { instanceRef: { name: 'stubborn' } } })
  const binding = () => client.get(ServiceBinding, 'default', 'patient')
  const reason = async () => (await binding()).status?.conditions?.find(({ type }) => type === 'Ready')?.reason
  await until(async () => (await reason()) === 'Binding')
  assert.ok(await gone(client.get(Secret, 'default', 'patient')))
  await until(async () => (await reason()) === 'InjectedBindResult')
  const { data = {} } = await client.get(Secret, 'default', 'patient')
  assert.equal(Buffer.from(data['host'] ?? '', 'base64').toString(), 'db.example.com')
  const { status, metadata } = await binding()
  assert.deepEqual([status?.asyncOpInProgress, status?.currentOperation, broker.bindings.size], [false, undefined, 1])
  const polls = broker.asked.filter(({ path }) => path.endsWith(`/service_bindings/${metadata.uid}/last_operation`))
  assert.equal(polls.length, 3)
  await client.delete(ServiceBinding, { namespace: 'default', name: 'patient' })
  await until(() => gone(binding()))
  assert.equal(broker.bindings.size, 0)
})

test('a binding that fails after a while is forgotten by the broker; one it may have made is, before it is asked again', async () => {
  broker.pollsUntilDone = 1
  broker.failsInTheEnd = true
  const make = (name: string) =>
    client.create(ServiceBinding, { metadata: { namespace: 'default', name }, spec: { instanceRef: { name: 'stubborn' } } })
  const { uid: doomed } = (await make('doomed')).metadata
  const read = (name: string) => client.get(ServiceBinding, 'default', name)
  await until(async () => isConditionTrue((await read('doomed')).status?.conditions, 'Failed'))
  await until(async () => (await read('doomed')).status?.orphanMitigationInProgress === false)
  broker.pollsUntilDone = undefined
  broker.failsInTheEnd = false
  broker.refusals.push({ status: 502, body: {}, doesIt: true })
  const { uid: again } = (await make('again')).metadata
  await until(async () => isConditionTrue((await read('again')).status?.conditions, 'Ready'))
  const calls = (uid: string | undefined) =>
    broker.asked.filter(({ path }) => path.endsWith(`/service_bindings/${uid}`)).map(({ method }) => method)
  assert.deepEqual(
    [calls(doomed), calls(again)],
    [
      ['PUT', 'DELETE'],
      ['PUT', 'DELETE', 'PUT'],
    ],
  )
  for (const name of ['doomed', 'again']) await client.delete(ServiceBinding, { namespace: 'default', name })
  await until(async () => (await gone(read('doomed'))) && (await gone(read('again'))))
})

test('an instance that takes its time to go is asked about until it is gone', async () => {
  const { uid = '' } = (await instance('slow')).metadata
  broker.pollsUntilDone = 2
  await client.delete(ServiceInstance, { namespace: 'default', name: 'slow' })
  await until(() => gone(instance('slow')))
  assert.ok(!broker.instances.has(uid))
})

test('with the broker goes what it offers', async () => {
  await client.delete(ClusterServiceBroker, { name: 'shop' })
  await until(() => gone(client.get(ClusterServiceBroker, '', 'shop')))
  assert.deepEqual([(await client.list(ClusterServiceClass)).items, (await client.list(ClusterServicePlan)).items], [[], []])
})
