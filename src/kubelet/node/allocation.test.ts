import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { V1Pod, V1PodStatus, V1ResourceRequirements } from '#api/core/v1/types.gen.ts'
import { defined } from '#base/defined.ts'
import { allocatedBefore, withResourcesOf } from '#kubelet/node/allocation.ts'

const aPod = (resources: V1ResourceRequirements | undefined, status: V1PodStatus = {}, generation = 1): V1Pod => ({
  metadata: { name: 'web', generation },
  spec: { containers: [{ name: 'app', ...defined({ resources }) }] },
  status,
})
const cpu = (amount: string) => ({ requests: { cpu: amount } })
const given = (pod: V1Pod) => pod.spec.containers[0]?.resources?.requests?.['cpu']
const statusWith = (amount: string) => ({
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
  assert.equal(given(allocatedBefore(aPod(cpu('2'), { ...statusWith('1'), observedGeneration: 1 }, 2))), '1')
  assert.equal(given(allocatedBefore(aPod(cpu('2'), { ...statusWith('1'), observedGeneration: 2 }, 2))), '2')
  const pending = [{ type: 'PodResizePending', status: 'True' }]
  assert.equal(given(allocatedBefore(aPod(cpu('2'), { ...statusWith('1'), observedGeneration: 2, conditions: pending }, 2))), '1')
  assert.equal(given(allocatedBefore(aPod(cpu('2')))), '2')
})

test('what a pod asks for as a whole is allocated likewise', () => {
  const whole = (limit: string | undefined, status: V1PodStatus = {}, generation = 1): V1Pod => {
    const pod = aPod(cpu('1'), status, generation)
    return { ...pod, spec: { ...pod.spec, ...defined({ resources: limit === undefined ? undefined : { limits: { cpu: limit } } }) } }
  }
  const limitOf = ({ spec }: V1Pod) => spec.resources?.limits?.['cpu']
  const pod = whole('2')
  assert.equal(withResourcesOf(pod, whole('2000m')), pod)
  assert.equal(limitOf(withResourcesOf(pod, whole('1'))), '1')
  assert.equal(limitOf(withResourcesOf(pod, whole(undefined))), undefined)
  const told = { allocatedResources: { cpu: '1' }, resources: { limits: { cpu: '1500m' } }, observedGeneration: 1 }
  assert.equal(limitOf(allocatedBefore(whole('2', told, 2))), '1500m')
  assert.equal(limitOf(allocatedBefore(whole('2', told, 1))), '2')
})
