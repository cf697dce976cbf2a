import assert from 'node:assert/strict'
import { test } from 'node:test'
import { randomObject } from '#api/codec/testing/random-object.ts'
import { schemaNames, schemaOf } from '#api/schema/schema.ts'
import { seededRandom } from '#base/random.ts'
import { ProtobufWriter } from '#wire/protobuf-writer.ts'
import { DecodeError } from './decode-error.ts'
import { decodeJson, encodeJson } from './json.ts'
import { decodeProtobufMessage, encodeProtobuf, encodeProtobufEvent, encodeProtobufMessage, readProtobuf } from './protobuf.ts'
import { hasProtobuf } from './protobuf-plan.ts'

const core = (name: string): string => `io.k8s.api.core.v1.${name}`
const hex = (text: string): Buffer => Buffer.from(text.replaceAll(' ', ''), 'hex')

test('the bytes are those that Go makes', () => {
  // Put together by hand from the numbers of the fields; Go's own writers were compared with for every kind.
  const cases: [type: string, object: object, bytes: string][] = [
    [core('ObjectReference'), { kind: 'Pod', name: 'a' }, '0a03506f64 1a0161'],
    [core('Volume'), { name: 'v', emptyDir: {} }, '0a0176 1202 1200'],
    [core('HTTPGetAction'), { path: '/', port: 80 }, '0a012f 1206 0800 1050 1a00'],
    [core('HTTPGetAction'), { port: 'http' }, '120a 0801 1000 1a0468747470'],
    [core('ResourceRequirements'), { limits: { cpu: '1' } }, '0a0a 0a03637075 1203 0a0131'],
    [core('SecurityContext'), { runAsUser: -1 }, '20ffffffffffffffffff01'],
    [core('Secret'), { data: { a: 'AQI=' } }, '1207 0a0161 12020102'],
    ['io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta', { creationTimestamp: '1970-01-01T00:00:10Z' }, '4204 080a 1000'],
    ['io.k8s.api.coordination.v1.LeaseSpec', { renewTime: '1970-01-01T00:00:10.000001Z' }, '2205 080a 10e807'],
    ['io.k8s.apimachinery.pkg.apis.meta.v1.ManagedFieldsEntry', { fieldsV1: { 'f:a': {} } }, '3a0c 0a0a 7b22663a61223a7b7d7d'],
    ['io.k8s.api.apps.v1.ControllerRevision', { data: { a: 1 }, revision: 3 }, '1209 0a07 7b2261223a317d 1803'],
    ['io.k8s.api.authentication.v1.UserInfo', { extra: { k: ['a', 'b'] } }, '220b 0a016b 1206 0a0161 0a0162'],
    ['io.k8s.api.batch.v1.PodFailurePolicyOnExitCodesRequirement', { values: [1, 2] }, '1801 1802'],
  ]
  for (const [type, object, bytes] of cases) {
    assert.equal(encodeProtobufMessage(object, type).toString('hex'), bytes.replaceAll(' ', ''), type)
  }
})

test('an object travels in an envelope that names its kind', () => {
  const object = { kind: 'ConfigMap', apiVersion: 'v1', metadata: { name: 'a' }, data: { k: 'v' } }
  const bytes = encodeProtobuf(object, core('ConfigMap'))
  const expected = '6b387300 0a0f 0a027631 1209436f6e6669674d6170 120d 0a03 0a0161 1206 0a016b 120176 1a00 2200'
  assert.equal(bytes.toString('hex'), hex(expected).toString('hex'))
  const document = readProtobuf(bytes)
  assert.deepEqual(document.typeMeta, { apiVersion: 'v1', kind: 'ConfigMap' })
  assert.deepEqual(document.decode(core('ConfigMap')), object)
})

test('zero values, which Go writes out, and fields in any order come out canonical', () => {
  const cases: [type: string, bytes: string, object: object][] = [
    [core('ServicePort'), '0a00 1200 1850 2206 0800 1050 1a00 2800', { port: 80, targetPort: 80 }],
    [core('Container'), '1200 0a0163 4200 800100 4a00', { name: 'c', resources: {}, volumeMounts: [{ name: '', mountPath: '' }] }],
    [core('Volume'), '1202 1200 0a0176', { name: 'v', emptyDir: {} }],
    ['io.k8s.api.rbac.v1.Role', '0a00', { metadata: {}, rules: null }],
    ['io.k8s.api.batch.v1.PodFailurePolicyOnExitCodesRequirement', '1a03 010203', { operator: '', values: [1, 2, 3] }],
    [core('ConfigMap'), '0a00 1206 0a0162 120132 1206 0a0161 120131 f80600', { metadata: {}, data: { a: '1', b: '2' } }],
    [core('PodCondition'), '0a0161 120154 1a00 2200', { type: 'a', status: 'T', lastProbeTime: null, lastTransitionTime: null }],
  ]
  for (const [type, bytes, object] of cases) {
    const decoded = decodeProtobufMessage(hex(bytes), type)
    assert.deepEqual(decoded, object, type)
    assert.equal(JSON.stringify(decoded), encodeJson(structuredClone(decoded), type).toString(), type)
  }
})

test('objects of every kind go from JSON to protobuf and back unchanged', () => {
  const seed = 42
  const random = seededRandom(seed)
  let objects = 0
  for (const name of schemaNames()) {
    const type = schemaOf(name)
    if (!hasProtobuf(type)) continue
    for (let round = 0; round < (type.groupVersionKinds.length > 0 ? 6 : 2); round++) {
      const object = randomObject(type, random)
      const where = `seed ${seed}, ${name}, round ${round}`
      const json = encodeJson(object, type)
      const fromJson = decodeJson(json, type)
      assert.deepEqual(fromJson, { object, strictErrors: [] }, where)
      const fromProtobuf = readProtobuf(encodeProtobuf(fromJson.object, type)).decode(type)
      assert.deepEqual(fromProtobuf, object, where)
      assert.equal(encodeJson(fromProtobuf, type).toString(), json.toString(), where)
      objects++
    }
  }
  assert.ok(objects > 3000)
})

test('what is no envelope, or wrong inside of one, is refused', () => {
  const wrapped = (message: string): Buffer => {
    const body = hex(message)
    return Buffer.concat([hex('6b387300 12'), Buffer.from([body.length]), body])
  }
  const cases: [Buffer, string][] = [
    [Buffer.alloc(0), 'empty data'],
    [Buffer.from('{}'), 'provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]'],
    [hex('6b387300'), 'empty body'],
    [hex('6b387300 1205'), 'unexpected EOF'],
    [wrapped('0805'), 'proto: wrong wireType = 0 for field ObjectMeta'],
    [wrapped('0a05'), 'unexpected EOF'],
    [wrapped('0a02 0801'), 'proto: wrong wireType = 0 for field Name'],
    [wrapped('0c'), 'proto: wrong wireType = 4 for field ObjectMeta'],
    [wrapped('7c'), 'proto: Pod: wiretype end group for non-group'],
    [wrapped('0a0b 4209 08ffffffffffffff7f'), 'proto: time out of range'],
  ]
  for (const [bytes, message] of cases)
    assert.throws(() => readProtobuf(bytes).decode(core('Pod')), new DecodeError(message), bytes.toString('hex'))
  assert.throws(() => decodeProtobufMessage(hex('0a08 0a0161 12030a0178'), core('ResourceRequirements')), /quantities must match/)
})

test('entries of maps that take two bytes each are refused when they are too many', () => {
  const entries = (count: number) => Buffer.alloc(count * 2, hex('1200'))
  assert.deepEqual(decodeProtobufMessage(entries(1000), core('ConfigMap')), { data: { '': '' }, metadata: {} })
  assert.throws(() => decodeProtobufMessage(entries(200_000), core('ConfigMap')), /too many messages/)
})

test('bombs of depth are refused', () => {
  // `not` holds a schema that holds a schema: back to front, each with the length of all before it.
  const writer = new ProtobufWriter()
  for (let level = 0; level < 30_000; level++) writer.endMessage((28 << 3) | 2, 0)
  const bytes = writer.finish()
  const schema = 'io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps'
  assert.throws(() => decodeProtobufMessage(bytes, schema), new DecodeError('proto: exceeded max depth'))
})

test('no mutation of an object makes the decoder fail in any other way than by refusing', () => {
  const seed = 5
  const random = seededRandom(seed)
  const type = schemaOf(core('Pod'))
  for (let round = 0; round < 3000; round++) {
    const bytes = encodeProtobuf(randomObject(type, random), type)
    for (let change = 0; change <= random.int(4); change++) bytes[4 + random.int(bytes.length - 4)] = random.int(256)
    try {
      readProtobuf(bytes).decode(type)
    } catch (error) {
      assert.ok(error instanceof DecodeError, `seed ${seed}, round ${round}: ${error}`)
    }
  }
})

test('no mutation of JSON makes the decoder fail in any other way than by refusing', () => {
  const seed = 6
  const random = seededRandom(seed)
  const type = schemaOf(core('Pod'))
  for (let round = 0; round < 2000; round++) {
    const bytes = encodeJson(randomObject(type, random), type)
    for (let change = 0; change <= random.int(3); change++) bytes[random.int(bytes.length)] = random.int(256)
    try {
      const { object } = decodeJson(bytes, type)
      assert.deepEqual(decodeJson(encodeJson(structuredClone(object), type), type).object, object)
    } catch (error) {
      assert.ok(error instanceof DecodeError, `seed ${seed}, round ${round}: ${error}`)
    }
  }
})

test('an event of a watch is framed by its length', () => {
  const pod = { kind: 'Pod', apiVersion: 'v1', metadata: { name: 'a' }, spec: { containers: [] }, status: {} }
  const frame = encodeProtobufEvent('ADDED', pod, core('Pod'))
  assert.equal(frame.readUInt32BE(0), frame.length - 4)
  assert.equal(frame.subarray(4, 11).toString('latin1'), '\n\u0005ADDED')
})

test('a list with more entries than are wanted is not read to its end', () => {
  const empty = (count: number) => Buffer.concat(Array.from({ length: count }, () => hex('6a00')))
  const limit = { most: 3, tooMany: (most: number) => new Error(`more than ${most}`) }
  const read = (count: number) =>
    decodeProtobufMessage<{ ownerReferences: unknown[] }>(empty(count), 'io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta', limit)
  assert.equal(read(3).ownerReferences.length, 3)
  assert.throws(() => read(4), new Error('more than 3'))
})

test('a map with more entries than are wanted is not read to its end, even if all have the same key', () => {
  const limit = { most: 3, tooMany: (most: number) => new Error(`more than ${most}`) }
  const read = (entries: readonly string[]) =>
    decodeProtobufMessage<{ data: unknown }>(Buffer.concat(entries.map(hex)), core('ConfigMap'), limit)
  const [empty, first] = ['1200', '1206 0a0161 120131']
  assert.deepEqual(read([empty, first, empty]).data, { '': '', a: '1' })
  assert.throws(() => read([empty, empty, empty, empty]), new Error('more than 3'))
})

test('fields that are unknown, or come once more, may be so many', () => {
  const limit = {
    most: 100,
    tooMany: () => new Error('too many entries'),
    dropped: { most: 3, tooMany: () => new Error('more than 3') },
  }
  const times = (count: number, field: string) => Buffer.concat(Array.from({ length: count }, () => hex(field)))
  const read = (bytes: Buffer) => decodeProtobufMessage<{ metadata?: { name?: string } }>(bytes, core('ConfigMap'), limit)
  const [unknown, name] = ['f80700', '0a03 0a0161']
  assert.equal(read(Buffer.concat([times(3, unknown), times(1, name)])).metadata?.name, 'a')
  assert.throws(() => read(times(4, unknown)), new Error('more than 3'))
  assert.equal(read(times(4, name)).metadata?.name, 'a')
  assert.throws(() => read(times(5, name)), new Error('more than 3'))
  assert.throws(() => read(hex('1208 f80700 f80700 f807')), DecodeError)
  // In an entry of a map, and in a group.
  assert.throws(() => read(hex('120c f80700 f80700 f80700 f80700')), new Error('more than 3'))
  assert.throws(() => read(hex('fb07 f80700 f80700 f80700 fc07')), new Error('more than 3'))
  const inEnvelope = Buffer.concat([hex('6b387300'), times(4, unknown)])
  assert.throws(() => readProtobuf(inEnvelope, limit), new Error('more than 3'))
})

test('numbers that come packed are entries of a list as well', () => {
  const limit = { most: 3, tooMany: (most: number) => new Error(`more than ${most}`) }
  const read = (packed: string) =>
    decodeProtobufMessage<{ supplementalGroups: unknown }>(hex(packed), core('PodSecurityContext'), limit).supplementalGroups
  assert.deepEqual(read('2203 010203'), [1, 2, 3])
  assert.throws(() => read('2204 01020304'), new Error('more than 3'))
})
