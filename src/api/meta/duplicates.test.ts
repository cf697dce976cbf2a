import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Check } from './check.ts'
import { eachRepeated } from './duplicates.ts'

test('every item but the first of its key is reported, at its place', () => {
  const check = new Check(['a', 'b', 'a', 'c', 'a'], 'spec.names')
  eachRepeated(check, (name) => name)
  assert.deepEqual(
    check.errors.map(({ field, body }) => `${field}: ${body}`),
    ['spec.names[2]: Duplicate value: "a"', 'spec.names[4]: Duplicate value: "a"'],
  )
})

test('no list has no duplicates', () => {
  const check = new Check<string[] | undefined>(undefined, 'spec.names')
  eachRepeated(check, (name) => name)
  assert.deepEqual(check.errors, [])
})

test('of errors without end the first are told, and that there are more', () => {
  const list = new Array<string>(3000).fill('x')
  const check = new Check(list, 'spec.scopes')
  for (const _ of list) check.invalid('unsupported scope')
  const reported = check.errors.filter(({ field }) => field === 'spec.scopes')
  assert.equal(check.errors.length, 3000)
  assert.ok(reported.reduce((sum, { body }) => sum + body.length, 0) < 2 ** 21)
})
