import assert from 'node:assert/strict'
import { type Duplex, duplexPair } from 'node:stream'
import { test } from 'node:test'
import { ForwardedPorts, portConversation } from '#runtime/streams/forward-ports.ts'
import { SpdyConnection } from '#wire/spdy/connection.ts'

const piece = Buffer.alloc(64 * 1024, 'x')
const turn = () => new Promise((resolve) => setImmediate(resolve))

/** A client, and the far ends of what it connects to. */
function forwarding(ports?: ForwardedPorts) {
  const [left, right] = duplexPair()
  const near: Duplex[] = []
  const far: Duplex[] = []
  const connect = async () => {
    const [ours, theirs] = duplexPair()
    near.push(ours)
    far.push(theirs)
    return ours
  }
  portConversation(undefined, ports ?? new ForwardedPorts(connect))(right, new Uint8Array(), '')
  const client = new SpdyConnection({ socket: left, role: 'client' })
  let requests = 0
  const open = () => {
    const headers = { port: '80', requestid: String(requests++) }
    return { error: client.open({ ...headers, streamtype: 'error' }), data: client.open({ ...headers, streamtype: 'data' }) }
  }
  return { client, open, near, far }
}

async function settled(figure: () => number): Promise<number> {
  let [last, unchanged] = [-1, 0]
  while (unchanged < 20) {
    await turn()
    unchanged = figure() === last ? unchanged + 1 : 0
    last = figure()
  }
  return last
}

test('what a port does not read is left with the client', async () => {
  const { client, open, near, far } = forwarding()
  const { data } = open()
  const count = 200
  for (let index = 0; index < count; index++) data.write(piece)
  const kept = await settled(() => near[0]?.writableLength ?? 0)
  assert.ok(kept > 1 << 20 && kept < 2 << 20, `${kept} bytes are kept`)
  let readBytes = 0
  far[0]?.on('data', (bytes: Uint8Array) => {
    readBytes += bytes.length
  })
  while (readBytes < count * piece.length) await turn()
  client.destroy()
})

test('what a client does not read is left with the port', async () => {
  const { client, open, far } = forwarding()
  const { data } = open()
  let receivedBytes = 0
  data.onData = (bytes) => {
    receivedBytes += bytes.length
  }
  while (far.length === 0) await turn()
  client.pause()
  const count = 200
  for (let index = 0; index < count; index++) far[0]?.write(piece)
  const left = await settled(() => far[0]?.writableLength ?? 0)
  assert.ok(left > (count - 20) * piece.length, `${left} bytes are left`)
  client.resume()
  while (receivedBytes < count * piece.length) await turn()
  client.destroy()
})

test('what comes before the port has taken the connection is sent to it, and one that is refused is told of', async () => {
  const asked = Promise.withResolvers<Duplex>()
  const waiting = forwarding(new ForwardedPorts(() => asked.promise))
  const { data } = waiting.open()
  data.write(Buffer.from('hello'))
  data.end()
  await settled(() => 0)
  const [near, far] = duplexPair()
  asked.resolve(near)
  const heard: Buffer[] = []
  for await (const bytes of far) heard.push(bytes)
  assert.equal(Buffer.concat(heard).toString(), 'hello')
  waiting.client.destroy()

  const refused = forwarding(new ForwardedPorts(() => Promise.reject(new Error('connect: ECONNREFUSED'))))
  const said = await new Promise<string>((resolve) => {
    refused.open().error.onData = (bytes) => resolve(Buffer.from(bytes).toString())
  })
  assert.equal(said, "failed to connect to localhost:80 inside the pod's network namespace: connect: ECONNREFUSED")
  refused.client.destroy()
})

test('a client has so many connections at once, and a connection that waits for its port ends with its client', async () => {
  let given = 0
  let abandoned = 0
  const ports = new ForwardedPorts((_pid, _port, { signal }) => {
    given++
    return new Promise((_, reject) => {
      signal.addEventListener('abort', () => {
        abandoned++
        reject(new Error('abandoned'))
      })
    })
  })
  const { client, open } = forwarding(ports)
  for (let index = 0; index < 600; index++) open()
  assert.equal(await settled(() => given), 500)
  assert.equal(ports.open, 500)
  client.destroy()
  while (ports.open > 0) await turn()
  assert.equal(abandoned, 500)
})
