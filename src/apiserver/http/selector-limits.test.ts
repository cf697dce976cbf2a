import assert from 'node:assert/strict'
import { test } from 'node:test'
import { builtInKinds } from '#api/kinds.ts'
import type { Attributes } from '#apiserver/authz/authorizer.ts'
import { requestInfo } from '#apiserver/http/request-info.ts'
import { selectionOf } from '#apiserver/http/selection.ts'
import { withSelectors } from '#apiserver/http/selector-attributes.ts'

const pods = builtInKinds.find(({ kind, version }) => kind === 'Pod' && version === 'v1')
assert.ok(pods)
const definition = pods
const user = { name: 'a', groups: [], extra: {} }
const asked = { user, verb: 'list', namespace: '', group: '', version: 'v1', resource: 'pods', subresource: '', name: '', path: '' }
const attributes: Attributes = { ...asked, isResourceRequest: true }

test('a selector of thousands of values is read, one without end is not', () => {
  const values = Array.from({ length: 4000 }, (_, index) => `v${index}`).join(',')
  assert.equal(selectionOf(definition, '', { labelSelector: `a in (${values})`, fieldSelector: '' }).isAll, false)
  for (const text of [
    'a,'.repeat(10_000),
    `a in (${values},${values})`,
    'a'.repeat(100_000),
    `${'metadata.name!=b,'.repeat(1500)}metadata.name=a`,
  ]) {
    assert.throws(() => selectionOf(definition, '', { labelSelector: text, fieldSelector: '' }), { code: 400, message: /at most/ })
    assert.throws(() => selectionOf(definition, '', { labelSelector: '', fieldSelector: text }), { code: 400, message: /at most/ })
  }
})

test('authorizers see selectors when they look at them, those that cannot be read as none', () => {
  const of = (text: string) => withSelectors(attributes, new URLSearchParams(text))
  const { fieldSelector, labelSelector } = of('fieldSelector=spec.nodeName%3Dn1&labelSelector=a!%3Db')
  assert.deepEqual(fieldSelector, [{ field: 'spec.nodeName', operator: '=', value: 'n1' }])
  assert.deepEqual(labelSelector, [{ key: 'a', operator: '!=', values: ['b'] }])
  assert.equal(of('limit=1'), attributes)
  assert.equal(of('labelSelector=a').fieldSelector, undefined)
  assert.deepEqual(of('labelSelector=!!').labelSelector, [])
  assert.deepEqual(of(`labelSelector=${'a,'.repeat(10_000)}a`).labelSelector, [])
})

test('a selector is not read for those who never look', () => {
  for (const name of ['fieldSelector', 'labelSelector'] as const) {
    const seen = withSelectors(attributes, new URLSearchParams({ [name]: 'a=b' }))
    assert.equal(typeof Object.getOwnPropertyDescriptor(seen, name)?.get, 'function')
    assert.equal(seen[name], seen[name])
  }
})

test('a name is taken from a field selector, not from one without end', () => {
  const nameIn = (selector: string) => requestInfo('GET', '/api/v1/pods', new URLSearchParams({ fieldSelector: selector })).name
  assert.equal(nameIn('a=b,metadata.name=p1'), 'p1')
  assert.equal(nameIn(`${'a=b,'.repeat(100_000)}metadata.name=p1`), '')
})
