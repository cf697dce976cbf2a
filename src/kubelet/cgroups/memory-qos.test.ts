import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { V1Pod } from '#api/core/v1/types.gen.ts'
import { containerMemoryQos, memoryQosOf } from '#kubelet/cgroups/memory-qos.ts'
import { defaultKubeletConfiguration } from '#kubelet/configuration/kubelet-configuration.ts'

const gibibyte = 2 ** 30
const qos = { throttlingFactor: 0.9, isTiered: true, allocatableBytes: 8 * gibibyte }

function unifiedOf(resources: { requests?: Record<string, string>; limits?: Record<string, string> }, isTiered = true) {
  const container = { name: 'c', resources }
  const pod: V1Pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p' }, spec: { containers: [container] } }
  return containerMemoryQos(pod, container, { ...qos, isTiered })
}

test('a container is slowed down shortly before its limit, or before what the node has', () => {
  const limited = unifiedOf({ requests: { memory: '1Gi' }, limits: { memory: '2Gi' } })
  assert.deepEqual(limited, { 'memory.low': String(gibibyte), 'memory.high': String(Math.floor((1.9 * gibibyte) / 4096) * 4096) })
  const unlimited = unifiedOf({ requests: { memory: '1Gi' } })
  assert.equal(unlimited['memory.high'], String(Math.floor((gibibyte + 7 * gibibyte * 0.9) / 4096) * 4096))
})

test('one that asks for all it may have keeps it, and is not slowed down', () => {
  const amounts = { cpu: '1', memory: '1Gi' }
  assert.deepEqual(unifiedOf({ requests: amounts, limits: amounts }), { 'memory.min': String(gibibyte) })
})

test('one that asks for nothing is neither protected nor slowed down', () => {
  assert.deepEqual(unifiedOf({}), { 'memory.min': '0', 'memory.low': '0' })
})

test('without the tiers nothing is kept, and the brake stays', () => {
  const { 'memory.high': high, ...kept } = unifiedOf({ requests: { memory: '1Gi' }, limits: { memory: '2Gi' } }, false)
  assert.deepEqual(kept, { 'memory.min': '0', 'memory.low': '0' })
  assert.ok(Number(high) > gibibyte)
})

test('it is off unless asked for, and where the kernel has cgroup v1', () => {
  const configuration = { ...defaultKubeletConfiguration(), kubeReserved: { memory: '1Gi' }, evictionHard: { 'memory.available': '10%' } }
  const wanted = { ...configuration, featureGates: { MemoryQoS: true }, memoryReservationPolicy: 'TieredReservation' }
  assert.equal(memoryQosOf(configuration, 2, 10 * gibibyte), undefined)
  assert.equal(memoryQosOf(wanted, 1, 10 * gibibyte), undefined)
  assert.deepEqual(memoryQosOf(wanted, 2, 10 * gibibyte), qos)
})
