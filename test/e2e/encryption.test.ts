/** Secrets on disk: not to be read there, rewritten when keys change, and refused without their key. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { annotationFields, bytesField, decodeFields, textField } from '#apiserver/encryption/kms-messages.ts'
import { type GrpcServer, startGrpcServer } from '#base/grpc.ts'
import { type Ask, asker, bearer } from '../support/ask.ts'
import { type RunningCluster, startCluster } from '../support/running-cluster.ts'

const program = join(import.meta.dirname, '..', '..', 'bin', 'typernetes.js')
const root = bearer('test-token')
const quiet = ['--runtime', 'none', '--controllers=', '--scheduler=false']
const value = 'a value that nobody is to find'
const aSecret = (name: string) => ({ metadata: { name }, stringData: { password: value } })
const secrets = '/api/v1/namespaces/default/secrets'

function encryptionConfig(directory: string, ...providers: object[]): string {
  const path = join(directory, 'encryption.json')
  const resources = [{ resources: ['secrets'], providers }]
  writeFileSync(`${path}.draft`, JSON.stringify({ apiVersion: 'apiserver.config.k8s.io/v1', kind: 'EncryptionConfiguration', resources }))
  renameSync(`${path}.draft`, path)
  return path
}

const key = (name: string) => ({ name, secret: randomBytes(32).toString('base64') })
const asked = (cluster: RunningCluster): Ask => asker(cluster.url, readFileSync(join(cluster.directory, 'data', 'pki', 'ca.crt'), 'utf8'))

async function password(ask: Ask, name: string): Promise<string> {
  const { body } = await ask(root, 'GET', `${secrets}/${name}`)
  return Buffer.from((body['data'] as { password: string } | undefined)?.password ?? '', 'base64').toString()
}

/** Everything the store has on disk; a file that goes while this looks has nothing. */
function onDisk(directory: string): Buffer {
  const store = join(directory, 'data', 'store')
  const files = readdirSync(store, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
  const contentOf = (path: string) => {
    try {
      return readFileSync(path)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
      return Buffer.alloc(0)
    }
  }
  return Buffer.concat(files.map((entry) => contentOf(join(entry.parentPath, entry.name))))
}

test('secrets are encrypted on disk, survive a change of keys, and stay closed to a wrong key', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'tn encryption '))
  const [first, second] = [key('first'), key('second')]
  const flags = ['--store', 'sqlite', ...quiet, '--encryption-provider-config']
  {
    await using cluster = await startCluster(
      [...flags, encryptionConfig(directory, { aesgcm: { keys: [first] } }), '--encryption-provider-config-automatic-reload'],
      directory,
    ).then(keepingDirectory)
    const ask = asked(cluster)
    await ask(root, 'POST', secrets, aSecret('s'))
    await ask(root, 'POST', '/api/v1/namespaces/default/configmaps', { metadata: { name: 'c' }, data: { open: 'a value to be found' } })
    assert.equal(await password(ask, 's'), value)
    assert.ok(onDisk(directory).includes('a value to be found'), 'what is not encrypted is seen on disk')
    const { body } = await ask(root, 'GET', `${secrets}?resourceVersion=${await revision(ask)}&resourceVersionMatch=Exact`)
    assert.equal((body['items'] as object[]).length, 1, 'lists at a revision are readable')
    encryptionConfig(directory, { secretbox: { keys: [second] } }, { aesgcm: { keys: [first] } })
    await until(() => onDisk(directory).includes('k8s:enc:secretbox:v1:second:'))
    assert.equal(await password(ask, 's'), value)
    await cluster.stop()
  }
  const bytes = onDisk(directory)
  assert.ok(!bytes.includes(value) && !bytes.includes(Buffer.from(value).toString('base64')), 'the secret is not seen on disk')
  {
    await using cluster = await startCluster([...flags, encryptionConfig(directory, { secretbox: { keys: [second] } })], directory).then(
      keepingDirectory,
    )
    assert.equal(await password(asked(cluster), 's'), value, 'the key that was replaced is not needed any more')
    await cluster.stop()
  }
  await assert.rejects(
    startCluster([...flags, encryptionConfig(directory, { secretbox: { keys: [key('second')] } })], directory),
    /secrets cannot be read from the store: unable to transform key "\/registry\/secrets\/default\/s"/,
  )
})

test('a new cluster encrypts secrets with a key of its own, which is replaced while two threads serve', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'tn own key '))
  const file = join(directory, 'data', 'pki', 'encryption.json')
  const own = (...words: string[]) => {
    const args = [program, 'secrets', ...words, '--data-dir', join(directory, 'data')]
    const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8', timeout: 100_000 })
    assert.equal(status, 0, stderr)
    return stdout
  }
  {
    await using cluster = await startCluster(['--store', 'sqlite', ...quiet, '--api-workers', '2'], directory).then(keepingDirectory)
    const ask = asked(cluster)
    await ask(root, 'POST', secrets, aSecret('s'))
    await ask(root, 'POST', '/api/v1/namespaces/default/configmaps', { metadata: { name: 'c' }, data: { open: 'a value to be found' } })
    assert.equal(statSync(file).mode & 0o777, 0o600)
    assert.match(own('status'), /key1 +aesgcm +writes and reads/)
    assert.match(own('rotate-key'), /key2 was added.*all secrets are written anew.*key2 is the only key now/s)
    await ask(root, 'POST', secrets, aSecret('later'))
    for (const name of ['s', 'later']) assert.equal(await password(ask, name), value)
    await cluster.stop()
  }
  const bytes = onDisk(directory)
  assert.ok(bytes.includes('a value to be found'), 'what is not a secret is seen on disk')
  assert.ok(bytes.includes('k8s:enc:aesgcm:v1:key2:'))
  assert.ok(!bytes.includes(Buffer.from(value).toString('base64')), 'the secret is not seen on disk')
  const kept = readFileSync(file)
  rmSync(file)
  await assert.rejects(startCluster(['--store', 'sqlite', ...quiet], directory), /secrets in the store are encrypted.*encryption\.json/s)
  writeFileSync(file, kept)
  await using cluster = await startCluster(['--store', 'sqlite', ...quiet], directory)
  assert.equal(await password(asked(cluster), 's'), value, 'the key that was dropped is not needed any more')
})

test("a key service outside encrypts secrets, and its health is the server's", async () => {
  const directory = mkdtempSync(join(tmpdir(), 'tn kms '))
  const socket = join(directory, 'kms.sock')
  const service = await keyService(socket)
  const kms = { apiVersion: 'v2', name: 'vault', endpoint: `unix://${socket}`, timeout: '60s' }
  await using cluster = await startCluster(
    ['--store', 'memory', ...quiet, '--encryption-provider-config', encryptionConfig(directory, { kms })],
    directory,
  )
  const ask = asked(cluster)
  await Promise.all(Array.from({ length: 20 }, (_, index) => ask(root, 'POST', secrets, aSecret(`s${index}`))))
  const { body } = await ask(root, 'GET', secrets)
  assert.equal((body['items'] as object[]).length, 20)
  assert.equal(await password(ask, 's7'), value)
  const { body: healthy } = await ask(root, 'GET', '/readyz?verbose')
  assert.match(String(healthy['answer']), /\[\+\]kms-providers ok/)
  await service.close()
})

/** KMS v2 with the worst cipher there is. */
function keyService(socket: string): Promise<GrpcServer> {
  const mirrored = (bytes: Uint8Array) => bytes.map((byte) => byte ^ 0x5a)
  const first = (request: Uint8Array) => Buffer.from(decodeFields(request).get(1)?.[0] as Uint8Array)
  return startGrpcServer({
    address: `unix:${socket}`,
    handlers: {
      '/v2.KeyManagementService/Status': {
        answer: async () => Buffer.concat([textField(1, 'v2'), textField(2, 'ok'), textField(3, 'key-1')]),
      },
      '/v2.KeyManagementService/Encrypt': {
        answer: async (request) =>
          Buffer.concat([bytesField(1, mirrored(first(request))), textField(2, 'key-1'), ...annotationFields(3, {})]),
      },
      '/v2.KeyManagementService/Decrypt': { answer: async (request) => Buffer.from(bytesField(1, mirrored(first(request)))) },
    },
  })
}

async function revision(ask: Ask): Promise<string> {
  const { body } = await ask(root, 'GET', secrets)
  return (body['metadata'] as { resourceVersion: string }).resourceVersion
}

/** The next cluster lives in the same directory. */
function keepingDirectory(cluster: RunningCluster): RunningCluster {
  return { ...cluster, [Symbol.asyncDispose]: async () => void (await cluster.stop('SIGKILL')) }
}

async function until(isTrue: () => boolean): Promise<void> {
  for (let tries = 0; !isTrue(); tries++) {
    if (tries > 2400) throw new Error('what was waited for did not happen')
    await new Promise((resolve) => setTimeout(resolve, 25))
  }
}
