import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { V1Pod } from '#api/core/v1/types.gen.ts'
import { concernsNode } from '#kubelet/pod-worker/concerns-node.ts'

const pod: V1Pod = {
  metadata: { name: 'p', labels: { app: 'web' }, generation: 1, resourceVersion: '1' },
  spec: { containers: [{ name: 'main', image: 'app:1' }] },
  status: { phase: 'Pending' },
}
const condition = (type: string) => ({ type, status: 'True', lastTransitionTime: '2026-01-01T00:00:00Z' })

test('[PW27] the status that the node wrote itself is nothing new to it', () => {
  const metadata = { ...pod.metadata, resourceVersion: '2', managedFields: [] }
  const status = { phase: 'Running', podIP: '10.0.0.1', conditions: [condition('Ready')], containerStatuses: [] }
  assert.ok(!concernsNode(pod, { metadata, spec: structuredClone(pod.spec), status }))
})

for (const [what, after] of Object.entries<V1Pod>({
  'another image': { ...pod, spec: { containers: [{ name: 'main', image: 'app:2' }] } },
  'a label': { ...pod, metadata: { ...pod.metadata, labels: { app: 'other' } } },
  'an annotation': { ...pod, metadata: { ...pod.metadata, annotations: { a: 'b' } } },
  'a deletion': { ...pod, metadata: { ...pod.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } },
  'a shorter grace': { ...pod, metadata: { ...pod.metadata, deletionGracePeriodSeconds: 1 } },
  'a readiness gate that somebody spoke for': { ...pod, status: { phase: 'Pending', conditions: [condition('example.com/gate')] } },
  'an end that somebody else told of': { ...pod, status: { phase: 'Failed' } },
  'a claim that was made for it': {
    ...pod,
    status: { phase: 'Pending', resourceClaimStatuses: [{ name: 'gpu', resourceClaimName: 'gpu-1' }] },
  },
})) {
  test(`[PW27] ${what} is for the node`, () => assert.ok(concernsNode(pod, after)))
}
