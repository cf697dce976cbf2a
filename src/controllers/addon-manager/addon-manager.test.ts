import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { ConfigMap } from '#api/core/v1/kinds.gen.ts'
import { isNotFound } from '#api/meta/server-response.ts'
import { nodeFiles } from '#base/files.ts'
import { type LogRecord, recordingLogger } from '#base/log.ts'
import { startAddonManager } from '#controllers/addon-manager/addon-manager.ts'
import { addonMode } from '#controllers/addon-manager/read-addons.ts'
import { FakeCluster } from '#testing/fake-cluster.ts'

const directory = mkdtempSync(join(tmpdir(), 'addons-'))
const log: LogRecord[] = []
let cluster: FakeCluster
let manager: ReturnType<typeof startAddonManager>

before(async () => {
  cluster = await FakeCluster.start({ withoutNodes: true })
  const { client, clock } = cluster
  // Changes of the directory are told by `sync` here, so that nothing depends on when the machine tells of them.
  const files = { ...nodeFiles, watch: () => ({ [Symbol.dispose]() {} }) }
  manager = startAddonManager({ client, clock, directory, files, logger: recordingLogger(log) })
})
after(async () => {
  await manager[Symbol.asyncDispose]()
  await cluster[Symbol.asyncDispose]()
  rmSync(directory, { recursive: true })
})

const manifest = (name: string, label: string, text: string, extra = '') =>
  `apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: ${name}\n${extra}  labels: { ${label} }\ndata: { text: "${text}" }\n`
const reconciled = 'addonmanager.kubernetes.io/mode: Reconcile'
const ensured = 'addonmanager.kubernetes.io/mode: EnsureExists'
const put = (file: string, content: string) => writeFileSync(join(directory, file), content)
const textOf = async (name: string, namespace = 'kube-system') =>
  cluster.client.get(ConfigMap, namespace, name).then(
    ({ data }) => data?.['text'],
    (error: unknown) => (isNotFound(error) ? undefined : assert.fail(String(error))),
  )
const change = (name: string) =>
  cluster.client.patch(ConfigMap, { namespace: 'kube-system', name }, { data: { text: 'changed' } }, { type: 'merge' })

test('labels say how an object is kept', () => {
  assert.equal(addonMode({ 'addonmanager.kubernetes.io/mode': 'EnsureExists', 'kubernetes.io/cluster-service': 'true' }), 'EnsureExists')
  assert.equal(addonMode({ 'kubernetes.io/cluster-service': 'true' }), 'Reconcile')
  assert.equal(addonMode({ 'addonmanager.kubernetes.io/mode': 'Never' }), undefined)
  assert.equal(addonMode(), undefined)
})

test('objects with a label are made, in kube-system where they name no namespace; others are not', async () => {
  mkdirSync(join(directory, 'deeper'))
  put('a.yaml', `${manifest('kept', reconciled, 'one')}---\n${manifest('once', ensured, 'one')}`)
  put('deeper/b.yml', manifest('older', "kubernetes.io/cluster-service: 'true'", 'one', '  namespace: default\n'))
  put('c.yaml', manifest('plain', 'app: plain', 'one'))
  put('notes.txt', 'no manifest')
  await manager.sync()
  assert.deepEqual([await textOf('kept'), await textOf('once'), await textOf('older', 'default')], ['one', 'one', 'one'])
  assert.equal(await textOf('plain'), undefined)
})

test('what is reconciled is put back within a minute, what must only exist is left to its users', async () => {
  await change('kept')
  await change('once')
  await cluster.clock.advanceUntil(async () => {
    // Files take their own time, whatever the clock says.
    await manager.settled()
    return (await textOf('kept')) === 'one'
  })
  assert.equal(await textOf('once'), 'changed')
})

test('a file that cannot be read deletes nothing', async () => {
  put('a.yaml', 'kind: [')
  await manager.sync()
  assert.deepEqual([await textOf('kept'), await textOf('once')], ['one', 'changed'])
  assert.ok(log.some(({ message, fields }) => message === 'failed to read add-ons' && String(fields['problem']).includes('a.yaml')))
})

test('what is no longer in the directory goes; what must only exist, and what others made, stays', async () => {
  const metadata = { namespace: 'default', name: 'theirs', labels: { 'addonmanager.kubernetes.io/mode': 'Reconcile' } }
  await cluster.client.create(ConfigMap, { metadata, data: { text: 'theirs' } })
  put('a.yaml', '')
  await manager.sync()
  assert.deepEqual([await textOf('kept'), await textOf('once'), await textOf('older', 'default')], [undefined, 'changed', 'one'])
  assert.equal(await textOf('theirs', 'default'), 'theirs')
})

test('a kind comes with its definition, in whatever order they stand', async () => {
  const labels = { 'addonmanager.kubernetes.io/mode': 'Reconcile' }
  const schema = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } }
  const spec = {
    ...{ group: 'example.com', scope: 'Cluster', names: { kind: 'Thing', plural: 'things' } },
    versions: [{ name: 'v1', served: true, storage: true, schema }],
  }
  const definition = {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'things.example.com', labels },
    spec,
  }
  const thing = { apiVersion: 'example.com/v1', kind: 'Thing', metadata: { name: 'first', labels }, size: 3 }
  put('d.json', JSON.stringify({ apiVersion: 'v1', kind: 'List', items: [thing, definition] }))
  const Thing = { group: 'example.com', version: 'v1', kind: 'Thing', plural: 'things', scope: 'Cluster' as const, schema: '' }
  await cluster.clock.advanceUntil(async () => {
    await manager.sync()
    return cluster.client.get(Thing, '', 'first').then(
      () => true,
      () => false,
    )
  })
})
