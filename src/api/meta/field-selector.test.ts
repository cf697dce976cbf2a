import assert from 'node:assert/strict'
import { test } from 'node:test'
import { escapeFieldValue, parseFieldSelector, unescapeFieldValue, unknownFieldMessage } from './field-selector.ts'

test('a field selector is printed with its terms sorted', () => {
  const cases: [string, string][] = [
    ['', ''],
    [',', ''],
    ['=', ''],
    ['b=1,a=2', 'a=2,b=1'],
    ['a==b', 'a=b'],
    ['a!=b', 'a!=b'],
    ['a=', 'a='],
    ['=a', '=a'],
    ['a=b\\,c', 'a=b\\,c'],
    ['a=b\\=c\\\\', 'a=b\\=c\\\\'],
    [' a = b ', ' a = b '],
  ]
  for (const [text, printed] of cases) assert.equal(String(parseFieldSelector(text)), printed, text)
})

test('what is no field selector is refused in upstream words', () => {
  const cases: [string, string][] = [
    ['metadata.name', "invalid selector: 'metadata.name'; can't understand 'metadata.name'"],
    ['b=1,a', "invalid selector: 'b=1,a'; can't understand 'a'"],
    ['a!==b', 'invalid field selector: unescaped character in value: 61'],
    ['a=b=c', 'invalid field selector: unescaped character in value: 61'],
    ['a=\\x', 'invalid field selector: invalid escape sequence: \\x'],
    ['a=\\', 'invalid field selector: invalid escape sequence: \\'],
    ['a=\\,\\', 'invalid field selector: invalid escape sequence: \\'],
  ]
  for (const [text, message] of cases) assert.throws(() => parseFieldSelector(text), { name: 'SelectorError', message }, text)
})

test('fields match by text, and what is not there is empty', () => {
  type Pod = { name: string; phase: string }
  const getters = { 'metadata.name': (pod: Pod) => pod.name, 'status.phase': (pod: Pod) => pod.phase }
  const pod = { name: 'a', phase: 'Running' }
  const cases: [string, boolean][] = [
    ['', true],
    ['metadata.name=a', true],
    ['metadata.name=b', false],
    ['metadata.name!=b', true],
    ['metadata.name=a,status.phase=Running', true],
    ['metadata.name=a,status.phase!=Running', false],
    ['spec.nodeName=', true],
    ['spec.nodeName!=', false],
    ['constructor=', true],
  ]
  for (const [text, expected] of cases) {
    const selector = parseFieldSelector(text)
    assert.equal(selector.matcher(getters)(pod), expected, text)
    assert.equal(
      selector.matches((field) => (field === 'metadata.name' ? pod.name : field === 'status.phase' ? pod.phase : '')),
      expected,
      text,
    )
  }
})

test('a required value is found for indexes', () => {
  const selector = parseFieldSelector('metadata.name=a,spec.nodeName!=n')
  assert.equal(selector.requiredValue('metadata.name'), 'a')
  assert.equal(selector.requiredValue('spec.nodeName'), undefined)
})

test('terms can be renamed and dropped', () => {
  const renamed = parseFieldSelector('a=1,b!=2').transform((term) => (term.field === 'a' ? undefined : { ...term, field: 'c' }))
  assert.equal(String(renamed), 'c!=2')
})

test('escaping is undone by unescaping', () => {
  for (const value of ['', 'a', 'a,b', 'a=b', 'a\\b', '\\,=\\', 'é,😀']) assert.equal(unescapeFieldValue(escapeFieldValue(value)), value)
})

test('an unknown field is refused in the words of its kind', () => {
  const cases: [string, boolean, string][] = [
    ['ConfigMap', false, '"spec.nope" is not a known field selector: only "metadata.name", "metadata.namespace"'],
    ['Pod', true, 'field label not supported: spec.nope'],
    ['Job', true, 'field label "spec.nope" not supported for Job'],
    ['ResourceSlice', true, 'field label not supported for g/v1, Kind=ResourceSlice: spec.nope'],
  ]
  for (const [kind, hasOwnFields, message] of cases) {
    assert.equal(unknownFieldMessage('spec.nope', { apiVersion: 'g/v1', kind, hasOwnFields }), message)
  }
})

test('however many terms there are, each holds, and a field is read once', () => {
  const many = Array.from({ length: 1000 }, (_, index) => `metadata.name!=n${index}`)
  const matches = (more: string[], name: string) => {
    let reads = 0
    const isMatch = parseFieldSelector([...many, ...more].join(',')).matches((field) => {
      reads++
      return field === 'metadata.name' ? name : ''
    })
    assert.ok(reads <= 2)
    return isMatch
  }
  assert.equal(matches([], 'n5'), false)
  assert.equal(matches([], 'other'), true)
  assert.equal(matches(['metadata.name=other'], 'other'), true)
  assert.equal(matches(['metadata.name=another'], 'other'), false)
  assert.equal(matches(['metadata.name=other', 'metadata.name=another'], 'other'), false)
  assert.equal(matches(['spec.a='], 'other'), true)
  assert.equal(matches(['spec.a!='], 'other'), false)
})
