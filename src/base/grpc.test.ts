import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type GrpcError, grpcChannel, grpcCodes, startGrpcServer } from '#base/grpc.ts'

const unary = '/test.Service/Answer'
const stream = '/test.Service/Converse'
const noHurry = { timeoutMs: 60_000 }

test('a message that cannot be understood ends its stream, at either end, and nothing else', async () => {
  let ended = 0
  const server = await startGrpcServer({
    address: '127.0.0.1:0',
    handlers: {
      [stream]: {
        converse(peer) {
          peer.onClosed(() => ended++)
          peer.onMessage((message) => {
            if (message[0] === 2) throw new Error('no such field')
            void peer.send(message)
          })
        },
      },
      '/test.Service/Refuse': {
        converse() {
          throw new Error('never')
        },
      },
      [unary]: {
        answer() {
          throw new Error('not even begun')
        },
      },
    },
  })
  using channel = await grpcChannel(`127.0.0.1:${server.port}`)
  const outcome = (method: string, message: Uint8Array) =>
    new Promise<GrpcError | undefined>((onEnd) => {
      const onMessage = () => {
        throw new Error('rubbish')
      }
      channel.stream(method, { onMessage, onEnd }).send(message)
    })
  const ours = await outcome(stream, Uint8Array.of(1))
  assert.deepEqual([ours?.code, ours?.message], [grpcCodes.internal, 'rubbish'])
  while (ended === 0) await new Promise((resolve) => setImmediate(resolve))
  const theirs = await outcome(stream, Uint8Array.of(2))
  assert.deepEqual([theirs?.code, theirs?.message], [grpcCodes.internal, 'no such field'])
  assert.equal((await outcome('/test.Service/Refuse', Uint8Array.of(1)))?.message, 'never')
  await assert.rejects(channel.unary(unary, new Uint8Array(), noHurry), /not even begun/)
  await server.close()
})

test('a message that is larger than it may be is not received', async () => {
  const server = await startGrpcServer({
    address: '127.0.0.1:0',
    handlers: { [unary]: { answer: async (request) => Buffer.alloc(request.length * 1024) } },
  })
  const target = `127.0.0.1:${server.port}`
  using usual = await grpcChannel(target)
  using small = await grpcChannel(target, { mostBytes: 4096 })
  using any = await grpcChannel(target, { mostBytes: Number.POSITIVE_INFINITY })
  const tooLarge = { code: grpcCodes.resourceExhausted }
  const sizeOf = async (channel: typeof usual, kibibytes: number) =>
    (await channel.unary(unary, Buffer.alloc(kibibytes), noHurry)).length / 1024
  assert.equal(await sizeOf(small, 4), 4)
  await assert.rejects(sizeOf(small, 5), tooLarge)
  await assert.rejects(sizeOf(usual, 17 * 1024), tooLarge)
  assert.equal(await sizeOf(any, 17 * 1024), 17 * 1024)
  await assert.rejects(any.unary(unary, Buffer.alloc(17 << 20), noHurry), tooLarge)
  await server.close()
})
