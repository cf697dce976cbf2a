import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { Server, ServerCredentials } from '@grpc/grpc-js'
import { annotationFields, bytesField, decodeFields, textField } from '#apiserver/encryption/kms-messages.ts'
import { grpcKmsService } from '#apiserver/encryption/kms-service.ts'
import { KmsTransformer } from '#apiserver/encryption/kms-transformer.ts'
import { grpcChannel } from '#base/grpc.ts'
import { silentLogger } from '#base/log.ts'
import { systemRandom } from '#base/random.ts'
import { VirtualClock } from '#base/virtual-clock.ts'

/** A key service: real gRPC on a unix socket, keys by XOR. */
type KeyService = {
  keyId: string
  healthz: string
  /** Answers nothing any more. */
  isSilent: boolean
  readonly calls: { status: number; encrypt: number; decrypt: number }
  stop(): void
}

async function startKeyService(socket: string): Promise<KeyService> {
  const server = new Server()
  const calls = { status: 0, encrypt: 0, decrypt: 0 }
  const service: KeyService = {
    keyId: 'key-1',
    healthz: 'ok',
    isSilent: false,
    calls,
    stop: () => server.forceShutdown(),
  }
  const xored = (bytes: Uint8Array, keyId: string) => bytes.map((byte) => byte ^ (keyId.charCodeAt(keyId.length - 1) & 0xff))
  const text = (fields: ReturnType<typeof decodeFields>, number: number) =>
    Buffer.from((fields.get(number)?.[0] as Uint8Array) ?? '').toString()
  const answers = {
    Status: () => {
      calls.status++
      return [textField(1, 'v2'), textField(2, service.healthz), textField(3, service.keyId)]
    },
    Encrypt: (fields: ReturnType<typeof decodeFields>) => {
      calls.encrypt++
      const plaintext = fields.get(1)?.[0] as Uint8Array
      return [
        bytesField(1, xored(plaintext, service.keyId)),
        textField(2, service.keyId),
        ...annotationFields(3, { 'test.example.com/a': Buffer.from('b') }),
      ]
    },
    Decrypt: (fields: ReturnType<typeof decodeFields>) => {
      calls.decrypt++
      return [bytesField(1, xored(fields.get(1)?.[0] as Uint8Array, text(fields, 3)))]
    },
  }
  const method = (name: keyof typeof answers) => ({
    path: `/v2.KeyManagementService/${name}`,
    requestStream: false,
    responseStream: false,
    requestSerialize: (bytes: Buffer) => bytes,
    requestDeserialize: (bytes: Buffer) => bytes,
    responseSerialize: (bytes: Buffer) => bytes,
    responseDeserialize: (bytes: Buffer) => bytes,
  })
  const handler = (name: keyof typeof answers) => (call: { request: Buffer }, callback: (error: null, response: Buffer) => void) => {
    if (service.isSilent) return
    callback(null, Buffer.concat(answers[name](decodeFields(call.request))))
  }
  server.addService(
    { Status: method('Status'), Encrypt: method('Encrypt'), Decrypt: method('Decrypt') },
    { Status: handler('Status'), Encrypt: handler('Encrypt'), Decrypt: handler('Decrypt') },
  )
  await new Promise<void>((resolve, reject) => {
    server.bindAsync(`unix:${socket}`, ServerCredentials.createInsecure(), (error) => (error === null ? resolve() : reject(error)))
  })
  return service
}

const place = '/registry/secrets/default/s'
const plain = Buffer.from('value')

async function keyService(t: TestContext): Promise<{ socket: string; service: KeyService }> {
  const directory = mkdtempSync(join(tmpdir(), 'kms-'))
  const socket = join(directory, 'kms.sock')
  const service = await startKeyService(socket)
  t.after(() => {
    service.stop()
    rmSync(directory, { recursive: true })
  })
  return { socket, service }
}

async function start(t: TestContext, socket: string, clock: VirtualClock): Promise<KmsTransformer> {
  const service = grpcKmsService(await grpcChannel(`unix://${socket}`), 60_000)
  const transformer = await KmsTransformer.start({ name: 'vault', service, clock, random: systemRandom, log: silentLogger })
  t.after(() => transformer[Symbol.dispose]())
  return transformer
}

test('values are under derived keys, and the service is asked once', async (t) => {
  const { socket, service } = await keyService(t)
  const clock = new VirtualClock()
  const first = await start(t, socket, clock)
  const stored = Array.from({ length: 50 }, (_, index) => first.toStorage(plain, `${place}${index}`))
  assert.deepEqual(service.calls, { status: 1, encrypt: 1, decrypt: 0 })

  const restarted = await start(t, socket, clock)
  const reads = await Promise.all(stored.map((value, index) => restarted.fromStorage(value, `${place}${index}`)))
  for (const { bytes, isStale } of reads) assert.deepEqual([Buffer.from(bytes), isStale], [plain, false])
  assert.equal(service.calls.decrypt, 1)
  assert.ok(!(restarted.fromStorage(stored[0] ?? plain, `${place}0`) instanceof Promise), 'a known seed needs no waiting')
  assert.throws(() => restarted.fromStorage(stored[0] ?? plain, 'elsewhere'), /message authentication failed/)
})

test('when the service changes its key, new values use it and old ones become stale', async (t) => {
  const { socket, service } = await keyService(t)
  const clock = new VirtualClock()
  const transformer = await start(t, socket, clock)
  const old = transformer.toStorage(plain, place)
  service.keyId = 'key-2'
  await clock.advance({ seconds: 61 })
  while (!(await transformer.fromStorage(old, place)).isStale) await new Promise((resolve) => setImmediate(resolve))
  assert.equal((await transformer.fromStorage(transformer.toStorage(plain, place), place)).isStale, false)
  assert.equal(transformer.problem, undefined)
})

test('without the service writing ends after three minutes, reading goes on, and health says why', async (t) => {
  const { socket, service } = await keyService(t)
  const clock = new VirtualClock()
  const transformer = await start(t, socket, clock)
  const stored = transformer.toStorage(plain, place)
  service.healthz = 'sealed'
  await clock.advance({ seconds: 61 })
  while (transformer.problem === undefined) await new Promise((resolve) => setImmediate(resolve))
  assert.equal(transformer.problem, 'kmsv2 Provider vault is not healthy, error: got unexpected healthz status: sealed')
  service.isSilent = true
  await clock.advance({ seconds: 400 })
  assert.throws(() => transformer.toStorage(plain, place), /encryptedDEKSource with keyID hash "sha256:[0-9a-f]{64}" expired at/)
  assert.deepEqual(Buffer.from((await transformer.fromStorage(stored, place)).bytes), plain)
})

test('a service that is not there leaves the server without a key to write with, and is asked again', async (t) => {
  const clock = new VirtualClock()
  const transformer = await start(t, '/nowhere/kms.sock', clock)
  assert.match(transformer.problem ?? '', /No connection established/)
  assert.throws(() => transformer.toStorage(plain, place), /kms provider vault gave no key yet/)
  assert.equal(clock.pending, 1)
})

test('envelopes that are not sound are refused', async (t) => {
  const { socket } = await keyService(t)
  const transformer = await start(t, socket, new VirtualClock())
  const good = transformer.toStorage(plain, place)
  for (const bytes of [new Uint8Array(), good.subarray(0, 20), Buffer.concat([good, Buffer.from([0x28, 7])])]) {
    assert.throws(
      () => transformer.fromStorage(bytes, place),
      /encrypted data is empty|unexpected end|unknown encryptedDEKSourceType: 7|DEK source is empty/,
    )
  }
})
