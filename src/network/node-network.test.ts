import assert from 'node:assert/strict'
import { test } from 'node:test'
import { overlaps, parseRange } from '#base/ip-range.ts'
import { nodeBridgeName } from '#network/clusters-on-machine.ts'
import { addressesOf, nodePlace } from '#network/node-namespace.ts'
import { freeBlock, freeRanges, isOfCluster, ownRangeV6 } from '#network/node-network.ts'

test('a cluster has a block of addresses of its own, always the same, unless somebody else has it', () => {
  const first = freeBlock('/a', [])
  assert.equal(freeBlock('/a', []), first)
  assert.match(first, /^172\.30\.\d+\.0\/24$/)
  const second = freeBlock('/a', [first, '10.0.0.0/8'])
  assert.ok(!overlaps(parseRange(first), parseRange(second)))
  assert.throws(() => freeBlock('/a', ['172.16.0.0/12']), /every block of 172\.30\.0\.0\/16 is in use/)
})

test('the bridge of nodes is named after the cluster, and fits an interface', () => {
  assert.notEqual(nodeBridgeName('/a'), nodeBridgeName('/b'))
  assert.ok(nodeBridgeName(`/${'long'.repeat(50)}`).length <= 15)
})

test('nodes, pods and the machine itself come in, others do not', () => {
  const accepts = isOfCluster(
    ['172.30.7.0/24', '10.244.0.0/16', 'fd00:10::/56'],
    () => ['192.0.2.5'],
    (address) => address === '198.51.100.9',
  )
  for (const address of ['172.30.7.11', '10.244.3.4', '::ffff:10.244.3.4', 'fd00:10::7', '192.0.2.5', '198.51.100.9']) {
    assert.ok(accepts(address), address)
  }
  for (const address of ['172.30.8.11', '10.245.0.1', '192.0.2.6', 'fd00:11::1', '']) assert.ok(!accepts(address), address)
})

test('ranges of pods move to the next that is free', () => {
  assert.deepEqual(freeRanges(['10.244.0.0/16', 'fd00::/56'], ['10.96.0.0/16']), ['10.244.0.0/16', 'fd00::/56'])
  assert.deepEqual(freeRanges(['10.244.0.0/16', 'fd00::/56'], ['10.244.3.0/24', '10.245.0.7/32', 'fd00::1/128']), [
    '10.246.0.0/16',
    'fd00:0:0:100::/56',
  ])
  assert.deepEqual(freeRanges(['192.168.0.0/16'], ['192.168.178.0/24']), ['10.244.0.0/16'])
  assert.throws(() => freeRanges(['10.244.0.0/16'], ['10.0.0.0/8']), /choose another range with --cluster-cidr/)
})

test('nodes of a cluster of both families have a range of IPv6 that stands for the cluster', () => {
  assert.match(ownRangeV6('/data'), /^fd30:[0-9a-f:]+::\/64$/)
  assert.notEqual(ownRangeV6('/data'), ownRangeV6('/other'))
  const place = nodePlace('/data', { range: '172.30.1.0/24', rangeV6: 'fd30:1:2::/64' }, 2)
  assert.deepEqual(addressesOf(place), ['172.30.1.12', 'fd30:1:2::c'])
})
