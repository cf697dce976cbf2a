/** One API served by several threads: each request of these tests comes on a connection of its own, and hence to any of them. */
import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import type { V1CustomResourceDefinition } from '#api/apiextensions/v1/types.gen.ts'
import type { V1ConfigMap } from '#api/core/v1/types.gen.ts'
import { isConditionTrue } from '#api/meta/find-condition.ts'
import { asker, bearer, type Reply } from '../support/ask.ts'
import { type RunningCluster, startCluster } from '../support/running-cluster.ts'

const rounds = 12
const policy = { apiVersion: 'audit.k8s.io/v1', kind: 'Policy', omitStages: ['RequestReceived'], rules: [{ level: 'Metadata' }] }

describe('an API that is served by three threads', { timeout: 600_000 }, () => {
  let cluster: RunningCluster
  let send: (method: string, path: string, body?: object, headers?: Record<string, string>) => Promise<Reply>
  let auditLog: string

  before(async () => {
    const directory = mkdtempSync(join(tmpdir(), 'tn test '))
    auditLog = join(directory, 'audit.log')
    writeFileSync(join(directory, 'policy.json'), JSON.stringify(policy))
    const audit = ['--audit-policy-file', join(directory, 'policy.json'), '--audit-log-path', auditLog]
    cluster = await startCluster(['--api-workers', '3', '--sim-nodes', '1', ...audit], directory)
    const ask = asker(cluster.url, readFileSync(join(directory, 'data', 'pki', 'ca.crt'), 'utf8'))
    send = (...request) => ask(bearer(cluster.token), ...request)
  })
  after(() => cluster?.[Symbol.asyncDispose]())

  const configMaps = '/api/v1/namespaces/default/configmaps'

  test('what one thread has stored is read by all others at once, and listed', async () => {
    for (let round = 0; round < rounds; round++) {
      const name = `c-${round}`
      assert.equal((await send('POST', configMaps, { metadata: { name }, data: { round: '0' } })).status, 201)
      const { body: read } = await send('GET', `${configMaps}/${name}`)
      assert.deepEqual(read['data'], { round: '0' }, name)
      const changed = { ...read, data: { round: '1' } }
      assert.equal((await send('PUT', `${configMaps}/${name}`, changed)).status, 200)
      assert.equal((await send('PUT', `${configMaps}/${name}`, changed)).status, 409)
      const { body: list } = await send('GET', configMaps)
      const items = list['items'] as V1ConfigMap[]
      assert.equal(items.find(({ metadata }) => metadata?.name === name)?.data?.['round'], '1')
    }
  })

  test('writers in all threads that count one object up lose nothing', async () => {
    const name = 'counter'
    await send('POST', configMaps, { metadata: { name }, data: { count: '0' } })
    const countOf = (body: Reply['body']) => Number((body as V1ConfigMap).data?.['count'])
    const countUp = async () => {
      for (;;) {
        const { body } = await send('GET', `${configMaps}/${name}`)
        const count = String(countOf(body) + 1)
        const { status } = await send('PUT', `${configMaps}/${name}`, { ...body, data: { count } })
        if (status === 200) return
        assert.equal(status, 409)
      }
    }
    await Promise.all(
      Array.from({ length: 6 }, async () => {
        for (let time = 0; time < 3; time++) await countUp()
      }),
    )
    assert.equal(countOf((await send('GET', `${configMaps}/${name}`)).body), 18)
  })

  test('a kind that has just been defined is served by every thread', async () => {
    const definition = {
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: 'things.example.com' },
      spec: {
        group: 'example.com',
        scope: 'Namespaced',
        names: { plural: 'things', singular: 'thing', kind: 'Thing', listKind: 'ThingList' },
        versions: [
          {
            name: 'v1',
            served: true,
            storage: true,
            schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
          },
        ],
      },
    }
    assert.equal((await send('POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', definition)).status, 201)
    const isEstablished = async () => {
      const { body } = await send('GET', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/things.example.com')
      return isConditionTrue((body as V1CustomResourceDefinition).status?.conditions, 'Established')
    }
    while (!(await isEstablished()));
    const things = '/apis/example.com/v1/namespaces/default/things'
    for (let round = 0; round < rounds; round++) {
      const thing = { apiVersion: 'example.com/v1', kind: 'Thing', metadata: { name: `t-${round}` } }
      assert.equal((await send('POST', things, thing)).status, 201)
      assert.equal((await send('GET', `${things}/t-${round}`)).status, 200)
      assert.equal((await send('GET', '/apis/example.com/v1')).status, 200)
    }
  })

  test('what only the first thread can answer is answered by all: extensions, discovery, nodes, metrics of all together', async () => {
    const ofNode = ['/apis/metrics.k8s.io/v1beta1/nodes', '/api/v1/nodes/sim-node-1/proxy/healthz']
    for (const path of ofNode) while ((await send('GET', path)).status !== 200);
    const before = await listsCounted()
    for (let round = 0; round < rounds; round++) {
      for (const path of ofNode) assert.equal((await send('GET', path)).status, 200)
      assert.equal((await send('GET', '/readyz')).status, 200)
      await send('GET', '/api/v1/namespaces/nowhere/podtemplates')
    }
    // A request counts once it is over, which is after it was answered.
    while ((await listsCounted()) - before < rounds);
    assert.equal((await listsCounted()) - before, rounds)
  })

  /** Lists of what nobody else lists in a namespace, by the metrics of whichever thread is asked. */
  async function listsCounted(): Promise<number> {
    const text = String((await send('GET', '/metrics')).body['answer'])
    return Number(
      /^apiserver_request_total\{code="200".*resource="podtemplates",scope="namespace".*verb="LIST".* (\d+)$/m.exec(text)?.[1] ?? 0,
    )
  }

  test('every request is in the one audit log, once', async () => {
    for (let round = 0; round < rounds; round++) await send('GET', `/api/v1/namespaces/audited-${round}/endpoints`)
    // The last line may be half written.
    const events = () =>
      readFileSync(auditLog, 'utf8')
        .split('\n')
        .slice(0, -1)
        .map((line) => JSON.parse(line))
    const found = () => events().filter(({ objectRef }) => objectRef?.namespace?.startsWith('audited-'))
    while (found().length < rounds) await send('GET', '/version')
    assert.equal(new Set(found().map(({ objectRef }) => objectRef.namespace)).size, rounds)
    assert.equal(found().length, rounds)
  })
})
