import assert from 'node:assert/strict'
import { test } from 'node:test'
import { encodeProtobuf } from '#api/codec/protobuf.ts'
import { encodeYaml } from '#api/codec/yaml.ts'
import { protobufPieces, storedListPieces, textListPieces, yamlListPieces } from '#apiserver/http/encode-list.ts'
import { RequestTurns } from '#apiserver/http/request-turns.ts'
import { respondPieces } from '#apiserver/http/send-pieces.ts'
import { CachedObject } from '#apiserver/watch-cache/cached-object.ts'
import { systemClock } from '#base/clock.ts'
import { gunzip } from '#base/compression.ts'
import type { HttpExchange, HttpHeaders } from '#base/http-server.ts'

const schema = 'io.k8s.api.core.v1.ConfigMap'
const head = { kind: 'ConfigMapList', apiVersion: 'v1', metadata: { resourceVersion: '99', continue: 'abc', remainingItemCount: 3 } }

const sizes = [0, 10, 300_000, 100, 200_000, 70_000, 1]

const objects = sizes.map(
  (size, index) =>
    new CachedObject(
      `/registry/configmaps/a/n${index}`,
      'a',
      `n${index}`,
      index + 5,
      Buffer.from(
        JSON.stringify({
          kind: 'ConfigMap',
          apiVersion: 'v1',
          metadata: { name: `n${index}`, namespace: 'a' },
          data: { text: 'ü\n'.repeat(size / 3) },
        }),
      ),
    ),
)
const shown = ({ object: { kind: _kind, apiVersion: _version, ...rest } }: CachedObject): object => rest
const whole = (items: readonly CachedObject[]) => ({ ...head, items: items.map(shown) })

for (const items of [[], objects.slice(0, 1), objects]) {
  test(`a list of ${items.length} made of stored bytes, as text, for people, as YAML and as protobuf is the list`, () => {
    assert.deepEqual(JSON.parse(Buffer.concat([...storedListPieces(head, items)]).toString()), whole(items))
    const text = (isPretty: boolean) => Buffer.concat([...textListPieces(head, 'items', items, shown, isPretty)]).toString()
    assert.equal(text(false), JSON.stringify(whole(items)))
    assert.equal(text(true), JSON.stringify(whole(items), undefined, 2))
    const yaml = Buffer.concat([...yamlListPieces(head, 'items', items, shown)])
    assert.equal(yaml.toString(), encodeYaml(whole(items)).toString())
    const rows = { ...head, kind: 'Table', rows: items.map(shown) }
    const { rows: _, ...table } = rows
    assert.equal(Buffer.concat([...yamlListPieces(table, 'rows', items, shown)]).toString(), encodeYaml(rows).toString())
    const protobuf = Buffer.concat([...protobufPieces(head, `${schema}List`, items, schema, shown)])
    assert.deepEqual(protobuf, encodeProtobuf(whole(items), `${schema}List`))
  })
}

/** An exchange that takes everything, copies what it is given, and says when it has. */
function receiving(acceptEncoding: string) {
  const chunks: Buffer[] = []
  let answered: HttpHeaders = {}
  const { promise: ended, resolve: end } = Promise.withResolvers<void>()
  const exchange = {
    headers: { 'accept-encoding': acceptEncoding },
    isClosed: false,
    onClose() {},
    respond(_status: number, headers: HttpHeaders, body: Uint8Array) {
      answered = headers
      chunks.push(Buffer.from(body))
      end()
    },
    stream(_status: number, headers: HttpHeaders) {
      answered = headers
      return {
        backlogBytes: 0,
        onDrain() {},
        write(chunk: Uint8Array, onSent?: () => void) {
          chunks.push(Buffer.from(chunk))
          onSent?.()
          return true
        },
        end,
        abort: end,
      }
    },
  } as unknown as HttpExchange
  return { exchange, ended, headers: () => answered, body: () => Buffer.concat(chunks) }
}

for (const [items, acceptEncoding] of [
  [objects.slice(0, 2), 'gzip'],
  [objects, 'gzip'],
  [objects, 'identity'],
  [objects, 'gzip;q=0'],
] as const) {
  test(`a list of ${items.length} arrives whole where the client takes ${acceptEncoding}`, async () => {
    const client = receiving(acceptEncoding)
    const headers: HttpHeaders = {}
    await respondPieces(storedListPieces(head, items), {
      exchange: client.exchange,
      turns: new RequestTurns(systemClock),
      headers,
      gzipFromBytes: 128 * 1024,
    })
    await client.ended
    const isCompressed = client.headers()['content-encoding'] === 'gzip'
    assert.equal(isCompressed, items.length === objects.length && acceptEncoding === 'gzip')
    const body = isCompressed ? await gunzip(client.body()) : client.body()
    assert.deepEqual(JSON.parse(body.toString()), whole(items))
  })
}

test('others are let in between large objects, however little is shown of them', () => {
  const large = Array.from({ length: 20 }, (_, index) => {
    const object = { kind: 'ConfigMap', apiVersion: 'v1', metadata: { name: `n${index}` }, data: { text: 'x'.repeat(1_000_000) } }
    return new CachedObject(`/registry/configmaps/a/n${index}`, 'a', `n${index}`, index + 5, Buffer.from(JSON.stringify(object)))
  })
  const name = ({ name }: CachedObject) => ({ metadata: { name } })
  assert.ok([...textListPieces(head, 'rows', large, name, false)].length >= 20)
  assert.ok([...yamlListPieces(head, 'rows', large, name)].length >= 20)
  assert.ok([...protobufPieces(head, `${schema}List`, large, schema, name)].length >= 20)
  // Of one alone, too.
  assert.ok([...yamlListPieces(head, 'items', objects.slice(2, 3), shown)].length > 5)
})
