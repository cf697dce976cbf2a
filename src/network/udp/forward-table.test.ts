import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ForwardTable } from '#network/udp/forward-table.ts'

const packetTo = (...destination: number[]): Uint8Array => Uint8Array.from([0x45, ...Array.from({ length: 15 }, () => 0), ...destination])

test('packets go to the node of the longest range that holds their destination', () => {
  const table = new ForwardTable([
    { range: '10.244.0.0/16', address: '192.0.2.1' },
    { range: '10.244.2.0/24', address: '192.0.2.2' },
    { range: '200.244.2.0/24', address: '192.0.2.3' },
  ])
  assert.equal(table.addressFor(packetTo(10, 244, 2, 255)), '192.0.2.2')
  assert.equal(table.addressFor(packetTo(10, 244, 3, 0)), '192.0.2.1')
  assert.equal(table.addressFor(packetTo(200, 244, 2, 9)), '192.0.2.3')
  assert.equal(table.addressFor(packetTo(10, 245, 0, 1)), undefined)
})

test('what is no packet of IPv4 goes nowhere', () => {
  const table = new ForwardTable([{ range: '0.0.0.0/0', address: '192.0.2.1' }])
  assert.equal(table.addressFor(packetTo(10, 0, 0, 1)), '192.0.2.1')
  assert.equal(table.addressFor(packetTo(10, 0, 0)), undefined, 'too short')
  assert.equal(table.addressFor(Uint8Array.from([0x60, ...Array.from({ length: 39 }, () => 0)])), undefined)
  assert.equal(table.addressFor(new Uint8Array()), undefined)
})
