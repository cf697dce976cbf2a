import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type NodeDescription, nodeObject, nodeStatus } from '#kubelet/node/node-object.ts'

const description: NodeDescription = {
  name: 'n1',
  addresses: ['10.0.0.1'],
  capacity: {},
  allocatable: {},
  info: {
    ...{ kernelVersion: '', osImage: '', containerRuntimeVersion: '', kubeletVersion: '' },
    ...{ machineId: 'm', operatingSystem: 'linux', architecture: 'amd64' },
  },
}
const now = '2020-01-01T00:00:00Z'
const addresses = (of: NodeDescription, previous = {}) => (nodeStatus(of, previous, now).addresses ?? []).map(({ address }) => address)

test('a node without a cloud says what its addresses are, and takes pods at once', () => {
  const { metadata, spec } = nodeObject(description)
  assert.deepEqual(spec, {})
  assert.equal(metadata.annotations?.['alpha.kubernetes.io/provided-node-ip'], undefined)
  assert.deepEqual(addresses(description), ['10.0.0.1', 'n1'])
})

test('a node of a cloud waits for it, and leaves to it which addresses it has', () => {
  const given = { ...description, cloud: { addresses: ['10.0.0.1'] } }
  const { metadata, spec } = nodeObject({ ...given, taints: [{ key: 'a', effect: 'NoExecute' }] })
  assert.deepEqual(spec?.taints, [
    { key: 'a', effect: 'NoExecute' },
    { key: 'node.cloudprovider.kubernetes.io/uninitialized', value: 'true', effect: 'NoSchedule' },
  ])
  assert.equal(metadata.annotations?.['alpha.kubernetes.io/provided-node-ip'], '10.0.0.1')
  assert.deepEqual(addresses(given), ['10.0.0.1', 'n1'])
  assert.deepEqual(addresses(given, { addresses: [{ type: 'ExternalIP', address: '203.0.113.1' }] }), ['203.0.113.1'])
  assert.deepEqual(addresses({ ...description, cloud: { addresses: [] } }), ['n1'])
})
