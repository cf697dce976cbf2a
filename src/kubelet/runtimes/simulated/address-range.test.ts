import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AddressRange } from '#kubelet/runtimes/simulated/address-range.ts'

test("pods get addresses of their node's range once it has one", () => {
  let nodeRange: string | undefined
  const addresses = new AddressRange('100.64.7', () => nodeRange)
  assert.equal(addresses.take(), '100.64.7.2')
  nodeRange = '10.244.3.0/29'
  assert.deepEqual(
    Array.from({ length: 5 }, () => addresses.take()),
    ['10.244.3.3', '10.244.3.4', '10.244.3.5', '10.244.3.6', '10.244.3.2'],
  )
  assert.throws(() => addresses.take(), /no address is left in 10\.244\.3\.0\/29/)
  addresses.giveBack('10.244.3.4')
  assert.equal(addresses.take(), '10.244.3.4')
})

test('an address that somebody has is not given again', () => {
  const addresses = new AddressRange('100.64.7')
  addresses.keep('100.64.7.2')
  assert.equal(addresses.take(), '100.64.7.3')
})
