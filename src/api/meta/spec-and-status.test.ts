import assert from 'node:assert/strict'
import { test } from 'node:test'
import { defineKind } from '#api/kind.ts'
import { builtInKinds } from '#api/kinds.ts'
import { dropStatus, putBackOtherPart, resetFieldsOf } from '#api/meta/spec-and-status.ts'
import { defineResource, type KubernetesObject, type StatusRules, type UpdateRules } from '#api/resource.ts'

type Widget = KubernetesObject & { spec?: string; extra?: string; status?: string }

const Widget = defineKind<Widget>({ group: 'example.com', version: 'v1', kind: 'Widget', plural: 'widgets' })
const widgets = (status?: StatusRules<Widget>) => defineResource(Widget, status === undefined ? {} : { subresources: { status } })
const context = (...gates: string[]) => ({ now: '', isEnabled: (gate: string) => gates.includes(gate) })
const prev: Widget = { metadata: { name: 'w', labels: { a: '1' }, finalizers: ['f'] }, spec: 'old', status: 'old' }
const next = (): Widget => ({ metadata: { name: 'w', labels: { a: '2' } }, spec: 'new', extra: 'new', status: 'new' })

test('a new object has no status, unless its kind may come with one or has no split', () => {
  const created = (status?: StatusRules<Widget>, ...gates: string[]) => {
    const object = next()
    dropStatus(widgets(status), object, context(...gates))
    return object.status
  }
  assert.equal(created({}), undefined)
  assert.equal(created(), 'new')
  assert.equal(created({ isSetOnCreate: true }), 'new')
  assert.equal(created({ splitGate: 'Split' }), 'new')
  assert.equal(created({ splitGate: 'Split' }, 'Split'), undefined)
})

test('a write to the object leaves its status; a write to the status leaves all but what metadata it may touch', () => {
  const written = (part: 'object' | 'status', status?: StatusRules<Widget>) => {
    const definition = widgets(status)
    const object = next()
    putBackOtherPart(definition, part === 'object' ? definition : (definition.subresources?.status ?? {}), object, prev, context())
    return object
  }
  assert.deepEqual(written('object', {}), { ...next(), status: 'old' })
  assert.deepEqual(written('object'), next())
  assert.deepEqual(written('object', { splitGate: 'Split' }), next())
  assert.deepEqual(written('status', {}), { metadata: next().metadata, spec: 'old', status: 'new' })
  assert.deepEqual(written('status', { keepsMetadata: ['labels'] }).metadata, { name: 'w', labels: { a: '1' } })
  assert.deepEqual(written('status', { keepsMetadata: 'all' }).metadata, prev.metadata)
})

test('an apply owns nothing of the other part', () => {
  const reset = (plural: string, subresource?: string) => {
    const definition = builtInKinds.find((each) => each.plural === plural && each.storedAs === undefined)
    assert.ok(definition)
    const rules = subresource === undefined ? definition : definition.subresources?.[subresource]
    return resetFieldsOf(definition, rules as UpdateRules<KubernetesObject>).toSorted()
  }
  assert.deepEqual(reset('configmaps'), [])
  assert.deepEqual(reset('pods'), ['status'])
  assert.deepEqual(reset('pods', 'status'), ['metadata.deletionTimestamp', 'metadata.ownerReferences', 'spec'])
  assert.deepEqual(reset('pods', 'resize'), [])
  assert.deepEqual(reset('deployments', 'status'), ['metadata.labels', 'spec'])
  assert.deepEqual(reset('resourceclaims', 'status'), ['metadata', 'spec'])
  assert.deepEqual(reset('apiservices', 'status'), ['metadata', 'spec'])
  assert.deepEqual(reset('certificatesigningrequests'), ['spec', 'status'])
  assert.deepEqual(reset('certificatesigningrequests', 'approval'), ['spec', 'status.certificate'])
})
