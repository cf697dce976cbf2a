import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { V1Pod, V1PodStatus, V1ResourceRequirements } from '#api/core/v1/types.gen.ts'
import { allocatedBefore, withResourcesOf } from '#kubelet/node/allocation.ts'

const aPod = (resources: V1ResourceRequirements | undefined, status: V1PodStatus = {}, generation = 1): V1Pod => ({
  metadata: { name: 'web', generation },
  spec: { containers: [{ name: 'app', ...(resources ? { resources } : {}) }] },
  status,
})
const cpu = (amount: string) => ({ requests: { cpu: amount } })
const given = (pod: V1Pod) => pod.spec.containers[0]?.resources?.requests?.['cpu']
const told = (amount: string) => ({
  containerStatuses: [
    { name: 'app', containerID: 'c://1', allocatedResources: { cpu: amount }, ready: true, restartCount: 0, image: 'i', imageID: 'i' },
  ],
})

test('a pod that asks for what it has is left as it is', () => {
  const pod = aPod(cpu('1'))
  assert.equal(withResourcesOf(pod, aPod(cpu('1000m'))), pod)
})

test('a pod that asks for more keeps what it has', () => {
  assert.equal(given(withResourcesOf(aPod(cpu('2')), aPod(cpu('1')))), '1')
  assert.equal(withResourcesOf(aPod(cpu('2')), aPod(undefined)).spec.containers[0]?.resources, undefined)
})

test('after a restart, what was allocated is what the status tells, unless all is settled', () => {
  assert.equal(given(allocatedBefore(aPod(cpu('2'), { ...told('1'), observedGeneration: 1 }, 2))), '1')
  assert.equal(given(allocatedBefore(aPod(cpu('2'), { ...told('1'), observedGeneration: 2 }, 2))), '2')
  const pending = [{ type: 'PodResizePending', status: 'True' }]
  assert.equal(given(allocatedBefore(aPod(cpu('2'), { ...told('1'), observedGeneration: 2, conditions: pending }, 2))), '1')
  assert.equal(given(allocatedBefore(aPod(cpu('2')))), '2')
})
