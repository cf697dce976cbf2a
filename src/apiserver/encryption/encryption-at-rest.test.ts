import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { EncryptionAtRest } from '#apiserver/encryption/encryption-at-rest.ts'
import { rewriteStaleValues } from '#apiserver/encryption/rewrite-stale.ts'
import type { FromStorage } from '#apiserver/encryption/transformer.ts'
import { nodeFiles } from '#base/files.ts'
import { grpcChannel } from '#base/grpc.ts'
import { type LogRecord, recordingLogger } from '#base/log.ts'
import { systemRandom } from '#base/random.ts'
import { VirtualClock } from '#base/virtual-clock.ts'

const place = '/registry/secrets/default/s'
const plain = Buffer.from('value')
const secret = (byte: number, size = 32) => Buffer.alloc(size, byte).toString('base64')
const head = 'apiVersion: apiserver.config.k8s.io/v1\nkind: EncryptionConfiguration\nresources:\n'
const keys = (cipher: string, ...pairs: [string, string][]) =>
  `  - ${cipher}:\n      keys:\n${pairs.map(([name, value]) => `      - {name: "${name}", secret: ${value}}\n`).join('')}`

function directory(t: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), 'encryption-'))
  t.after(() => rmSync(path, { recursive: true }))
  return path
}

async function open(
  t: TestContext,
  text: string,
  options: { path?: string; clock?: VirtualClock; reload?: boolean; records?: LogRecord[] } = {},
) {
  const { path = join(directory(t), 'config.yaml'), clock = new VirtualClock(), reload = false, records = [] } = options
  writeFileSync(path, text)
  const encryption = await EncryptionAtRest.open({
    files: nodeFiles,
    path,
    clock,
    random: systemRandom,
    log: recordingLogger(records),
    reload,
    connect: grpcChannel,
  })
  t.after(() => encryption[Symbol.dispose]())
  return encryption
}

test('each resource gets the ciphers of the first rule that names it', async (t) => {
  const encryption = await open(
    t,
    `${head}- resources: [secrets, widgets.example.com]\n  providers:\n${keys('aesgcm', ['a', secret(1)])}  - identity: {}\n` +
      `- resources: ['*.apps']\n  providers:\n${keys('secretbox', ['b', secret(2)])}- resources: ['*.*']\n  providers:\n${keys('aescbc', ['c', secret(3)])}`,
  )
  const prefix = (group: string, resource: string) =>
    Buffer.from(encryption.transformerFor(group, resource)?.toStorage(plain, place) as Uint8Array)
      .toString('latin1')
      .match(/^(?:k8s:enc:\w+:v1:\w:)?/)?.[0]
  assert.equal(prefix('', 'secrets'), 'k8s:enc:aesgcm:v1:a:')
  assert.equal(prefix('example.com', 'widgets'), 'k8s:enc:aesgcm:v1:a:')
  assert.equal(prefix('apps', 'deployments'), 'k8s:enc:secretbox:v1:b:')
  assert.equal(prefix('', 'configmaps'), 'k8s:enc:aescbc:v1:c:')
})

test('resources that no rule names are stored as they are', async (t) => {
  const encryption = await open(t, `${head}- resources: [secrets]\n  providers:\n${keys('aesgcm', ['a', secret(1)])}`)
  assert.equal(encryption.transformerFor('', 'configmaps'), undefined)
})

const wrong: [string, string, RegExp][] = [
  ['nothing', '', /is empty/],
  ['another kind', 'apiVersion: v1\nkind: Secret\n', /expected EncryptionConfiguration of apiserver/],
  ['an unknown field', `${head}- resources: [secrets]\n  provider: []\n`, /unknown field "resources\[0\]\.provider"/],
  [
    'a short key',
    `${head}- resources: [secrets]\n  providers:\n${keys('aesgcm', ['a', secret(1, 5)])}`,
    /secret: Invalid value: "REDACTED": secret is not of the expected length, got 5, expected one of \[16 24 32\]/,
  ],
  [
    'a key that is no base64',
    `${head}- resources: [secrets]\n  providers:\n${keys('secretbox', ['a', '"not base64"'])}`,
    /REDACTED": secrets must be base64 encoded/,
  ],
  ['no provider', `${head}- resources: [secrets]\n  providers: []\n`, /at least one resources\[0\]\.providers is required/],
  [
    'two in one',
    `${head}- resources: [secrets]\n  providers:\n  - {identity: {}, aesgcm: {keys: [{name: a, secret: ${secret(1)}}]}}\n`,
    /more than one provider specified/,
  ],
  [
    'a masked rule',
    `${head}- resources: ['*.*']\n  providers: [{identity: {}}]\n- resources: [secrets]\n  providers: [{identity: {}}]\n`,
    /resource "secrets" is masked by earlier rule "\*\.\*"/,
  ],
  ['overlap', `${head}- resources: [secrets, '*.']\n  providers: [{identity: {}}]\n`, /overlapping resources/],
  [
    'a bare star',
    `${head}- resources: ['*']\n  providers: [{identity: {}}]\n`,
    /use '\*\.' to encrypt all the resources from core API group/,
  ],
  ['capitals', `${head}- resources: [Secrets]\n  providers: [{identity: {}}]\n`, /should not contain capital letters/],
  [
    'a key service over TCP',
    `${head}- resources: [secrets]\n  providers: [{kms: {apiVersion: v2, name: k, endpoint: 'tcp://x'}}]\n`,
    /unsupported scheme "tcp" for KMS provider, only unix is supported/,
  ],
  ['KMS v1', `${head}- resources: [secrets]\n  providers: [{kms: {name: k, endpoint: 'unix:///x'}}]\n`, /set apiVersion to v2/],
]
for (const [what, text, message] of wrong) {
  test(`a configuration with ${what} is refused`, async (t) => {
    await assert.rejects(open(t, text), message)
  })
}

test('keys are never repeated in an error', async (t) => {
  const text = `${head}- resources: [secrets]\n  providers:\n${keys('aesgcm', ['a', secret(7, 17)])}`
  await assert.rejects(open(t, text), (error: Error) => !error.message.includes(secret(7, 17)))
})

test('a changed file takes effect without a restart, a broken one does not', async (t) => {
  const clock = new VirtualClock()
  const path = join(directory(t), 'config.yaml')
  const one = `${head}- resources: [secrets]\n  providers:\n${keys('aesgcm', ['1', secret(1)])}`
  const two = `${head}- resources: [secrets]\n  providers:\n${keys('aesgcm', ['2', secret(2)], ['1', secret(1)])}`
  const records: LogRecord[] = []
  const encryption = await open(t, one, { path, clock, reload: true, records })
  const transformer = encryption.transformerFor('', 'secrets')
  assert.ok(transformer !== undefined)
  const stored = transformer.toStorage(plain, place) as Uint8Array
  writeFileSync(path, 'broken')
  while (!records.some(({ message }) => message === 'failed to reload EncryptionConfiguration, keeping the old one'))
    await clock.advance(1000)
  assert.equal((transformer.fromStorage(stored, place) as FromStorage).isStale, false)
  writeFileSync(path, two)
  let isChanged = false
  encryption.onChange(() => {
    isChanged = true
  })
  while (!isChanged) await clock.advance(1000)
  const read = transformer.fromStorage(stored, place) as FromStorage
  assert.deepEqual([Buffer.from(read.bytes), read.isStale], [plain, true])
})

test('after a change of keys stale values are written anew, and only those', async (t) => {
  const { MemoryStore } = await import('#store/memory/memory-store.ts')
  const store = new MemoryStore({ clock: new VirtualClock() })
  t.after(() => store.close())
  const before = (await open(t, `${head}- resources: [secrets]\n  providers:\n  - identity: {}\n`)).transformerFor('', 'secrets')
  const after = (
    await open(t, `${head}- resources: [secrets]\n  providers:\n${keys('aesgcm', ['a', secret(1)])}  - identity: {}\n`)
  ).transformerFor('', 'secrets')
  assert.ok(before !== undefined && after !== undefined)
  for (let index = 0; index < 1203; index++) {
    const key = `/registry/secrets/default/s${index}`
    const value = await (index % 3 === 0 ? after : before).toStorage(Buffer.from(`v${index}`), key)
    await store.txn({ success: [{ put: { key, value } }] })
  }
  await store.txn({ success: [{ put: { key: '/registry/secretz/other', value: plain } }] })
  assert.equal(await rewriteStaleValues(store, '/registry/secrets/', after), 802)
  assert.equal(await rewriteStaleValues(store, '/registry/secrets/', after), 0)
  const { kvs } = await store.range({ prefix: '/registry/secrets/' })
  for (const { key, value } of kvs) {
    assert.equal(Buffer.from((await after.fromStorage(value, key)).bytes).toString(), `v${key.slice('/registry/secrets/default/s'.length)}`)
  }
})
