import assert from 'node:assert/strict'
import { test } from 'node:test'
import protobuf from 'protobufjs'
import { etcdMethods } from '#wire/etcd-messages.ts'
import { decodeMessage, describeMessages, encodeMessage } from '#wire/protobuf-messages.ts'

const ours = describeMessages({
  Outer: 'count:1:int id:2:id flag:3:bool raw:4:bytes text:5:string inner:6:Inner items:7:Inner[] numbers:8:int[] far:200:int',
  Inner: 'value:1:int name:2:string',
})

/** The same messages as a library reads them. */
const theirs = protobuf
  .parse(`syntax = "proto3";
  message Inner { int64 value = 1; string name = 2; }
  message Outer {
    int64 count = 1; int64 id = 2; bool flag = 3; bytes raw = 4; string text = 5;
    Inner inner = 6; repeated Inner items = 7; repeated int64 numbers = 8; int64 far = 200;
  }`)
  .root.lookupType('Outer')

const cases = [
  { name: 'nothing', value: {} },
  { name: 'small numbers', value: { count: 1, id: 5n, flag: true, far: 127 } },
  { name: 'sizes of numbers', value: { numbers: [0, 127, 128, 16383, 16384, 2 ** 31, 2 ** 32 + 5, 2 ** 49, Number.MAX_SAFE_INTEGER] } },
  { name: 'negative numbers', value: { count: -1, id: -(2n ** 63n), numbers: [-1, -(2 ** 40)] } },
  { name: 'the largest id', value: { id: 2n ** 63n - 1n } },
  { name: 'bytes and text', value: { raw: Buffer.from([0, 255, 128]), text: 'zwölf \u{1f600}' } },
  { name: 'messages in messages', value: { inner: { value: 3, name: 'a' }, items: [{ name: 'b' }, {}, { value: 9 }] } },
  {
    name: 'more than the first buffer',
    value: { raw: Buffer.alloc(100_000, 7), text: 'x'.repeat(5000), items: [{ name: 'y'.repeat(3000) }] },
  },
]

for (const { name, value } of cases) {
  test(`a library reads what is written, and what it writes is read: ${name}`, () => {
    const bytes = encodeMessage(ours.Outer, value)
    const decoded = theirs.toObject(theirs.decode(bytes), { longs: String, defaults: true, bytes: Array })
    const read = decodeMessage(ours.Outer, theirs.encode(theirs.decode(bytes)).finish())
    assert.deepEqual(read, decodeMessage(ours.Outer, bytes))
    const comparable = (content: object) =>
      JSON.parse(JSON.stringify(content, (_, part) => (typeof part === 'bigint' || typeof part === 'number' ? String(part) : part)))
    const inOurs = read as { raw: Uint8Array; inner?: object }
    assert.deepEqual(comparable({ ...inOurs, inner: inOurs.inner ?? null, raw: [...inOurs.raw] }), comparable(decoded))
  })
}

test('unknown fields are passed over, and messages cut short are refused', () => {
  const narrow = describeMessages({ Outer: 'text:5:string' })
  const bytes = encodeMessage(ours.Outer, { count: 2 ** 40, raw: Buffer.alloc(300), text: 'kept', inner: { value: 1 }, far: 4 })
  assert.deepEqual(decodeMessage(narrow.Outer, bytes), { text: 'kept' })
  for (const cut of [1, 3, 50, bytes.length - 1]) assert.throws(() => decodeMessage(ours.Outer, bytes.subarray(0, cut)), RangeError)
})

test('a transaction keeps everything on its way', () => {
  const request = {
    compare: [{ result: 0, target: 2, key: Buffer.from('/a'), modRevision: 7 }],
    success: [{ requestPut: { key: Buffer.from('/a'), value: Buffer.from('1'), lease: 2n ** 62n, prevKv: true } }],
    failure: [{ requestRange: { key: Buffer.from('/a'), limit: 1 } }],
  }
  const read = etcdMethods.txn.decodeRequest(etcdMethods.txn.encodeRequest(request))
  assert.equal(read.compare[0]?.modRevision, 7)
  assert.equal(read.success[0]?.requestPut?.lease, 2n ** 62n)
  assert.equal(read.success[0]?.requestRange, undefined)
  assert.equal(read.failure[0]?.requestRange?.limit, 1)
})

test('maps are read as they were written, by others too', () => {
  const { Labelled } = describeMessages({ Labelled: 'labels:1:map name:2:string' })
  const { root } = protobuf.parse('syntax = "proto3"; message Labelled { map<string, string> labels = 1; string name = 2; }')
  const other = root.lookupType('Labelled')
  const value = { labels: { app: 'web', empty: '', 'ä/b': 'ü' }, name: 'x' }
  assert.deepEqual(decodeMessage(Labelled, encodeMessage(Labelled, value)), value)
  assert.deepEqual(decodeMessage(Labelled, other.encode(value).finish()), value)
  assert.deepEqual(other.toObject(other.decode(encodeMessage(Labelled, value))), value)
  assert.deepEqual(decodeMessage(Labelled, Buffer.alloc(0)), { labels: {}, name: '' })
  // A key that would change the object itself if it were assigned.
  const { labels } = decodeMessage(Labelled, Buffer.from('\x0a\x0e\x0a\x09__proto__\x12\x01x', 'latin1')) as { labels: object }
  assert.deepEqual(Object.keys(labels), ['__proto__'])
})
