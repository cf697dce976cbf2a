import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { nodeFiles } from '#base/files.ts'
import { silentLogger } from '#base/log.ts'
import type { Sockets } from '#base/sockets.ts'
import { type ForwarderSettings, runUdpForwarder } from '#network/udp/udp-forwarder.ts'

/** An IPv4 packet, as far as the forwarder looks at it. */
function packetTo(address: string): Uint8Array {
  const packet = new Uint8Array(20)
  packet[0] = 0x45
  packet.set(address.split('.').map(Number), 16)
  return packet
}

test('nodes that join while the forwarder starts are reached and heard', async () => {
  const directory = await nodeFiles.temporaryDirectory('forwarder ')
  const settingsFile = join(directory, 'udp-forwarder.json')
  const write = (ranges: ForwarderSettings['ranges']) =>
    nodeFiles.write(settingsFile, JSON.stringify({ device: 'flannel0', at: { host: '172.31.0.11', port: 8285 }, ranges }))
  await write([])
  const sent = Promise.withResolvers<string>()
  const written = Promise.withResolvers<Uint8Array>()
  let heard: (packet: Uint8Array, from: { host: string; port: number }) => void = () => {}
  let routed: (packet: Uint8Array) => void = () => {}
  let end: (error: Error) => void = () => {}
  const sockets = {
    bindUdp: async (_at: unknown, onPacket: typeof heard) => {
      heard = onPacket
      return { send: (_packet: Uint8Array, to: { host: string }) => sent.resolve(to.host), close: () => {} }
    },
  } as unknown as Sockets
  const running = runUdpForwarder({
    ...{ settingsFile, files: nodeFiles, sockets, logger: silentLogger },
    async openTun(_name, onPacket, onEnd) {
      routed = onPacket
      end = onEnd
      // After the settings were read, before anything else is done.
      await write([{ range: '10.50.2.0/24', address: '172.31.0.12' }])
      return { write: (packet) => written.resolve(packet), close: () => {} }
    },
  })
  const tries = setInterval(() => {
    routed(packetTo('10.50.2.2'))
    heard(packetTo('10.50.1.2'), { host: '172.31.0.12', port: 8285 })
  }, 5)
  try {
    assert.equal(await sent.promise, '172.31.0.12')
    assert.deepEqual(await written.promise, packetTo('10.50.1.2'))
  } finally {
    clearInterval(tries)
    end(new Error('the device is gone'))
    await assert.rejects(running, /the device is gone/)
    await nodeFiles.remove(directory)
  }
})
