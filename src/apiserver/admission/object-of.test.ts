import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Node, Pod } from '#api/core/v1/kinds.gen.ts'
import { objectOf, oldObjectOf } from '#apiserver/admission/object-of.ts'
import { requestFor } from '#apiserver/admission/testing/admission.ts'

test('a plugin gets the object of the kind it is asked about, and learns when it is asked about another', () => {
  const request = requestFor('pods', { object: { metadata: { name: 'next' } }, oldObject: { metadata: { name: 'prev' } } })
  assert.equal(objectOf(Pod, request).metadata.name, 'next')
  assert.equal(oldObjectOf(Pod, request).metadata.name, 'prev')
  assert.throws(() => objectOf(Node, request), /an admission plugin for Node was asked about Pod/)
  assert.throws(() => objectOf(Pod, requestFor('pods', { operation: 'DELETE', oldObject: {} })), /a Pod that the request does not have/)
})
