import assert from 'node:assert/strict'
import { EventEmitter } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { test } from 'node:test'
import { PacedEndings } from '#base/paced-endings.ts'

const nextTurn = () => new Promise((resolve) => setImmediate(resolve))

async function pair(): Promise<{ server: Socket; client: Socket; [Symbol.asyncDispose](): Promise<void> }> {
  const listener = createServer().listen(0, '127.0.0.1')
  const accepted = new Promise<Socket>((resolve) => listener.once('connection', resolve))
  await new Promise((resolve) => listener.once('listening', resolve))
  const client = connect((listener.address() as { port: number }).port, '127.0.0.1')
  const server = await accepted
  for (const socket of [client, server]) socket.on('error', () => {}).resume()
  return {
    server,
    client,
    async [Symbol.asyncDispose]() {
      for (const socket of [client, server]) socket.destroy()
      await new Promise((resolve) => listener.close(resolve))
    },
  }
}

test('a connection whose client has left is ended, in a later turn, after what was still to be said', async () => {
  await using both = await pair()
  const { server, client } = both
  new PacedEndings().pace(server)
  const heard: string[] = []
  client.on('data', (piece) => heard.push(String(piece)))
  const isOver = new Promise((resolve) => client.once('close', resolve))
  server.once('end', () => {
    server.write('the last word')
    assert.equal(server.writableEnded, false)
  })
  client.end()
  await isOver
  assert.deepEqual(heard, ['the last word'])
})

test('a connection that its client has reset is gone as well', async () => {
  await using both = await pair()
  new PacedEndings().pace(both.server)
  const isOver = new Promise((resolve) => both.server.once('close', resolve))
  both.client.resetAndDestroy()
  await isOver
  assert.equal(both.server.destroyed, true)
})

test('many that leave at once do not end in one turn', async () => {
  const endings = new PacedEndings()
  let ended = 0
  const sockets = Array.from({ length: 1000 }, () => {
    const socket = Object.assign(new EventEmitter(), { readableEnded: true, end: () => ended++, destroy: () => {} }) as unknown as Socket
    endings.pace(socket)
    return socket
  })
  for (const socket of sockets) socket.end()
  assert.equal(ended, 0)
  let turns = 0
  let most = 0
  for (let before = 0; ended < sockets.length; before = ended) {
    await nextTurn()
    most = Math.max(most, ended - before)
    turns++
  }
  assert.ok(most <= 256, `${most} in one turn`)
  assert.ok(turns >= 4, `${turns} turns`)
})

test('who ends a connection while its client is there does so at once', () => {
  let ended = 0
  const socket = Object.assign(new EventEmitter(), { readableEnded: false, end: () => ended++, destroy: () => {} }) as unknown as Socket
  new PacedEndings().pace(socket)
  socket.end()
  assert.equal(ended, 1)
})
