/** Custom resources whose versions are converted by a real HTTPS server. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { type Ask, asker, bearer } from '../support/ask.ts'
import { type RunningCluster, startCluster } from '../support/running-cluster.ts'
import { startWebhookServer, type WebhookServer } from '../support/webhook-server.ts'

type Widget = { apiVersion: string; kind: string; metadata: { name: string }; spec: { host?: string; port?: number; address?: string } }
type ConversionRequest = { uid: string; desiredAPIVersion: string; objects: Widget[] }

const root = bearer('test-token')
const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
const path = '/convert'
const of = (version: string) => `/apis/example.com/${version}/namespaces/default/widgets`
let cluster: RunningCluster
let server: WebhookServer
let ask: Ask

/** v1 has an address, v2 has host and port. */
function converted(object: Widget, apiVersion: string): Widget {
  const { spec } = object
  if (apiVersion === 'example.com/v1') return { ...object, apiVersion, spec: { address: `${spec.host}:${spec.port}` } }
  const [host = '', port = ''] = (spec.address ?? '').split(':')
  return { ...object, apiVersion, spec: { host, port: Number(port) } }
}

before(async () => {
  server = await startWebhookServer(['convert.default.svc'])
  server.on(path, (asked) => {
    const { uid, desiredAPIVersion, objects } = asked as unknown as ConversionRequest
    const convertedObjects = objects.map((object) => converted(object, desiredAPIVersion))
    return JSON.stringify({
      kind: 'ConversionReview',
      apiVersion: asked.apiVersion,
      response: { uid, result: { status: 'Success' }, convertedObjects },
    })
  })
  cluster = await startCluster(['--store', 'memory', '--controllers=', '--scheduler=false'])
  ask = asker(cluster.url, readFileSync(join(cluster.directory, 'data', 'pki', 'ca.crt'), 'utf8'))
  const version = (name: string, properties: object, storage: boolean) => ({
    name,
    served: true,
    storage,
    schema: { openAPIV3Schema: { type: 'object', properties: { spec: { type: 'object', properties } } } },
  })
  const { status } = await ask(root, 'POST', definitions, {
    metadata: { name: 'widgets.example.com' },
    spec: {
      group: 'example.com',
      scope: 'Namespaced',
      names: { plural: 'widgets', kind: 'Widget' },
      versions: [
        version('v1', { address: { type: 'string' } }, true),
        version('v2', { host: { type: 'string' }, port: { type: 'integer' } }, false),
      ],
      conversion: {
        strategy: 'Webhook',
        webhook: { clientConfig: { url: server.url(path), caBundle: server.caBundle }, conversionReviewVersions: ['v1'] },
      },
    },
  })
  assert.equal(status, 201)
  while ((await ask(root, 'GET', of('v2'))).status !== 200);
})
after(async () => {
  await cluster?.[Symbol.asyncDispose]()
  await server?.[Symbol.asyncDispose]()
})

test('an object is written in one version, stored in another, and read in both', async () => {
  const created = await ask(root, 'POST', of('v2'), {
    apiVersion: 'example.com/v2',
    kind: 'Widget',
    metadata: { name: 'two' },
    spec: { host: 'a', port: 80 },
  })
  assert.equal(created.status, 201, JSON.stringify(created.body))
  assert.deepEqual((created.body as unknown as Widget).spec, { host: 'a', port: 80 })
  assert.deepEqual(((await ask(root, 'GET', `${of('v1')}/two`)).body as unknown as Widget).spec, { address: 'a:80' })
  assert.deepEqual(((await ask(root, 'GET', `${of('v2')}/two`)).body as unknown as Widget).spec, { host: 'a', port: 80 })
})

test('a list of many is one call', async () => {
  for (let index = 0; index < 200; index++) {
    const object = { apiVersion: 'example.com/v1', kind: 'Widget', metadata: { name: `many-${index}` }, spec: { address: `h:${index}` } }
    assert.equal((await ask(root, 'POST', of('v1'), object)).status, 201)
  }
  const before = server.asked(path).length
  const { items } = (await ask(root, 'GET', of('v2'))).body as unknown as { items: Widget[] }
  assert.ok(items.length >= 200)
  assert.ok(items.every(({ spec }) => spec.host !== undefined && spec.address === undefined))
  assert.equal(server.asked(path).length, before + 1)
  // What was asked for once is known.
  await ask(root, 'GET', of('v2'))
  assert.equal(server.asked(path).length, before + 1)
})

test('a webhook that lies is found out, and nothing is stored', async () => {
  server.on(path, (asked) => JSON.stringify({ kind: 'ConversionReview', apiVersion: asked.apiVersion, response: { uid: 'other' } }))
  const object = { apiVersion: 'example.com/v2', kind: 'Widget', metadata: { name: 'lost' }, spec: { host: 'a', port: 1 } }
  const { status, body } = await ask(root, 'POST', of('v2'), object)
  assert.equal(status, 500)
  assert.match(JSON.stringify(body), /conversion webhook for example.com\/v2, Kind=Widget failed: expected response.uid=/)
  assert.equal((await ask(root, 'GET', `${of('v1')}/lost`)).status, 404)
})
