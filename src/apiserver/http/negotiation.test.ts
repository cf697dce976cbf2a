import assert from 'node:assert/strict'
import { test } from 'node:test'
import { takesGzip } from '#apiserver/http/content-coding.ts'
import { knowsAnyOf, negotiate } from '#apiserver/http/negotiation.ts'

const none = { pretty: null, userAgent: undefined }
const table = 'application/json;as=Table;g=meta.k8s.io;v=v1'

const cases: [accept: string | undefined, media: string, as: string][] = [
  [undefined, 'json', 'object'],
  ['', 'json', 'object'],
  ['*/*', 'json', 'object'],
  ['application/yaml, application/json;q=0.5', 'yaml', 'object'],
  ['application/yaml;q=0.1, application/json;q=0.5', 'json', 'object'],
  [`${table}, application/json`, 'json', 'Table'],
  ['text/html, application/vnd.kubernetes.protobuf', 'protobuf', 'object'],
]
for (const [accept, media, as] of cases) {
  test(`whoever accepts ${accept} gets ${media} of the ${as}`, () => {
    for (let time = 0; time < 2; time++) {
      const form = negotiate(accept, none)
      assert.deepEqual([form.media, form.as], [media, as])
      assert.equal(knowsAnyOf(accept), true)
    }
  })
}

test('a table is left out for what has none', () => {
  assert.equal(negotiate(`${table}, application/json`, { ...none, hasNoTable: true }).as, 'object')
  assert.equal(negotiate(`${table}, application/json`, none).as, 'Table')
})

for (const accept of ['text/html', 'constructor', '__proto__', 'toString;q=1']) {
  test(`${accept} is nothing that can be given`, () => {
    assert.throws(() => negotiate(accept, none), { code: 406 })
    assert.equal(knowsAnyOf(accept), false)
  })
}

test('of a header without end the beginning is looked at', () => {
  const endless = 'text/html,'.repeat(100_000)
  assert.equal(negotiate(`application/yaml,${endless}`, none).media, 'yaml')
  assert.throws(() => negotiate(`${endless}application/yaml`, none), { code: 406 })
  assert.throws(() => negotiate('application/yaml'.repeat(100_000), none), { code: 406 })
  assert.equal(knowsAnyOf(`${endless}application/json`), false)
  assert.equal(takesGzip(`gzip,${endless}`), true)
  assert.equal(takesGzip(`${endless}gzip`), false)
})
