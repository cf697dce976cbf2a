/** Changes of pods that have a node already. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { StatusError } from '#api/meta/status-error.ts'
import { nodeDeclaredFeatureValidator } from '#apiserver/admission/node-declared-feature-validator.ts'
import { podResizeValidator } from '#apiserver/admission/pod-resize-validator.ts'
import { admissionResultOf, admit, aPod, requestFor, testContext } from '#apiserver/admission/testing/admission.ts'

const pod = (cpu: string, memory: string, generation: number, more: object = {}) =>
  aPod({ nodeName: 'n', containers: [{ name: 'c', resources: { requests: { cpu, memory } } }], ...more }, { generation })

const nodes = (more: object = {}, labels: object = {}) => ({
  nodes: [{ metadata: { name: 'n', labels }, status: { allocatable: { cpu: '2', memory: '1Gi' }, ...more } }],
})

test('a pod is not made larger than its node', async () => {
  const resize = (object: object, cluster: Record<string, object[]> = nodes()) =>
    admissionResultOf(podResizeValidator, testContext(cluster), 'pods', { object, oldObject: pod('1', '1Mi', 1), subresource: 'resize' })
  const prefix = '403 pods "p" is forbidden: '
  assert.equal(await resize(pod('2', '1Gi', 2)), 'allowed')
  assert.equal(
    await resize(pod('2500m', '2Gi', 2)),
    `${prefix}node didn't have enough allocatable resources: cpu, requested: 2500, allocatable: 2000; memory, requested: 2147483648, allocatable: 1073741824`,
  )
  assert.equal(await resize(pod('9', '1Gi', 1)), 'allowed', 'nothing has changed')
  assert.equal(await resize(pod('1', '1Gi', 2), {}), `${prefix}node "n" not found`)
  const windows = nodes({}, { 'kubernetes.io/os': 'windows' })
  assert.equal(await resize(pod('1', '1Gi', 2), windows), `${prefix}pod resize is only supported on linux nodes, node "n" is "windows"`)
  const request = requestFor('pods', { object: pod('9', '1Gi', 2), oldObject: pod('1', '1Mi', 1), subresource: 'resize' })
  const error = await admit(podResizeValidator(testContext(nodes())), request).catch((thrown: StatusError) => thrown)
  assert.deepEqual((error as StatusError).status.details?.causes, [{ reason: 'NodeCapacity' }])
})

test('a pod changes only in ways its node knows', async () => {
  const change = (next: object, cluster = nodes()) =>
    admissionResultOf(nodeDeclaredFeatureValidator, testContext(cluster), 'pods', {
      object: pod('1', '1Mi', 2, next),
      oldObject: pod('1', '1Mi', 1, { initContainers: [{ name: 'i' }] }),
      subresource: 'resize',
    })
  const init = { initContainers: [{ name: 'i', resources: { requests: { cpu: '1' } } }] }
  const features = 'InPlacePodVerticalScalingInitContainers'
  assert.equal(await change({ initContainers: [{ name: 'i' }] }), 'allowed')
  assert.equal(
    await change(init),
    `403 pods "p" is forbidden: pod update requires features ${features} which are not available on node "n"`,
  )
  assert.equal(await change(init, nodes({ declaredFeatures: [features] })), 'allowed')
  assert.match(
    await change({ ...init, resources: { requests: { cpu: '2' } } }),
    /requires features InPlacePodLevelResourcesVerticalScaling, InPlacePodVerticalScalingInitContainers which/,
  )
})
