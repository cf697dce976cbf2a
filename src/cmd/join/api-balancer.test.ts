import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { test } from 'node:test'
import { silentLogger } from '#base/log.ts'
import { nodeSockets, type Sockets } from '#base/sockets.ts'
import { VirtualClock } from '#base/virtual-clock.ts'
import { ApiBalancer } from '#cmd/join/api-balancer.ts'

/** A server that says its name to whoever connects. */
async function named(name: string): Promise<{ server: Server; address: { host: string; port: number } }> {
  const server = createServer((socket) => void socket.on('error', () => {}).write(name))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return { server, address: { host: '127.0.0.1', port: (server.address() as { port: number }).port } }
}

/** Who is there is reached, however busy this machine is. */
const patient: Sockets = { ...nodeSockets, connectTcp: (address) => nodeSockets.connectTcp(address, 60_000) }

async function greeting(port: number): Promise<{ text: string; socket: Socket }> {
  const socket = connect({ host: '127.0.0.1', port })
  const [chunk] = (await once(socket, 'data')) as [Buffer]
  return { text: chunk.toString(), socket }
}

test('connections go round, pass over a server that is gone, and are cut when theirs has left', async () => {
  const [one, two] = [await named('one'), await named('two')]
  const servers = [one.address, two.address]
  const balancer = await ApiBalancer.listen({ port: 0, servers, sockets: patient, clock: new VirtualClock(0), logger: silentLogger })
  try {
    const first = await greeting(balancer.port)
    const second = await greeting(balancer.port)
    assert.deepEqual([first.text, second.text].sort(), ['one', 'two'])
    const ofOne = first.text === 'one' ? first.socket : second.socket
    const ofTwo = first.text === 'one' ? second.socket : first.socket
    one.server.close()
    const closed = once(ofOne, 'close')
    balancer.use([two.address])
    await closed
    // A list that is empty says nothing of where to go.
    balancer.use([])
    assert.deepEqual(balancer.servers, [two.address])
    assert.equal(ofTwo.destroyed, false)
    // Back in the list though nobody answers: the next one is tried.
    balancer.use(servers)
    for (let round = 0; round < 3; round++) {
      const { text, socket } = await greeting(balancer.port)
      assert.equal(text, 'two')
      socket.destroy()
    }
    ofTwo.destroy()
  } finally {
    await balancer.close()
    two.server.close()
  }
})

test('a machine that is gone without a word is noticed within three seconds, passed over, and used again when it is back', async () => {
  const [one, two] = [await named('one'), await named('two')]
  let isGone = false
  const clock = new VirtualClock(0)
  const sockets: Sockets = {
    ...patient,
    connectTcp: (address, limitMs) =>
      isGone && address.port === one.address.port ? Promise.reject(new Error('timed out')) : patient.connectTcp(address, limitMs),
  }
  const balancer = await ApiBalancer.listen({ port: 0, servers: [one.address, two.address], sockets, clock, logger: silentLogger })
  try {
    const first = await greeting(balancer.port)
    assert.equal(first.text, 'one')
    isGone = true
    const closed = once(first.socket, 'close')
    await clock.advance(3000)
    await closed
    for (let round = 0; round < 3; round++) {
      const { text, socket } = await greeting(balancer.port)
      assert.equal(text, 'two')
      socket.destroy()
    }
    isGone = false
    for (let tries = 0, text = ''; text !== 'one'; tries++) {
      assert.ok(tries < 500)
      await clock.advance(3000)
      const again = await greeting(balancer.port)
      text = again.text
      again.socket.destroy()
    }
  } finally {
    await balancer.close()
    one.server.close()
    two.server.close()
  }
})

test('where none of those that are named can be reached, one that was named before is', async () => {
  const [dead, living] = [await named('dead'), await named('living')]
  const servers = [dead.address, living.address]
  const balancer = await ApiBalancer.listen({ port: 0, servers, sockets: patient, clock: new VirtualClock(0), logger: silentLogger })
  try {
    dead.server.close()
    balancer.use([dead.address])
    const { text, socket } = await greeting(balancer.port)
    assert.equal(text, 'living')
    socket.destroy()
  } finally {
    await balancer.close()
    living.server.close()
  }
})
