import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Random, seededRandom } from '#base/random.ts'
import { atOnce } from '#base/steps.ts'
import {
  differenceOf,
  emptySet,
  type FieldSet,
  hasPath,
  intersectionOf,
  isEmptySet,
  isSubset,
  ordered,
  pathsOf,
  setOfPaths,
  subtreeDifferenceOf,
  unionOf,
  uniting,
} from './field-set.ts'
import { ComparedSet } from './indexed-set.ts'
import { canonicalElement, keyElement, printedPath, valueElement } from './path-element.ts'
import { readFieldSet } from './read-field-set.ts'

const alphabet = ['f:a', 'f:b', 'k:{"n":1}', 'k:{"n":2}', 'v:"x"', 'i:0']

function randomPaths(random: Random): string[][] {
  return Array.from({ length: random.int(8) }, () =>
    Array.from({ length: 1 + random.int(3) }, () => alphabet[random.int(alphabet.length)] ?? ''),
  )
}

const texts = (set: FieldSet): string[] =>
  pathsOf(set)
    .map((path) => path.join(' '))
    .sort()

test('sets obey the algebra of sets of paths', () => {
  for (let seed = 1; seed <= 2_000; seed++) {
    const random = seededRandom(seed)
    const [a, b] = [randomPaths(random), randomPaths(random)]
    const [left, right] = [setOfPaths(a), setOfPaths(b)]
    const [ours, theirs] = [new Set(a.map((path) => path.join(' '))), new Set(b.map((path) => path.join(' ')))]
    const inBoth = (path: string): boolean => ours.has(path) && theirs.has(path)
    const why = `seed ${seed}`
    assert.deepEqual(texts(left), [...ours].sort(), why)
    assert.deepEqual(texts(unionOf(left, right)), [...new Set([...ours, ...theirs])].sort(), why)
    assert.deepEqual(texts(differenceOf(left, right)), [...ours].filter((path) => !theirs.has(path)).sort(), why)
    assert.deepEqual(texts(intersectionOf(left, right)), [...ours].filter(inBoth).sort(), why)
    for (const uses of [1, 1000]) {
      const compared = new ComparedSet(right, uses)
      assert.deepEqual(ordered(compared.differenceFrom(left)), ordered(differenceOf(left, right)), why)
      assert.deepEqual(ordered(compared.intersectionWith(left)), ordered(intersectionOf(left, right)), why)
    }
    assert.deepEqual(texts(atOnce(uniting([left, right, setOfPaths([['f:z']])]))), [...new Set([...ours, ...theirs, 'f:z'])].sort(), why)
    const below = (path: string): boolean => [...theirs].some((other) => path === other || path.startsWith(`${other} `))
    assert.deepEqual(texts(subtreeDifferenceOf(left, right)), [...ours].filter((path) => !below(path)).sort(), why)
    assert.equal(
      isSubset(left, right),
      [...ours].every((path) => theirs.has(path)),
      why,
    )
    for (const path of b) assert.equal(hasPath(left, path), ours.has(path.join(' ')), why)
    assert.equal(isEmptySet(differenceOf(left, left)), true, why)
  }
})

test('operations that change nothing hand back what they were given', () => {
  const set = setOfPaths([['f:a', 'f:b'], ['f:c']])
  assert.equal(unionOf(set, setOfPaths([['f:c']])), set)
  assert.equal(unionOf(set, emptySet), set)
  assert.equal(differenceOf(set, setOfPaths([['f:a']])), set)
  assert.equal(differenceOf(set, setOfPaths([['f:x']])), set)
  assert.equal(ordered(set), set)
  const larger = unionOf(set, setOfPaths([['f:d']]))
  assert.equal(larger['f:a'], set['f:a'])
})

test('stored sets have their elements in order, at every level', () => {
  const set = setOfPaths([
    ['v:"b"'],
    ['k:{"port":80,"protocol":"UDP"}'],
    ['k:{"port":443,"protocol":"TCP"}'],
    ['k:{"port":80,"protocol":"TCP"}', 'f:z'],
    ['k:{"port":80,"protocol":"TCP"}', 'f:a'],
    ['f:b'],
    ['i:10'],
    ['i:9'],
    ['f:a'],
    ['v:"a"'],
    ['v:3'],
    ['v:true'],
    ['v:20'],
    ['k:{"port":80,"protocol":"TCP"}'],
  ])
  assert.equal(
    JSON.stringify(ordered(set)),
    String.raw`{"f:a":{},"f:b":{},"k:{\"port\":80,\"protocol\":\"TCP\"}":{".":{},"f:a":{},"f:z":{}},"k:{\"port\":80,\"protocol\":\"UDP\"}":{},` +
      String.raw`"k:{\"port\":443,\"protocol\":\"TCP\"}":{},"v:3":{},"v:20":{},"v:\"a\"":{},"v:\"b\"":{},"v:true":{},"i:9":{},"i:10":{}}`,
  )
})

test('a set is listed level by level: what is not in anything first', () => {
  const set = setOfPaths([['f:a', 'f:x'], ['f:b'], ['f:a', 'f:y', 'f:z'], ['f:a']])
  assert.deepEqual(
    pathsOf(set).map((path) => printedPath(path)),
    ['.a', '.b', '.a.x', '.a.y.z'],
  )
})

test('elements are printed and written as upstream does', () => {
  const cases: [string, string][] = [
    ['f:image', '.image'],
    [
      keyElement([
        ['containerPort', 80],
        ['protocol', 'TCP'],
      ]),
      '[containerPort=80,protocol="TCP"]',
    ],
    [valueElement('a"b'), String.raw`[="a\"b"]`],
    [valueElement(false), '[=false]'],
    ['i:3', '[3]'],
  ]
  for (const [element, printed] of cases) assert.equal(printedPath([element]), printed)
  assert.equal(keyElement([['name', 'a<b']]), String.raw`k:{"name":"a\u003cb"}`)
})

test('sets that clients write are read, put in order, and cleaned of what nobody knows', () => {
  const cases: [string, string][] = [
    ['{"f:b":{},"f:a":{}}', '{"f:a":{},"f:b":{}}'],
    ['{"f:a":{".":{}}}', '{"f:a":{}}'],
    ['{"f:a":{"f:b":{},".":{}}}', '{"f:a":{".":{},"f:b":{}}}'],
    [String.raw`{"k:{\"b\": 1, \"a\":\"x\"}":{}}`, String.raw`{"k:{\"a\":\"x\",\"b\":1}":{}}`],
    [String.raw`{"v: 1":{},"v:\"\\u0061\"":{}}`, String.raw`{"v:1":{},"v:\"a\"":{}}`],
    ['{"x:what":{"f:a":{}},"f:a":null}', '{"f:a":{}}'],
    ['{}', '{}'],
    ['null', '{}'],
  ]
  for (const [sent, stored] of cases) assert.equal(JSON.stringify(readFieldSet(JSON.parse(sent))), stored, sent)
  for (const bad of ['1', '[]', '{"a":{}}', '{"fa":{}}', '{"k:1":{}}', '{"k:{":{}}', '{"v:{":{}}', '{"i:x":{}}', '{"f:a":1}']) {
    assert.throws(() => readFieldSet(JSON.parse(bad)), bad)
  }
  assert.throws(() => readFieldSet(JSON.parse(`${'{"f:a":'.repeat(50_000)}{}${'}'.repeat(50_000)}`)), /max depth/)
  assert.throws(() => canonicalElement('f'))
})
