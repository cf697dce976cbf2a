/** Secrets on disk: not to be read there, rewritten when keys change, and refused without their key. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { annotationFields, bytesField, decodeFields, textField } from '#apiserver/encryption/kms-messages.ts'
import { type GrpcServer, startGrpcServer } from '#base/grpc.ts'
import { type Ask, asker, bearer } from '../support/ask.ts'
import { type RunningCluster, startCluster } from '../support/running-cluster.ts'

const root = bearer('test-token')
const quiet = ['--runtime', 'none', '--controllers=', '--scheduler=false']
const value = 'a value that nobody is to find'
const aSecret = (name: string) => ({ metadata: { name }, stringData: { password: value } })
const secrets = '/api/v1/namespaces/default/secrets'

function encryptionConfig(directory: string, ...providers: object[]): string {
  const path = join(directory, 'encryption.json')
  const resources = [{ resources: ['secrets'], providers }]
  writeFileSync(path, JSON.stringify({ apiVersion: 'apiserver.config.k8s.io/v1', kind: 'EncryptionConfiguration', resources }))
  return path
}

const key = (name: string) => ({ name, secret: randomBytes(32).toString('base64') })
const asked = (cluster: RunningCluster): Ask => asker(cluster.url, readFileSync(join(cluster.directory, 'data', 'pki', 'ca.crt'), 'utf8'))

async function password(ask: Ask, name: string): Promise<string> {
  const { body } = await ask(root, 'GET', `${secrets}/${name}`)
  return Buffer.from((body['data'] as { password: string } | undefined)?.password ?? '', 'base64').toString()
}

/** Everything the store has on disk. */
function onDisk(directory: string): Buffer {
  const store = join(directory, 'data', 'store')
  const files = readdirSync(store, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
  return Buffer.concat(files.map((entry) => readFileSync(join(entry.parentPath, entry.name))))
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

test("a key service outside encrypts secrets, and its health is the server's", async () => {
  const directory = mkdtempSync(join(tmpdir(), 'tn kms '))
  const socket = join(directory, 'kms.sock')
  const service = await keyService(socket)
  const kms = { apiVersion: 'v2', name: 'vault', endpoint: `unix://${socket}`, timeout: '2s' }
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
    if (tries > 200) throw new Error('what was waited for did not happen')
    await new Promise((resolve) => setTimeout(resolve, 25))
  }
}
