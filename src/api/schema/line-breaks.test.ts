import assert from 'node:assert/strict'
import { test } from 'node:test'
import { describe } from './describe.ts'
import { exceptionFor, withLineBreaks } from './line-breaks.ts'

test('two spaces are the end of a paragraph', () => {
  assert.equal(withLineBreaks('One paragraph.  Another one.'), 'One paragraph.\n\nAnother one.')
})

test('a text whose breaks follow the rule needs no entry in the table', () => {
  for (const text of ['No break.', 'One paragraph.\n\nAnother one.']) assert.equal(exceptionFor(text), undefined)
})

test('the table notes every break of a text that does not follow the rule', () => {
  assert.equal(exceptionFor('A list:\n  - one\n\t- two')?.breaks, ' 7 8 1>')
  assert.equal(exceptionFor('Two sentences.  One paragraph.')?.breaks, '')
})

test('descriptions have the lines they were written with', () => {
  assert.match(describe('io.k8s.api.storage.v1.StorageClass', 'volumeBindingMode'), /bound\. {2}When unset/)
  assert.match(describe('ObjectMeta', 'creationTimestamp'), /UTC\.\n\nPopulated/)
  assert.match(describe('io.k8s.api.storage.v1.CSIDriverSpec', 'tokenRequests'), /\{\n {2}"<audience>": \{\n {4}"token"/)
})
