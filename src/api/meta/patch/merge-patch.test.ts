import assert from 'node:assert/strict'
import { test } from 'node:test'
import { deepFreeze } from '#api/meta/deep-copy.ts'
import { randomJson } from '#api/meta/patch/testing/random-json.ts'
import { seededRandom } from '#base/random.ts'
import { applyPatch } from './apply-patch.ts'
import type { JsonObject } from './json-value.ts'
import { createMergePatch, createThreeWayJsonMergePatch } from './merge-patch.ts'

test('objects merge, nulls delete, everything else replaces', () => {
  const cases: [JsonObject, JsonObject, JsonObject][] = [
    [{ a: 1 }, { b: 2 }, { a: 1, b: 2 }],
    [{ a: 1 }, { a: 2 }, { a: 2 }],
    [{ a: 1, b: 2 }, { a: null }, { b: 2 }],
    [{ a: { b: 1, c: 2 } }, { a: { b: null, d: 3 } }, { a: { c: 2, d: 3 } }],
    [{ a: [1, 2] }, { a: [3] }, { a: [3] }],
    [{ a: 'x' }, { a: { b: 1, c: null } }, { a: { b: 1 } }],
    [{}, { a: { b: { c: null } } }, { a: { b: {} } }],
    [{}, { a: [null, { b: null, c: 1 }] }, { a: [null, { c: 1 }] }],
    [{ a: { b: 1 } }, { a: [{ b: null }] }, { a: [{ b: null }] }],
    [{ a: 1 }, { nothing: null }, { a: 1 }],
    [{ a: { b: 1 } }, {}, { a: { b: 1 } }],
  ]
  for (const [current, patch, expected] of cases) {
    assert.deepEqual(applyPatch('merge', deepFreeze(current), deepFreeze(patch)), expected, JSON.stringify(patch))
  }
})

test('what is no object is a bad request', () => {
  const cases: [unknown, string][] = [
    [null, 'Invalid JSON Patch'],
    [[], 'error decoding patch: json: cannot unmarshal array into Go value of type map[string]interface {}'],
    ['x', 'error decoding patch: json: cannot unmarshal string into Go value of type map[string]interface {}'],
  ]
  for (const [patch, message] of cases) assert.throws(() => applyPatch('merge', {}, patch), { message, code: 400 })
})

test('keys that look like parts of every JavaScript object are data', () => {
  const patch = JSON.parse('{"data":{"__proto__":{"polluted":true},"constructor":null}}')
  const patched = applyPatch('merge', { data: { a: '1' } }, patch)
  assert.equal(JSON.stringify(patched), '{"data":{"a":"1","__proto__":{"polluted":true}}}')
  assert.equal(Object.hasOwn(Object.prototype, 'polluted'), false)
})

test('the patch between two random objects makes the second of the first', () => {
  for (let seed = 1; seed <= 300; seed++) {
    const random = seededRandom(seed)
    const [original, modified] = [randomJson(random), randomJson(random)]
    const patch = createMergePatch(original, modified)
    assert.deepEqual(applyPatch('merge', original, patch), modified, `seed ${seed}`)
    assert.deepEqual(createMergePatch(original, original), {}, `seed ${seed}`)
  }
})

test('three ways: what others added stays, what was applied and is no longer wanted goes', () => {
  const cases: [string, JsonObject, JsonObject, JsonObject, JsonObject][] = [
    ['an addition', { a: 1 }, { a: 1, b: 2 }, { a: 1, theirs: 3 }, { b: 2 }],
    ['a deletion', { a: 1, b: 2 }, { a: 1 }, { a: 1, b: 2, theirs: 3 }, { b: null }],
    ['a change that others undid', { a: { b: 1 } }, { a: { b: 1 } }, { a: { b: 2 } }, { a: { b: 1 } }],
    ['nothing', { a: 1 }, { a: 1 }, { a: 1, theirs: 3 }, {}],
    ['an empty object', {}, { a: {} }, {}, { a: {} }],
    ['both at once', { a: { x: 1, y: 2 } }, { a: { x: 3 } }, { a: { x: 1, y: 2, z: 4 } }, { a: { y: null, x: 3 } }],
  ]
  for (const [name, original, modified, current, expected] of cases) {
    assert.deepEqual(createThreeWayJsonMergePatch(original, modified, current), expected, name)
  }
})
