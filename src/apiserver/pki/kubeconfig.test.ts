import assert from 'node:assert/strict'
import { existsSync, lstatSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { load } from 'js-yaml'
import { kubeconfigWithout, mergedKubeconfig, mergeKubeconfig, renderKubeconfig, writeKubeconfig } from '#apiserver/pki/kubeconfig.ts'
import { nodeFiles } from '#base/files.ts'

const entry = {
  name: 'typernetes',
  server: 'https://127.0.0.1:6443',
  authorityPem: 'CA',
  credential: { certificatePem: 'CERT', privateKeyPem: 'KEY', notBeforeMs: 0, notAfterMs: 1 },
}

type Config = {
  clusters: { name: string; cluster: Record<string, unknown> }[]
  users: { name: string; user: Record<string, unknown> }[]
  contexts: { name: string; context: Record<string, unknown> }[]
  'current-context': string
}

function directory(t: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), 'kubeconfig-'))
  t.after(() => rmSync(path, { recursive: true }))
  return path
}

test('a kubeconfig holds everything and is closed to others', async (t) => {
  const path = join(directory(t), 'admin.kubeconfig')
  await writeKubeconfig(nodeFiles, path, entry)
  assert.equal(statSync(path).mode & 0o777, 0o600)
  assert.deepEqual(load(readFileSync(path, 'utf8')), {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'typernetes', cluster: { 'certificate-authority-data': 'Q0E=', server: 'https://127.0.0.1:6443' } }],
    users: [{ name: 'typernetes', user: { 'client-certificate-data': 'Q0VSVA==', 'client-key-data': 'S0VZ' } }],
    contexts: [{ name: 'typernetes', context: { cluster: 'typernetes', user: 'typernetes' } }],
    'current-context': 'typernetes',
  })
})

const other = `
apiVersion: v1
kind: Config
preferences: {colors: true}
clusters:
- {name: prod, cluster: {server: "https://prod"}}
users:
- {name: me, user: {exec: {command: login}}}
contexts:
- {name: prod, context: {cluster: prod, user: me, namespace: web}}
current-context: prod
`

test('merging keeps what others have, and the current context', async () => {
  const { text, contextName } = await mergedKubeconfig(other, entry)
  const config = load(text) as Config
  assert.equal(contextName, 'typernetes')
  assert.equal(config['current-context'], 'prod')
  assert.deepEqual(
    config.contexts.map(({ name }) => name),
    ['prod', 'typernetes'],
  )
  assert.deepEqual(config.users[0], { name: 'me', user: { exec: { command: 'login' } } })
  assert.deepEqual((config as Record<string, unknown>)['preferences'], { colors: true })
})

test('merging into nothing, an empty file or a bare map makes our context the current one', async () => {
  for (const existing of [undefined, '', '\n', 'apiVersion: v1\nkind: Config\nclusters: null\n']) {
    const config = load((await mergedKubeconfig(existing, entry)).text) as Config
    assert.equal(config['current-context'], 'typernetes')
    assert.equal(config.clusters.length, 1)
  }
})

test('merging again replaces our entry, and asks for the current context only when told', async () => {
  const once = (await mergedKubeconfig(other, entry)).text
  const twice = await mergedKubeconfig(once, { ...entry, authorityPem: 'CA2' }, { makeCurrent: true })
  const config = load(twice.text) as Config
  assert.equal(config['current-context'], 'typernetes')
  assert.deepEqual(
    config.clusters.map(({ name }) => name),
    ['prod', 'typernetes'],
  )
  assert.equal(config.clusters[1]?.cluster['certificate-authority-data'], Buffer.from('CA2').toString('base64'))
})

test("another cluster's entry of our name is left alone", async () => {
  const elsewhere = renderKubeconfig({ ...entry, server: 'https://elsewhere', authorityPem: 'OTHER' })
  const { text, contextName } = await mergedKubeconfig(elsewhere, entry)
  assert.equal(contextName, 'typernetes-2')
  const config = load(text) as Config
  assert.deepEqual(
    config.clusters.map(({ name, cluster }) => [name, cluster['server']]),
    [
      ['typernetes', 'https://elsewhere'],
      ['typernetes-2', 'https://127.0.0.1:6443'],
    ],
  )
})

test('a list instead of a map is refused and left alone', async (t) => {
  const path = join(directory(t), 'config')
  writeFileSync(path, '- 1\n')
  await assert.rejects(mergeKubeconfig(nodeFiles, path, entry), /not a map/)
  assert.equal(readFileSync(path, 'utf8'), '- 1\n')
  assert.equal(existsSync(`${path}.lock`), false)
})

test('the file is merged through a link, and not while another program holds its lock', async (t) => {
  const home = directory(t)
  writeFileSync(join(home, 'real'), other)
  symlinkSync('real', join(home, 'config'))
  assert.equal(await mergeKubeconfig(nodeFiles, join(home, 'config'), entry), 'typernetes')
  assert.ok(lstatSync(join(home, 'config')).isSymbolicLink())
  assert.match(readFileSync(join(home, 'real'), 'utf8'), /typernetes/)
  assert.equal(statSync(join(home, 'real')).mode & 0o777, 0o600)
  writeFileSync(join(home, 'real.lock'), '')
  await assert.rejects(
    mergeKubeconfig(nodeFiles, join(home, 'config'), entry),
    /is being changed by another program; if it is not, remove .*real\.lock/,
  )
})

test('what was merged is taken out again, and nothing else', async () => {
  const entry = { name: 'typernetes', server: 'https://127.0.0.1:6443', authorityPem: 'a', credential: { token: 't' } }
  const other = { name: 'other', server: 'https://10.0.0.1', authorityPem: 'b', credential: { token: 'u' } }
  const { text: before } = await mergedKubeconfig(undefined, other)
  const { text } = await mergedKubeconfig(before, entry, { makeCurrent: true })
  const { text: after, names } = await kubeconfigWithout(text, entry.server)
  assert.deepEqual(names, ['typernetes'])
  assert.ok(!after.includes('6443') && !after.includes('typernetes') && after.includes('https://10.0.0.1'))
  assert.match(after, /^current-context: ''$/m)
  assert.deepEqual(await kubeconfigWithout(after, entry.server), { text: after, names: [] })
})
