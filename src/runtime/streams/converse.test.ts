import assert from 'node:assert/strict'
import { duplexPair, Writable } from 'node:stream'
import { test } from 'node:test'
import { VirtualClock } from '#base/virtual-clock.ts'
import { conversation, type Partner } from '#runtime/streams/converse.ts'
import { SpdyConnection } from '#wire/spdy/connection.ts'

const piece = Buffer.alloc(64 * 1024, 'x')
const turn = () => new Promise((resolve) => setImmediate(resolve))
const someTurns = async () => {
  for (let index = 0; index < 50; index++) await turn()
}

type Listener = Parameters<Partner['listen']>[0]

function talking(begin: () => Promise<Partner>, { stdin = false } = {}) {
  const [left, right] = duplexPair()
  const request = { stdin, stdout: true, stderr: false, tty: false }
  conversation(request, new VirtualClock(), begin)(right, new Uint8Array(), 'v4.channel.k8s.io')
  const client = new SpdyConnection({ socket: left, role: 'client' })
  const [error, output] = [client.open({ streamtype: 'error' }), client.open({ streamtype: 'stdout' })]
  const input = stdin ? client.open({ streamtype: 'stdin' }) : undefined
  return { client, error, output, input, socket: right }
}

function partner(more: Partial<Partner>): Partner {
  return {
    ...{ input: undefined, pause: undefined, resume() {}, resize() {}, endInput() {}, leave() {} },
    listen: () => ({ [Symbol.dispose]() {} }),
    ended: new Promise(() => {}),
    ...more,
  }
}

test('who is attached and does not read misses what a container writes, which does not wait', async () => {
  let write: Listener | undefined
  const listen = (listener: Listener) => {
    write = listener
    return { [Symbol.dispose]() {} }
  }
  const { client, output, socket } = talking(async () => partner({ listen }))
  while (write === undefined) await turn()
  client.pause()
  for (let index = 0; index < 1000; index++) {
    write('stdout', piece)
    await turn()
  }
  assert.ok(socket.writableLength > 4 << 20 && socket.writableLength < 5 << 20, `${socket.writableLength} bytes are kept`)
  const heard = new Promise((resolve) => {
    output.onData = resolve
  })
  client.resume()
  await heard
  client.destroy()
})

test('a command is held back once while its client does not read, and goes on when it does', async () => {
  let write: Listener | undefined
  let [pauses, resumes] = [0, 0]
  const listen = (listener: Listener) => {
    write = listener
    return { [Symbol.dispose]() {} }
  }
  const { client, socket } = talking(async () => partner({ listen, pause: () => void pauses++, resume: () => void resumes++ }))
  while (write === undefined) await turn()
  for (let round = 1; round <= 20; round++) {
    for (let index = 0; index < 4; index++) write('stdout', piece)
    while (resumes < round) await turn()
    assert.deepEqual([pauses, resumes], [round, round])
  }
  assert.ok(socket.listenerCount('drain') < 5)
  client.destroy()
})

test('what is typed before there is a command is kept up to a mebibyte, and reaches it', async () => {
  const begun = Promise.withResolvers<Partner>()
  const { client, input } = talking(() => begun.promise, { stdin: true })
  const count = 100
  for (let index = 0; index < count; index++) input?.write(piece)
  await someTurns()
  assert.ok(client.backlogBytes > 5 << 20, `${client.backlogBytes} bytes are left with the client`)
  let taken = 0
  const command = new Writable({
    write(bytes: Uint8Array, _, done) {
      taken += bytes.length
      done()
    },
  })
  begun.resolve(partner({ input: command }))
  while (taken < count * piece.length) await turn()
  client.destroy()
})

test('input that nobody takes any more holds nobody up, and a partner that fails ends the conversation alone', async () => {
  const stuck = new Writable({ write() {} })
  const { client, input } = talking(async () => partner({ input: stuck }), { stdin: true })
  for (let index = 0; index < 100; index++) input?.write(piece)
  await someTurns()
  assert.ok(client.backlogBytes > 0)
  stuck.destroy()
  while (client.backlogBytes > 0) await turn()
  client.destroy()

  const failing = talking(async () =>
    partner({
      listen() {
        throw new Error('gone')
      },
    }),
  )
  while (!failing.client.isClosed) await turn()
})
