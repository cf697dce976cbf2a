import assert from 'node:assert/strict'
import { test } from 'node:test'
import { namespaceResource } from '#api/core/v1/namespace.ts'
import { tryCreate, tryRow, tryUpdate } from '#api/testing/try-kind.ts'

const given = { metadata: { name: 'a', resourceVersion: '1' }, spec: {} }

test('a new namespace is active, carries its name, and is kept until its content is gone', () => {
  const { object, errors } = tryCreate(namespaceResource, given)
  assert.deepEqual(errors, [])
  assert.deepEqual(object.metadata.labels, { 'kubernetes.io/metadata.name': 'a' })
  assert.deepEqual([object.spec.finalizers, object.status], [['kubernetes'], { phase: 'Active' }])
  assert.deepEqual(tryRow(namespaceResource, object)['Status'], 'Active')
})

test('names and finalizers', () => {
  assert.deepEqual(tryCreate(namespaceResource, { ...given, metadata: { name: 'a.b' } }).errors, [
    'metadata.name: Invalid value: "a.b": must not contain dots',
  ])
  assert.deepEqual(tryCreate(namespaceResource, { ...given, spec: { finalizers: ['mine'] } }).errors, [
    'spec.finalizers: Invalid value: "mine": name is neither a standard finalizer name nor is it fully qualified',
  ])
})

test('finalizers change through their own endpoint alone', () => {
  const { object } = tryCreate(namespaceResource, given)
  const next = { ...object, spec: { finalizers: ['example.com/mine'] } }
  assert.deepEqual(tryUpdate(namespaceResource, object, next).object.spec.finalizers, ['kubernetes'])
  assert.deepEqual(tryUpdate(namespaceResource, object, next, { subresource: 'finalize' }).object.spec.finalizers, ['example.com/mine'])
  assert.deepEqual(tryUpdate(namespaceResource, object, { ...object, spec: { finalizers: ['x'] } }, { subresource: 'finalize' }).errors, [
    'spec.finalizers[0]: Invalid value: "x": name is neither a standard finalizer name nor is it fully qualified',
  ])
})

test('the phase follows the deletion', () => {
  const { object } = tryCreate(namespaceResource, given)
  const next = { ...object, status: { phase: 'Terminating' } }
  assert.deepEqual(tryUpdate(namespaceResource, object, next, { subresource: 'status' }).errors, [
    'status.Phase: Invalid value: "Terminating": may only be \'Active\' if `deletionTimestamp` is empty',
  ])
})
