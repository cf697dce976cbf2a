import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DecodeError } from './decode-error.ts'
import { encodeProtobufEvent } from './protobuf.ts'
import { JsonEventReader, jsonEvent, ProtobufEventReader } from './watch-events.ts'

const configMap = 'io.k8s.api.core.v1.ConfigMap'
const objects = ['a', 'b', 'c'].map((name) => ({ kind: 'ConfigMap', apiVersion: 'v1', metadata: { name }, data: { text: 'x'.repeat(50) } }))

test('events come out whole, however the stream was cut', () => {
  const json = Buffer.concat([...objects.map((object) => jsonEvent('ADDED', Buffer.from(JSON.stringify(object)))), Buffer.from('\n')])
  const protobuf = Buffer.concat(objects.map((object) => encodeProtobufEvent('MODIFIED', object, configMap)))
  for (const size of [1, 7, 100, 10_000]) {
    const jsonReader = new JsonEventReader()
    const protobufReader = new ProtobufEventReader()
    const fromJson: unknown[] = []
    const fromProtobuf: unknown[] = []
    for (let at = 0; at < json.length; at += size) fromJson.push(...jsonReader.push(json.subarray(at, at + size)))
    for (let at = 0; at < protobuf.length; at += size) {
      for (const { type, object } of protobufReader.push(protobuf.subarray(at, at + size)))
        fromProtobuf.push({ type, object: object.decode(configMap) })
    }
    assert.deepEqual(
      fromJson,
      objects.map((object) => ({ type: 'ADDED', object })),
      `pieces of ${size}`,
    )
    assert.deepEqual(
      fromProtobuf,
      objects.map((object) => ({ type: 'MODIFIED', object })),
      `pieces of ${size}`,
    )
  }
})

test('what is no event is refused', () => {
  assert.throws(() => new JsonEventReader().push(Buffer.from('nope\n')), DecodeError)
  assert.throws(() => new JsonEventReader().push(Buffer.from('{}\n')), DecodeError)
  assert.throws(() => new ProtobufEventReader().push(Buffer.from('7fffffff', 'hex')), new DecodeError('event of the watch is too large'))
  assert.throws(() => new ProtobufEventReader().push(Buffer.from('00000002ffff', 'hex')), DecodeError)
})
