import assert from 'node:assert/strict'
import { randomInt, X509Certificate } from 'node:crypto'
import { createServer } from 'node:net'
import { after, before, test } from 'node:test'
import { connect } from 'node:tls'
import {
  type Client,
  ConfigMap,
  CustomResourceDefinition,
  conditions,
  defineController,
  defineCustomResource,
  defineMutatingWebhook,
  defineOlderVersion,
  defineValidatingWebhook,
  integer,
  isForbidden,
  isNotFound,
  Lease,
  MutatingWebhookConfiguration,
  object,
  optional,
  ownedObjects,
  runOperator,
  Secret,
  type StartedCluster,
  serveWebhooks,
  setCondition,
  startCluster,
  string,
  VirtualClock,
  withFinalizer,
  writeStatus,
} from '#index.ts'

const Lamp = defineCustomResource({
  group: 'light.example.com',
  version: 'v1',
  kind: 'Lamp',
  spec: object({ watts: integer({ minimum: 1, default: 40 }), color: optional(string()) }),
  status: object({ conditions: conditions() }),
  olderVersions: {
    v1beta1: defineOlderVersion({
      spec: object({ power: string() }),
      toStored: ({ spec }) => ({ spec: { watts: Number.parseInt(spec.power, 10) } }),
      fromStored: ({ spec }) => ({ spec: { power: `${spec.watts}W` } }),
    }),
  },
})
const switchedOff: string[] = []
const lampController = defineController({
  name: 'lamps',
  for: Lamp,
  owns: [ConfigMap],
  reconcile: withFinalizer({
    for: Lamp,
    name: 'light.example.com/switch-off',
    async cleanup(lamp, { clock, requeueAfter }) {
      const isCold = clock.now() - Date.parse(lamp.metadata.deletionTimestamp ?? '') >= 30_000
      if (!isCold) {
        requeueAfter(30_000)
        return 'pending'
      }
      switchedOff.push(lamp.metadata.name ?? '')
      return undefined
    },
    async reconcile(lamp, context) {
      const { client, clock } = context
      const owned = ownedObjects({ owner: lamp, kind: Lamp, context })
      await owned.apply(ConfigMap, { metadata: { name: `${lamp.metadata.name}-light` }, data: { watts: String(lamp.spec.watts) } })
      const isBright = lamp.spec.watts >= 60
      const condition = { type: 'Bright', status: isBright ? 'True' : 'False', reason: 'Measured', message: `${lamp.spec.watts} W` }
      await writeStatus(client, Lamp, lamp, { conditions: setCondition(lamp.status?.conditions, condition, clock) })
    },
  }),
})

const admission = [
  defineMutatingWebhook({
    name: 'color.light.example.com',
    for: Lamp,
    mutate(lamp) {
      lamp.spec.color ??= 'warm/white'
      lamp.metadata.labels = { ...lamp.metadata.labels, 'example.com/color': 'a' }
    },
  }),
  defineValidatingWebhook({
    name: 'limit.light.example.com',
    for: Lamp,
    operations: ['CREATE', 'UPDATE', 'DELETE'],
    validate(lamp, { operation, old, warn }) {
      if (operation === 'DELETE') return lamp.metadata.name === 'eternal' ? 'this lamp stays' : undefined
      if (lamp.spec.watts > 100) warn('that is a lot of light')
      return lamp.spec.watts > 2 * (old?.spec.watts ?? 1000) ? 'too much at once' : undefined
    },
  }),
]

// TLS looks at the machine's own time, hence it begins here.
const clock = new VirtualClock(Date.now())
const stop = new AbortController()
let cluster: StartedCluster
let client: Client
let running: Promise<void>
let healthPort = 0

before(async () => {
  healthPort = await freePort()
  cluster = await clock.during(startCluster({ clock, simNodes: 0 }))
  client = cluster.client
  const ready = Promise.withResolvers<void>()
  running = runOperator({
    name: 'lamps',
    client,
    resources: [Lamp],
    controllers: [lampController],
    webhooks: { admission, reachedBy: { host: '127.0.0.1' }, port: 0 },
    leaderElection: { namespace: 'default' },
    health: { host: '127.0.0.1', port: healthPort },
    clock,
    signal: stop.signal,
    onReady: ready.resolve,
  })
  await clock.during(Promise.race([ready.promise, running]))
})
after(async () => {
  stop.abort()
  await clock.during(Promise.allSettled([running]))
  await clock.during(cluster.stop())
})

const lamp = (name: string, spec: { watts?: number }) => Lamp.make({ metadata: { namespace: 'default', name }, spec })
const place = (name: string) => ({ namespace: 'default', name })
/** Webhooks are called over real connections: time may not run away from them. */
const until = (holds: () => Promise<boolean>) =>
  clock.during(
    (async () => {
      while (!(await holds())) await new Promise((resolve) => setImmediate(resolve))
    })(),
  )

test('webhooks change and validate what is written, by their function alone', async () => {
  const made = await clock.during(client.create(Lamp, lamp('first', { watts: 60 })))
  assert.deepEqual([made.spec, made.metadata.labels], [{ watts: 60, color: 'warm/white' }, { 'example.com/color': 'a' }])
  const brighter = clock.during(client.patch(Lamp, place('first'), { spec: { watts: 500 } }, { type: 'merge' }))
  await assert.rejects(brighter, (error) => isForbidden(error) && String(error).includes('denied the request: too much at once'))
})

test('conditions keep the time of their last transition; what is owned follows the spec', async () => {
  const seen = async () => (await client.get(Lamp, 'default', 'first')).status?.conditions?.[0]
  await until(async () => (await seen())?.message === '60 W')
  const first = await seen()
  await clock.advance({ minutes: 1 })
  await clock.during(client.patch(Lamp, place('first'), { spec: { watts: 80 } }, { type: 'merge' }))
  await until(async () => (await seen())?.message === '80 W')
  assert.equal((await seen())?.lastTransitionTime, first?.lastTransitionTime)
  await clock.during(client.patch(Lamp, place('first'), { spec: { watts: 10 } }, { type: 'merge' }))
  await until(async () => (await seen())?.status === 'False')
  assert.notEqual((await seen())?.lastTransitionTime, first?.lastTransitionTime)
  assert.equal((await client.get(ConfigMap, 'default', 'first-light')).data?.['watts'], '10')
})

test('the older version is converted by the same process', async () => {
  const Old = Lamp.older.v1beta1
  const old = await clock.during(client.get(Old, 'default', 'first'))
  assert.deepEqual(old.spec, { power: '10W' })
  await clock.during(client.create(Old, { metadata: { namespace: 'default', name: 'old' }, spec: { power: '25W' } }))
  assert.equal((await clock.during(client.get(Lamp, 'default', 'old'))).spec.watts, 25)
})

test('a deleted object stays until its cleanup is over', async () => {
  await clock.during(client.delete(Lamp, place('first')))
  await clock.advance({ seconds: 20 })
  assert.deepEqual((await client.get(Lamp, 'default', 'first')).metadata.finalizers, ['light.example.com/switch-off'])
  assert.deepEqual(switchedOff, [])
  await clock.advance({ seconds: 8 })
  await until(async () => client.get(Lamp, 'default', 'first').then(() => false, isNotFound))
  assert.deepEqual(switchedOff, ['first'])
})

test('it tells how it fares, without TLS', async () => {
  const text = async (path: string) => (await fetch(`http://127.0.0.1:${healthPort}${path}`)).text()
  assert.equal(await text('/healthz'), 'ok')
  assert.match(await text('/readyz?verbose'), /^\[\+\]ping ok\n\[\+\]started ok\nreadyz check passed\n$/)
  assert.match(await text('/metrics'), /^workqueue_adds_total\{name="lamps"\} \d+$/m)
})

test('of several replicas one leads', async () => {
  assert.notEqual((await client.get(Lease, 'default', 'lamps')).spec?.holderIdentity, undefined)
})

test('certificates are renewed before they end, and the API server is told', async () => {
  const bundle = async () => (await client.get(MutatingWebhookConfiguration, '', 'lamps')).webhooks?.[0]?.clientConfig.caBundle
  const served = async () => {
    const { data = {} } = await client.get(Secret, 'default', 'lamps-webhooks')
    return new X509Certificate(Buffer.from(data['tls.crt'] ?? '', 'base64'))
  }
  const [firstBundle, first] = [await bundle(), await served()]
  const authority = await client.get(Secret, 'default', 'lamps-webhooks')
  assert.equal(authority.data?.['ca.crt'], firstBundle)
  stop.abort()
  await clock.during(Promise.allSettled([running]))
  // A second process finds the certificate, and is the one that renews it. Years pass for it alone.
  const years = new VirtualClock(clock.now())
  const reachedBy = { host: '127.0.0.1' }
  const options = { name: 'lamps', client, webhooks: admission, resources: [Lamp], reachedBy, port: 0, clock: years }
  await using other = await clock.during(serveWebhooks(options))
  await other.register()
  assert.equal((await served()).fingerprint256, first.fingerprint256)
  // A third, for which it is not time: it takes up what the second one writes.
  await using third = await clock.during(serveWebhooks({ ...options, clock }))
  const untilBoth = async (holds: () => Promise<boolean>) => {
    while (!(await holds())) for (const each of [years, clock]) await each.advance(10)
  }
  await years.advance({ days: 250 })
  await untilBoth(async () => Date.parse((await served()).validTo) > Date.parse(first.validTo))
  assert.equal(await bundle(), firstBundle, 'the authority lives longer')
  await untilBoth(async () => (await shownAt(third.port)) === (await served()).fingerprint256)
  assert.notEqual((await served()).fingerprint256, first.fingerprint256)
  // The authority's own time: its new certificate is in every configuration, and has the old key.
  await years.advance({ days: 2500 })
  await untilBoth(async () => (await bundle()) !== firstBundle)
  const renewed = await bundle()
  const inDefinition = async () => (await client.get(CustomResourceDefinition, '', 'lamps.light.example.com')).spec.conversion
  await untilBoth(async () => (await inDefinition())?.webhook?.clientConfig?.caBundle === renewed)
  const [before, after] = [firstBundle, renewed].map((each) => new X509Certificate(Buffer.from(each ?? '', 'base64')).publicKey)
  assert.ok(before !== undefined && after !== undefined)
  assert.ok(after.equals(before))
  assert.ok((await served()).verify(after))
})

/** The certificate that a server shows, if it does. */
function shownAt(port: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port, rejectUnauthorized: false }, () => {
      resolve(socket.getPeerCertificate().fingerprint256)
      socket.destroy()
    })
    socket.on('error', () => resolve(undefined))
  })
}

/** Below the ports that the kernel gives to whoever asks for any: one of those may be another's by the time it is used. */
async function freePort(): Promise<number> {
  for (;;) {
    const port = 26_000 + randomInt(3000)
    const server = createServer()
    const isFree = await new Promise<boolean>((resolve) => {
      server.once('error', () => resolve(false))
      server.listen(port, '127.0.0.1', () => resolve(true))
    })
    if (!isFree) continue
    await new Promise((resolve) => server.close(resolve))
    return port
  }
}
