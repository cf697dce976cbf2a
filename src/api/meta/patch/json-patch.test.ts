import assert from 'node:assert/strict'
import { test } from 'node:test'
import { deepFreeze } from '#api/meta/deep-copy.ts'
import { applyPatch, unknownOperationFields } from './apply-patch.ts'
import { PatchError } from './patch-error.ts'

const pod = deepFreeze({ metadata: { name: 'p', labels: { app: 'a' } }, list: [1, 2, 3], nested: { deep: [{ x: 1 }] }, none: null })

type Op = { op?: unknown; path?: unknown; from?: unknown; value?: unknown }

/** What the patch changes at the top level. */
function changed(...ops: Op[]): unknown {
  const result = applyPatch('json', pod, ops) as Record<string, unknown>
  return Object.fromEntries(
    Object.entries(result).filter(([key, value]) => JSON.stringify(value) !== JSON.stringify((pod as Record<string, unknown>)[key])),
  )
}

test('integers of 64 bits are values like others, also where the object has owners of fields', () => {
  const owned = deepFreeze({ metadata: { name: 'p', managedFields: [{ manager: 'm' }] } })
  const result = applyPatch('json', owned, [{ op: 'add', path: '/size', value: 9_007_199_254_740_993n }])
  assert.deepEqual(result, { ...owned, size: 9_007_199_254_740_993n })
})

test('operations do what RFC 6902 says', () => {
  const cases: [string, Op[], unknown][] = [
    ['adds a field', [{ op: 'add', path: '/kind', value: 'Pod' }], { kind: 'Pod' }],
    ['adds into a list, moving what follows', [{ op: 'add', path: '/list/1', value: 9 }], { list: [1, 9, 2, 3] }],
    ['appends to a list', [{ op: 'add', path: '/list/-', value: 9 }], { list: [1, 2, 3, 9] }],
    ['adds at the very end by index', [{ op: 'add', path: '/list/3', value: 9 }], { list: [1, 2, 3, 9] }],
    ['replaces an item', [{ op: 'replace', path: '/list/0', value: 9 }], { list: [9, 2, 3] }],
    ['removes an item', [{ op: 'remove', path: '/list/0' }], { list: [2, 3] }],
    ['reaches into lists', [{ op: 'replace', path: '/nested/deep/0/x', value: 2 }], { nested: { deep: [{ x: 2 }] } }],
    ['moves', [{ op: 'move', from: '/list/0', path: '/first' }], { list: [2, 3], first: 1 }],
    ['copies', [{ op: 'copy', from: '/nested/deep', path: '/again' }], { again: [{ x: 1 }] }],
    ['unescapes names', [{ op: 'add', path: '/metadata/a~1b~0c', value: 1 }], { metadata: { ...pod.metadata, 'a/b~c': 1 } }],
    [
      'tests, then goes on',
      [
        { op: 'test', path: '/list', value: [1, 2, 3] },
        { op: 'remove', path: '/list' },
      ],
      {},
    ],
    ['tests numbers, texts and objects', [{ op: 'test', path: '/nested', value: { deep: [{ x: 1 }] } }], {}],
    ['replaces the whole document', [{ op: 'replace', path: '', value: { a: 1 } }], { a: 1 }],
  ]
  for (const [name, ops, expected] of cases) assert.deepEqual(changed(...ops), expected, name)
})

test('the habits of the library upstream uses are kept', () => {
  const cases: [string, Op[], unknown][] = [
    ['a negative index counts from the end', [{ op: 'remove', path: '/list/-1' }], { list: [1, 2] }],
    ['an insertion at -1 comes last', [{ op: 'add', path: '/list/-1', value: 9 }], { list: [1, 2, 3, 9] }],
    ['replace adds a field that is missing', [{ op: 'replace', path: '/kind', value: 'Pod' }], { kind: 'Pod' }],
    ['add without a value adds null', [{ op: 'add', path: '/kind' }], { kind: null }],
    ['a copy of a missing field is null', [{ op: 'copy', from: '/kind', path: '/other' }], { other: null }],
    ['a missing field passes a test for null', [{ op: 'test', path: '/kind', value: null }], {}],
    ['null passes a test without a value', [{ op: 'test', path: '/none' }], {}],
    ['what stands before the first slash does not matter', [{ op: 'add', path: 'x/kind', value: 'Pod' }], { kind: 'Pod' }],
  ]
  for (const [name, ops, expected] of cases) assert.deepEqual(changed(...ops), expected, name)
  assert.deepEqual(applyPatch('json', pod, null), pod, 'a null patch does nothing')
})

test('what does not apply is refused with 422, and the particulars are kept for the log', () => {
  const cases: [Op, string][] = [
    [{ op: 'add', path: '/a/b', value: 1 }, 'add operation does not apply: doc is missing path: "/a/b": missing value'],
    [{ op: 'add', path: '' }, 'add operation does not apply: doc is missing path: "": missing value'],
    [{ op: 'add' }, 'add operation failed to decode path: missing value'],
    [
      { op: 'add', path: '/list/4', value: 1 },
      "error in add for path: '/list/4': Unable to access invalid index: 4: invalid index referenced",
    ],
    [
      { op: 'add', path: '/list/x', value: 1 },
      `error in add for path: '/list/x': value was not a proper array index: 'x': strconv.Atoi: parsing "x": invalid syntax`,
    ],
    [{ op: 'remove', path: '/a' }, "error in remove for path: '/a': Unable to remove nonexistent key: a: missing value"],
    [
      { op: 'remove', path: '/list/-4' },
      "error in remove for path: '/list/-4': Unable to access invalid index: -4: invalid index referenced",
    ],
    [{ op: 'replace', path: '/list/3', value: 1 }, 'replace operation does not apply: doc is missing key: /list/3: missing value'],
    [
      { op: 'replace', path: '/metadata/name/x', value: 1 },
      'replace operation does not apply: doc is missing path: /metadata/name/x: missing value',
    ],
    [{ op: 'replace', path: '', value: 'x' }, 'replace operation value must be object or array'],
    [{ op: 'replace', path: '', value: [] }, 'the patched document is not an object'],
    [{ op: 'move', path: '/b' }, 'move operation failed to decode from: operation, missing from field: missing value'],
    [{ op: 'move', from: '/a', path: '/b' }, "error in move for path: 'a': Unable to remove nonexistent key: a: missing value"],
    [{ op: 'move', from: '/list', path: '/a/b' }, 'move operation does not apply: doc is missing destination path: /a/b: missing value'],
    [{ op: 'copy', from: '/a/b', path: '/c' }, 'copy operation does not apply: doc is missing from path: /a/b: missing value'],
    [{ op: 'test', path: '/metadata/name', value: 'x' }, 'testing value /metadata/name failed: test failed'],
    [{ op: 'test', path: '/a/b', value: 'x' }, 'test operation does not apply: is missing path: /a/b: missing value'],
    [{ op: 'nope', path: '/a' }, 'Unexpected kind: nope'],
    [{ path: '/a' }, 'Unexpected kind: unknown'],
  ]
  for (const [op, detail] of cases) {
    const error = refusal(() => applyPatch('json', pod, [op]))
    assert.equal(error.detail, detail)
    assert.deepEqual(
      [error.code, error.reason, error.message],
      [422, 'Invalid', 'the server rejected our request due to an error in our request'],
    )
  }
})

test('what is no list of operations is a bad request', () => {
  const cases: [unknown, string][] = [
    [{}, 'json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp'],
    ['x', 'json: cannot unmarshal string into Go value of type []handlers.jsonPatchOp'],
    [[1], 'json: cannot unmarshal number into Go value of type handlers.jsonPatchOp'],
    [[{ op: true }], 'json: cannot unmarshal bool into Go struct field jsonPatchOp.op of type string'],
    [[{ op: 'add', path: [] }], 'json: cannot unmarshal array into Go struct field jsonPatchOp.path of type string'],
  ]
  for (const [patch, why] of cases) {
    const error = refusal(() => applyPatch('json', pod, patch))
    assert.deepEqual([error.code, error.message], [400, `error decoding patch: ${why}`])
  }
})

test('fields that no operation has are named for strict validation', () => {
  assert.deepEqual(
    unknownOperationFields([
      { op: 'add', path: '/a', value: 1 },
      { op: 'add', pth: 1 },
    ]),
    ['json patch unknown field "[1].pth"'],
  )
})

test('ten thousand operations are taken, one more is too many', () => {
  const operations = (count: number): Op[] => Array.from({ length: count }, () => ({ op: 'add', path: '/list/-', value: 1 }))
  assert.equal((applyPatch('json', pod, operations(10_000))['list'] as unknown[]).length, 10_003)
  const error = refusal(() => applyPatch('json', pod, operations(10_001)))
  assert.equal(error.code, 413)
  assert.equal(error.message, 'Request entity too large: The allowed maximum operations in a JSON patch is 10000, got 10001')
})

test('copies cannot grow an object without bounds', () => {
  const doubling: Op[] = [{ op: 'add', path: '/a', value: ['x'.repeat(1000)] }]
  for (let index = 0; index < 40; index++) doubling.push({ op: 'copy', from: '/a', path: '/a/-' })
  const error = refusal(() => applyPatch('json', pod, doubling))
  assert.match(error.detail, /^Unable to complete the copy, the accumulated size increase of copy is \d+, exceeding the limit 3145728$/)
})

test('moves can neither nest an object without bounds nor shift long lists for ever', () => {
  const nesting: Op[] = []
  for (let index = 0; index < 3_000; index++) {
    nesting.push(
      { op: 'add', path: '/b', value: {} },
      { op: 'move', from: '/nested', path: '/b/a' },
      { op: 'move', from: '/b', path: '/nested' },
    )
  }
  assert.match(refusal(() => applyPatch('json', pod, nesting)).detail, /nests deeper than 1000 levels/)

  const long = { list: new Array(200_000).fill(0) }
  const shifting = Array.from({ length: 10_000 }, () => ({ op: 'add', path: '/list/0', value: 1 }))
  assert.equal(refusal(() => applyPatch('json', long, shifting)).code, 413)
})

test('users may name their keys like parts of every JavaScript object', () => {
  const data = JSON.parse('{"data":{"x":"1"}}')
  const patched = applyPatch('json', data, [
    { op: 'add', path: '/data/__proto__', value: 'a' },
    { op: 'add', path: '/data/constructor', value: 'b' },
  ])
  assert.equal(JSON.stringify(patched), '{"data":{"x":"1","__proto__":"a","constructor":"b"}}')
  assert.match(refusal(() => applyPatch('json', data, [{ op: 'remove', path: '/data/toString' }])).detail, /nonexistent key: toString/)
})

function refusal(action: () => unknown): PatchError {
  try {
    action()
  } catch (error) {
    assert.ok(error instanceof PatchError, String(error))
    return error
  }
  throw new Error('was not refused')
}
