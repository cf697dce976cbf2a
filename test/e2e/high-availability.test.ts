/** Several API servers on one etcd: to a client they are one. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import {
  AdmissionregistrationV1Api,
  ApiregistrationV1Api,
  CoordinationV1Api,
  CoreV1Api,
  CustomObjectsApi,
  DiscoveryV1Api,
  KubeConfig,
  PatchStrategy,
  setHeaderOptions,
  type V1ConfigMap,
  type V1Service,
  Watch,
} from '@kubernetes/client-node'
import { type EtcdServer, etcdctlMissing, etcdMissing, startEtcd } from '../contracts/etcd-server.ts'
import { startExtensionServer } from '../support/extension-server.ts'
import { type RunningCluster, startCluster } from '../support/running-cluster.ts'
import { startWebhookServer } from '../support/webhook-server.ts'

const serverCount = 3
/** Of etcd's database, which is filled by the last test. */
const quotaBytes = 16 * 2 ** 20
const program = join(import.meta.dirname, '..', '..', 'bin', 'typernetes.js')
const mergePatch = setHeaderOptions('Content-Type', PatchStrategy.MergePatch)

describe('several API servers on one etcd', { skip: etcdMissing ?? false }, () => {
  let etcd: EtcdServer
  const servers: RunningCluster[] = []
  const started = new AsyncDisposableStack()
  const clientOf = (server: RunningCluster) => {
    const config = new KubeConfig()
    config.loadFromFile(server.kubeconfig)
    return { config, core: config.makeApiClient(CoreV1Api), coordination: config.makeApiClient(CoordinationV1Api) }
  }

  before(async () => {
    etcd = started.use(await startEtcd([`--quota-backend-bytes=${quotaBytes}`]))
    const flags = ['--store', `etcd://${etcd.endpoint}`, '--runtime', 'none', '--controllers=', '--scheduler=false']
    // All at once, on an empty store.
    const starts = await Promise.allSettled(Array.from({ length: serverCount }, () => startCluster(flags)))
    for (const start of starts) if (start.status === 'fulfilled') servers.push(started.use(start.value))
    for (const start of starts) if (start.status === 'rejected') throw start.reason
  })
  after(() => started.disposeAsync())

  test('what is written through one is read from every other at once', async () => {
    const clients = servers.map(clientOf)
    for (let round = 0; round < 20; round++) {
      const name = `written-${round}`
      const writer = clients[round % serverCount]
      await writer?.core.createNamespacedConfigMap({ namespace: 'default', body: { metadata: { name }, data: { round: String(round) } } })
      for (const { core } of clients) {
        const read = await core.readNamespacedConfigMap({ namespace: 'default', name })
        assert.equal(read.data?.['round'], String(round))
        const list = await core.listNamespacedConfigMap({ namespace: 'default' })
        assert.ok(list.items.some(({ metadata }) => metadata?.name === name))
      }
    }
  })

  test('writers of one object through different servers lose nothing', async () => {
    const clients = servers.map(clientOf)
    await clients[0]?.core.createNamespacedConfigMap({ namespace: 'default', body: { metadata: { name: 'hot' } } })
    const rounds = 15
    await Promise.all(
      clients.map(async ({ core }, index) => {
        for (let round = 0; round < rounds; round++) {
          const body = { data: { [`${index}-${round}`]: 'yes' } }
          await core.patchNamespacedConfigMap({ namespace: 'default', name: 'hot', body }, mergePatch)
        }
      }),
    )
    const hot: V1ConfigMap | undefined = await clients[1]?.core.readNamespacedConfigMap({ namespace: 'default', name: 'hot' })
    assert.equal(Object.keys(hot?.data ?? {}).length, rounds * serverCount)
  })

  test('a watch on any of them sees every change made through all, once and in order', async () => {
    const clients = servers.map(clientOf)
    const { metadata } = await (clients[0] as (typeof clients)[number]).core.listNamespacedSecret({ namespace: 'default' })
    const count = 30
    const watched = clients.map(({ config }) => {
      const seen: string[] = []
      const { promise, resolve } = Promise.withResolvers<string[]>()
      const request = new Watch(config).watch(
        '/api/v1/namespaces/default/secrets',
        { resourceVersion: metadata?.resourceVersion ?? '' },
        (type, object) => {
          seen.push(`${type} ${object.metadata.name} ${object.metadata.resourceVersion}`)
          if (seen.length === count * serverCount) resolve(seen)
        },
        () => resolve(seen),
      )
      return { seen: promise, request }
    })
    await Promise.all(watched.map(({ request }) => request))
    await Promise.all(
      clients.map(async ({ core }, index) => {
        for (let number = 0; number < count; number++) {
          await core.createNamespacedSecret({ namespace: 'default', body: { metadata: { name: `secret-${index}-${number}` } } })
        }
      }),
    )
    const [first = [], ...others] = await Promise.all(watched.map(({ seen }) => seen))
    assert.equal(new Set(first).size, count * serverCount)
    const revisions = first.map((line) => Number(line.split(' ')[2]))
    assert.deepEqual(
      revisions,
      [...revisions].sort((left, right) => left - right),
    )
    for (const other of others) assert.deepEqual(other, first)
    for (const { request } of watched) (await request).abort()
  })

  test('addresses and ports of services are given out once', async () => {
    const clients = servers.map(clientOf)
    const made = await Promise.all(
      Array.from({ length: 60 }, (_, index) =>
        (clients[index % serverCount] as (typeof clients)[number]).core.createNamespacedService({
          namespace: 'default',
          body: { metadata: { name: `service-${index}` }, spec: { type: 'NodePort', ports: [{ port: 80 }] } },
        }),
      ),
    )
    const distinct = (values: (string | number | undefined)[]) => new Set(values.filter((value) => value !== undefined)).size
    assert.equal(distinct(made.map(({ spec }) => spec?.clusterIP)), made.length)
    assert.equal(distinct(made.map(({ spec }: V1Service) => spec?.ports?.[0]?.nodePort)), made.length)
    await Promise.all(
      made.map(({ metadata }, index) =>
        (clients[(index + 1) % serverCount] as (typeof clients)[number]).core.deleteNamespacedService({
          namespace: 'default',
          name: metadata?.name ?? '',
        }),
      ),
    )
  })

  test('they say where they are, and one that leaves is missed', async () => {
    const clients = servers.map(clientOf)
    const leases = await clients[0]?.coordination.listNamespacedLease({
      namespace: 'kube-system',
      labelSelector: 'apiserver.kubernetes.io/identity=kube-apiserver',
    })
    // All of them are on this machine, after which the lease is named.
    assert.equal(leases?.items.length, 1)
    const ports = async () => {
      const { subsets = [] } = (await clients[0]?.core.readNamespacedEndpoints({ namespace: 'default', name: 'kubernetes' })) ?? {}
      return subsets.flatMap(({ ports: each = [] }) => each.map(({ port }) => port)).sort()
    }
    const own = servers.map(({ url }) => Number(new URL(url).port)).sort()
    const become = async (expected: readonly number[]) => {
      for (let tries = 0; tries < 3000 && (await ports()).join() !== expected.join(); tries++)
        await new Promise((resolve) => setTimeout(resolve, 20))
      assert.deepEqual(await ports(), expected)
    }
    await become(own)
    const gone = servers.pop()
    assert.equal(await gone?.stop(), 0)
    const left = servers.map(({ url }) => Number(new URL(url).port)).sort()
    await become(left)
  })

  test('they go on when etcd has been away', async () => {
    const [first, second] = servers.map(clientOf)
    await etcd.restart()
    const write = async () => {
      await first?.core.createNamespacedConfigMap({ namespace: 'default', body: { metadata: { name: 'after' } } })
    }
    const untilDone = async <T>(attempt: () => Promise<T>): Promise<T | undefined> => {
      for (let tries = 0; ; tries++) {
        try {
          return await attempt()
        } catch (error) {
          // The answer to the first attempt may have been lost though it was written.
          if (String(error).includes('AlreadyExists')) return undefined
          if (tries === 600) throw error
          await new Promise((resolve) => setTimeout(resolve, 100))
        }
      }
    }
    await untilDone(write)
    // The other finds its way back in its own time.
    const read = await untilDone(async () => second?.core.readNamespacedConfigMap({ namespace: 'default', name: 'after' }))
    assert.equal(read?.metadata?.name, 'after')
  })

  test('each of them learns of webhooks and of extension servers', { timeout: 240_000 }, async (t) => {
    const hook = await startWebhookServer([])
    t.after(() => hook[Symbol.asyncDispose]())
    hook.on('/no', () => ({ allowed: false, status: { message: 'not today' } }))
    const clients = servers.map(clientOf)
    const [first = assert.fail()] = clients
    const webhook = {
      name: 'no.example.com',
      clientConfig: { url: hook.url('/no'), caBundle: hook.caBundle },
      rules: [{ operations: ['CREATE'], apiGroups: [''], apiVersions: ['v1'], resources: ['secrets'] }],
      sideEffects: 'None',
      admissionReviewVersions: ['v1'],
    }
    const body = { metadata: { name: 'no' }, webhooks: [webhook] }
    await first.config.makeApiClient(AdmissionregistrationV1Api).createValidatingWebhookConfiguration({ body })
    const secret = { namespace: 'default', body: { metadata: { generateName: 'tried-' } }, dryRun: 'All' }
    for (const { core } of clients) {
      const refusal = () => core.createNamespacedSecret(secret).then(() => undefined, String)
      // Etcd was away just now, which others may still say.
      for (let refused = await refusal(); !/not today/.test(refused ?? ''); refused = await refusal()) t.signal.throwIfAborted()
    }
    const { data = {} } = await first.core.readNamespacedConfigMap({ namespace: 'kube-system', name: 'extension-apiserver-authentication' })
    const extension = await startExtensionServer(['extension.default.svc'], 'shared.example.com', {
      authority: data['requestheader-client-ca-file'] ?? '',
      allowedNames: ['front-proxy-client'],
    })
    t.after(() => extension[Symbol.asyncDispose]())
    if (extension.address === undefined) return
    const ports = [{ name: 'https', port: 443, targetPort: extension.port }]
    await first.core.createNamespacedService({ namespace: 'default', body: { metadata: { name: 'extension' }, spec: { ports } } })
    const labels = { 'kubernetes.io/service-name': 'extension' }
    await first.config.makeApiClient(DiscoveryV1Api).createNamespacedEndpointSlice({
      namespace: 'default',
      body: {
        metadata: { name: 'extension-1', labels },
        addressType: 'IPv4',
        endpoints: [{ addresses: [extension.address] }],
        ports: [{ name: 'https', port: extension.port }],
      },
    })
    const spec = { group: extension.group, version: 'v1', groupPriorityMinimum: 100, versionPriority: 10, caBundle: extension.caBundle }
    await first.config.makeApiClient(ApiregistrationV1Api).createAPIService({
      body: { metadata: { name: 'v1.shared.example.com' }, spec: { ...spec, service: { namespace: 'default', name: 'extension' } } },
    })
    for (const { config } of clients) {
      const widgets = () =>
        config
          .makeApiClient(CustomObjectsApi)
          .listNamespacedCustomObject({ group: extension.group, version: 'v1', namespace: 'default', plural: 'widgets' })
          .catch(() => undefined)
      let list = (await widgets()) as { kind?: string } | undefined
      for (; list === undefined; list = (await widgets()) as { kind?: string } | undefined) t.signal.throwIfAborted()
      assert.equal(list.kind, 'WidgetList')
    }
  })

  test('etcd is full: writes fail and say so, reads and deletions go on, status tells what to do, and then it is over', {
    skip: etcdctlMissing ?? false,
    timeout: 240_000,
  }, async () => {
    const [first = assert.fail(), second = assert.fail()] = servers.map(clientOf)
    const large = 'x'.repeat(900_000)
    const write = (name: string, text: string) =>
      first.core.createNamespacedConfigMap({ namespace: 'default', body: { metadata: { name }, data: { text } } }).then(() => '', String)
    let refused = ''
    // A busy etcd may also refuse a write for lack of time.
    for (let index = 0; !refused.includes('space exceeded') && index < (2 * quotaBytes) / large.length; index++)
      refused = await write(`large-${index}`, large)
    assert.match(refused, /500.*etcdserver: mvcc: database space exceeded: nothing more is written until .*etcdctl alarm disarm/s)
    assert.match(await write('small', ''), /database space exceeded/)

    const names = async () =>
      (await second.core.listNamespacedConfigMap({ namespace: 'default' })).items.map(({ metadata }) => metadata?.name)
    assert.ok((await names()).includes('large-0'))
    for (const name of ['large-0', 'large-1', 'large-2']) await first.core.deleteNamespacedConfigMap({ namespace: 'default', name })
    assert.ok(!(await names()).includes('large-0'))
    const status = () => {
      const { stdout, stderr } = spawnSync(process.execPath, [program, 'status', '--data-dir', join(servers[1]?.directory ?? '', 'data')])
      return `${stdout}${stderr}`
    }
    const isFull = /What is wrong:\n {2}- store: etcdserver: mvcc: database space exceeded \(etcd member \w+\): .*etcdctl compact/
    for (let tries = 0; !isFull.test(status()) && tries < 100; tries++) await new Promise((resolve) => setTimeout(resolve, 200))
    assert.match(status(), isFull)

    const etcdctl = (...words: string[]) => {
      const env = { ...process.env, ETCDCTL_API: '3' }
      const patient = ['--endpoints', etcd.endpoint, '--command-timeout', '120s']
      const { status, stdout, stderr } = spawnSync('etcdctl', [...patient, ...words], { env, encoding: 'utf8' })
      assert.equal(status, 0, stderr)
      return stdout
    }
    const [, revision = ''] = /"revision":(\d+)/.exec(etcdctl('get', 'x', '-w', 'json')) ?? []
    etcdctl('compact', revision, '--physical')
    etcdctl('defrag')
    etcdctl('alarm', 'disarm')
    assert.equal(await write('small', ''), '')
    assert.ok((await names()).includes('small'))
    for (let tries = 0; isFull.test(status()) && tries < 100; tries++) await new Promise((resolve) => setTimeout(resolve, 200))
    assert.doesNotMatch(status(), /database space exceeded/)
  })
})
