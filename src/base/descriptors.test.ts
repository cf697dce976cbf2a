import assert from 'node:assert/strict'
import { createServer } from 'node:net'
import type { Duplex } from 'node:stream'
import { test } from 'node:test'
import { descriptors } from '#base/descriptors.ts'
import { systemCall } from '#base/system-calls.ts'

const whoWaits = { timeoutMs: 60_000, signal: new AbortController().signal }

test('a port is connected to at either loopback address, and that nobody listens is said', async () => {
  for (const host of ['127.0.0.1', '::1']) {
    const server = createServer((socket) => socket.end('hello')).listen(0, host)
    await new Promise((resolve) => server.once('listening', resolve))
    const { port } = server.address() as { port: number }
    const pid = host === '::1' || process.getuid?.() !== 0 ? undefined : process.pid
    const heard: Buffer[] = []
    for await (const bytes of await descriptors.connectIn(pid, port, whoWaits)) heard.push(bytes)
    assert.equal(Buffer.concat(heard).toString(), 'hello')
    await new Promise((resolve) => server.close(resolve))
    await assert.rejects(descriptors.connectIn(undefined, port, whoWaits), /^SystemCallError: connect: ECONNREFUSED$/)
  }
})

test('a listener that takes nobody keeps only those waiting who want to connect', async () => {
  const listener = systemCall('socket', 2, 1, 0)
  try {
    const name = Buffer.alloc(16)
    name.writeUInt16LE(2, 0)
    name.set([127, 0, 0, 1], 4)
    systemCall('bind', listener, name, 16)
    systemCall('listen', listener, 0)
    systemCall('getsockname', listener, name, Buffer.from([16, 0, 0, 0]))
    const port = name.readUInt16BE(2)
    const over = new AbortController()
    let connected = 0
    const connections = Array.from({ length: 10 }, () => descriptors.connectIn(undefined, port, { timeoutMs: 60_000, signal: over.signal }))
    for (const connection of connections) {
      const leave = (socket: Duplex) => {
        connected++
        socket.destroy()
      }
      connection.then(leave, () => {})
    }
    while (connected === 0) await new Promise((resolve) => setImmediate(resolve))
    over.abort()
    const outcomes = await Promise.allSettled(connections)
    assert.ok(outcomes.some(({ status }) => status === 'rejected'))
  } finally {
    descriptors.close(listener)
  }
})
