import assert from 'node:assert/strict'
import { test } from 'node:test'
import { builtInKinds } from '#api/kinds.ts'
import { Scheme } from '#api/scheme.ts'
import { RequestContext } from '#apiserver/http/context.ts'
import { inProcess } from '#apiserver/http/in-process-exchange.ts'
import { requestInfo } from '#apiserver/http/request-info.ts'
import { systemClock } from '#base/clock.ts'
import { gunzip } from '#base/compression.ts'
import { openApiEndpoints } from './endpoints.ts'

const served = builtInKinds.filter(({ group, version }) => ['policy/v1', 'apps/v1'].includes(`${group}/${version}`))

function client(definitions = served) {
  const { paths, prefix } = openApiEndpoints({ scheme: new Scheme(definitions), version: '1', clock: systemClock })
  const connection = { remoteAddress: '', localAddress: '', clientCertificate: undefined, memo: undefined }
  const send = inProcess((exchange) => {
    const [path = '', search = ''] = exchange.target.split('?')
    const query = new URLSearchParams(search)
    const context = new RequestContext(exchange, requestInfo(exchange.method, path, query), query, { name: '', groups: [], extra: {} })
    void (paths.get(path) ?? prefix.endpoint)(context)
  }, connection)
  return async (target: string, headers: Record<string, string> = {}) => {
    const { status, headers: answered, body } = await send({ method: 'GET', target, headers })
    return { status, headers: answered, body: Buffer.from(body ?? []) }
  }
}

type Index = { paths: Record<string, { serverRelativeURL: string }> }

async function urlOf(get: ReturnType<typeof client>, name: string): Promise<string> {
  const index = JSON.parse((await get('/openapi/v3')).body.toString()) as Index
  return index.paths[name]?.serverRelativeURL ?? ''
}

test('the index names a document for each group and version', async () => {
  const index = JSON.parse((await client()('/openapi/v3')).body.toString()) as Index
  assert.deepEqual(Object.keys(index.paths), [
    '.well-known/openid-configuration',
    'api',
    'apis',
    'apis/apps',
    'apis/apps/v1',
    'apis/policy',
    'apis/policy/v1',
    'openid/v1/jwks',
    'version',
  ])
  assert.match(index.paths['apis/apps/v1']?.serverRelativeURL ?? '', /^\/openapi\/v3\/apis\/apps\/v1\?hash=[0-9A-F]{128}$/)
})

test('a document asked for with its hash may be kept for ever', async () => {
  const get = client()
  const { status, headers, body } = await get(await urlOf(get, 'apis/policy/v1'))
  assert.equal(status, 200)
  assert.equal(headers['cache-control'], 'public, immutable')
  assert.ok(headers['expires'])
  assert.equal(JSON.parse(body.toString()).openapi, '3.0.0')
})

test('an old hash leads to the present one', async () => {
  const get = client()
  const { status, headers } = await get('/openapi/v3/apis/policy/v1?hash=OLD')
  assert.equal(status, 301)
  assert.equal(headers['location'], await urlOf(get, 'apis/policy/v1'))
})

test('a hash changes with what the document is made from, and with nothing else', async () => {
  const withoutScale = served.map((each) => (each.plural === 'deployments' ? { ...each, subresources: {} } : each))
  const [before, after] = [client(), client(withoutScale)]
  assert.notEqual(await urlOf(before, 'apis/apps/v1'), await urlOf(after, 'apis/apps/v1'))
  assert.equal(await urlOf(before, 'apis/policy/v1'), await urlOf(after, 'apis/policy/v1'))
})

test('a client that has the document is told so', async () => {
  const get = client()
  for (const target of ['/openapi/v2', '/openapi/v3', '/openapi/v3/apis/policy/v1']) {
    const { headers } = await get(target)
    const again = await get(target, { 'if-none-match': String(headers['etag']) })
    assert.equal(again.status, 304, target)
    assert.equal(again.body.length, 0)
  }
})

test('clients that take gzip get the same document, compressed', async () => {
  const get = client()
  const plain = await get('/openapi/v3/apis/apps/v1')
  const compressed = await get('/openapi/v3/apis/apps/v1', { 'accept-encoding': 'gzip' })
  assert.equal(compressed.headers['content-encoding'], 'gzip')
  assert.deepEqual(await gunzip(compressed.body), plain.body)
})

const accepts: [accept: string, status: number, contentType: string | undefined][] = [
  ['', 200, 'application/json'],
  ['*/*', 200, 'application/json'],
  ['application/com.github.proto-openapi.spec.v2@v1.0+protobuf', 200, 'application/com.github.proto-openapi.spec.v2.v1.0+protobuf'],
  [
    'application/com.github.proto-openapi.spec.v2.v1.0+protobuf, application/json;q=0.5',
    200,
    'application/com.github.proto-openapi.spec.v2.v1.0+protobuf',
  ],
  [
    'application/json;q=0.5, application/com.github.proto-openapi.spec.v2.v1.0+protobuf',
    200,
    'application/com.github.proto-openapi.spec.v2.v1.0+protobuf',
  ],
  ['image/png', 406, undefined],
]

for (const [accept, status, contentType] of accepts) {
  test(`version 2 for ${accept === '' ? 'anyone' : accept} is ${contentType ?? status}`, async () => {
    const answer = await client()('/openapi/v2', accept === '' ? {} : { accept })
    assert.equal(answer.status, status)
    assert.equal(answer.headers['content-type'], contentType)
  })
}

test('the whole version 2 document refers to nothing it does not hold', async () => {
  const document = JSON.parse(
    (await client(builtInKinds.filter(({ stability }) => stability === undefined))('/openapi/v2')).body.toString(),
  )
  const missing = new Set<string>()
  for (const [, section = '', name = ''] of JSON.stringify(document).matchAll(/"\$ref":"#\/(definitions|parameters)\/([^"]+)"/g)) {
    if (document[section][name] === undefined) missing.add(`${section}/${name}`)
  }
  assert.deepEqual([...missing], [])
})
