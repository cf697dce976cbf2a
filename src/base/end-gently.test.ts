import assert from 'node:assert/strict'
import { connect, createServer, type Socket } from 'node:net'
import { test } from 'node:test'
import { endGently } from '#base/end-gently.ts'

/** Two ends of a connection. */
async function pair(): Promise<{ near: Socket; far: Socket } & Disposable> {
  const server = createServer({ allowHalfOpen: true })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  const accepted = new Promise<Socket>((resolve) => server.once('connection', resolve))
  const far = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
  const near = await accepted
  return {
    near,
    far,
    [Symbol.dispose]() {
      near.destroy()
      far.destroy()
      server.close()
    },
  }
}

test('the last words arrive at an end that is slow to read and still writes', async () => {
  using ends = await pair()
  const { near, far } = ends
  near.on('error', () => {})
  const failures: Error[] = []
  far.on('error', (error) => failures.push(error))
  far.pause()
  near.pause()
  // More than the connection holds, so that it is still on its way when the end is said; and input that nobody reads.
  const size = 8 << 20
  near.write(Buffer.alloc(size, 'x'))
  far.write(Buffer.alloc(1 << 20, 'y'))
  near.write('status')
  endGently(near)
  let received = 0
  let last = ''
  for await (const piece of far as AsyncIterable<Buffer>) {
    received += piece.length
    last = piece.subarray(-6).toString()
  }
  assert.deepEqual([received, last, failures], [size + 6, 'status', []])
  const closed = new Promise((resolve) => near.once('close', resolve))
  far.end()
  await closed
})

test('an end that is gone already is nobody to wait for', async () => {
  using ends = await pair()
  const { near, far } = ends
  near.resume()
  const ended = new Promise((resolve) => near.once('end', resolve))
  far.end('bye')
  await ended
  const closed = new Promise((resolve) => near.once('close', resolve))
  endGently(near)
  await closed
})
