import assert from 'node:assert/strict'
import { test } from 'node:test'
import { mergedStatus } from '#kubelet/status/status-manager.ts'

const types = (conditions: { type: string; status: string }[] = []) => conditions.map(({ type, status }) => `${type} ${status}`)
const reported = { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] }

test('conditions and fields of others stay', () => {
  const present = {
    phase: 'Pending',
    nominatedNodeName: 'n2',
    conditions: [
      { type: 'example.com/gate', status: 'True' },
      { type: 'Ready', status: 'False' },
    ],
  }
  const merged = mergedStatus(present, reported)
  assert.equal(merged.nominatedNodeName, 'n2')
  assert.deepEqual(types(merged.conditions), ['example.com/gate True', 'Ready True'])
})

test('a condition of others that is gone from the API does not come back', () => {
  const stale = { ...reported, conditions: [{ type: 'example.com/gate', status: 'True' }, ...reported.conditions] }
  assert.deepEqual(types(mergedStatus({}, stale).conditions), ['Ready True'])
})

test('reasons and messages go with the phase they belonged to', () => {
  assert.equal(mergedStatus({ phase: 'Pending', reason: 'Slow', message: 'wait' }, reported).reason, undefined)
})

test('the node says that it was the one who ended the pod, once it has ended', () => {
  const conditions = [{ type: 'DisruptionTarget', status: 'True', reason: 'TerminationByKubelet' }, ...reported.conditions]
  assert.deepEqual(types(mergedStatus({}, { phase: 'Running', conditions }).conditions), ['Ready True'])
  const failed = mergedStatus({}, { phase: 'Failed', conditions })
  assert.deepEqual(types(failed.conditions), ['DisruptionTarget True', 'Ready True'])
  assert.deepEqual(mergedStatus(failed, { phase: 'Failed', conditions }), failed)
})
