import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { V1Endpoints } from '#api/core/v1/types.gen.ts'
import { StatusError } from '#api/meta/status-error.ts'
import type { ClusterView } from '#apiserver/cluster-view/cluster-view.ts'
import type { RequestContext } from '#apiserver/http/context.ts'
import { inProcess } from '#apiserver/http/in-process-exchange.ts'
import type { RequestInfo } from '#apiserver/http/request-info.ts'
import { TrustedConnection } from '#apiserver/http/trusted-connection.ts'
import { inProcessBackend } from '#apiserver/node-connections/backend.ts'
import { PeerProxy } from '#apiserver/peers/peer-proxy.ts'
import type { HttpExchange } from '#base/http-server.ts'
import { silentLogger } from '#base/log.ts'
import { VirtualClock } from '#base/virtual-clock.ts'
import { inProcessTransport } from '#client/in-process-transport.ts'

const jane = { name: 'jane', uid: '', groups: ['devs'], extra: {} }

/** One server beside others, which serve these resources by group version. */
function world(others: Record<string, Record<string, string[]>>) {
  const asked: { host: string; target: string; user: unknown; rerouted: unknown }[] = []
  const addresses = ['10.0.0.1', ...Object.keys(others)].map((ip) => ({ ip }))
  const endpoints: V1Endpoints = { metadata: {}, subsets: [{ addresses, ports: [{ name: 'https', port: 6443 }] }] }
  const clock = new VirtualClock(0)
  const proxy = new PeerProxy({
    cluster: () => ({ get: () => endpoints }) as unknown as ClusterView,
    ownHost: () => '10.0.0.1:6443',
    backendOf: (host) =>
      inProcessBackend((exchange: HttpExchange) => {
        asked.push({
          host,
          target: exchange.target,
          user: exchange.headers['x-remote-user'],
          rerouted: exchange.headers['x-kubernetes-apiserver-rerouted'],
        })
        const resources = others[host.replace(':6443', '')]?.[exchange.target]
        if (resources !== undefined)
          exchange.respond(200, { 'content-type': 'application/json' }, JSON.stringify({ resources: resources.map((name) => ({ name })) }))
        else if (exchange.target.includes('/widgets'))
          exchange.respond(201, { 'content-type': 'text/plain' }, `${exchange.method} at ${host}`)
        else exchange.respond(404, {}, 'not here')
      }, host),
    clock,
    logger: silentLogger,
  })
  const ask = async (target: string, headers: Record<string, string> = {}, method: 'GET' | 'POST' = 'GET') => {
    const [, , group = '', version = '', resource = ''] = target.split(/[/?]/)
    const endpoint = proxy.endpointFor({ group, version, resource, path: target } as RequestInfo, undefined)
    if (endpoint === undefined) return 'nobody to ask'
    let refused: unknown
    const handle = (exchange: HttpExchange) => {
      Promise.try(endpoint, { exchange, user: jane } as unknown as RequestContext).catch((error: unknown) => {
        refused = error
        exchange.respond(404, {}, '')
      })
    }
    const transport = inProcessTransport(inProcess(handle, new TrustedConnection(jane)))
    const response = await transport.send({ method, target, headers })
    const text = await response.text()
    if (refused !== undefined) assert.ok(refused instanceof StatusError && refused.status.code === 404)
    return `${response.status} ${text}`.trim()
  }
  return { ask, asked, clock, proxy }
}

test('what this server does not know goes to one that does, in the name of who asks, and is not passed on twice', async () => {
  const { ask, asked } = world({
    '10.0.0.2': { '/apis/a.io/v2': ['gadgets'] },
    '10.0.0.3': { '/apis/a.io/v2': ['widgets', 'widgets/status'] },
  })
  assert.equal(await ask('/apis/a.io/v2/widgets?limit=5', {}, 'POST'), '201 POST at 10.0.0.3:6443')
  assert.deepEqual(asked.at(-1), { host: '10.0.0.3:6443', target: '/apis/a.io/v2/widgets?limit=5', user: 'jane', rerouted: 'true' })
  assert.equal(await ask('/apis/a.io/v2/widgets', { 'x-kubernetes-apiserver-rerouted': 'true' }), '404')
  assert.equal(await ask('/apis/a.io/v2/things'), '404')
})

test('what others serve is asked once in half a minute, and nobody is asked where there is nobody', async () => {
  const { ask, asked, clock } = world({ '10.0.0.2': {} })
  for (let round = 0; round < 5; round++) assert.equal(await ask('/apis/b.io/v1/widgets'), '404')
  assert.equal(asked.length, 1)
  await clock.advance(31_000)
  await ask('/apis/b.io/v1/widgets')
  assert.equal(asked.length, 2)
  assert.equal(await world({}).ask('/apis/b.io/v1/widgets'), 'nobody to ask')
})

test('a server that says how others of its kind reach it is asked there', async () => {
  const { ask, asked, proxy } = world({ '10.0.0.2': {} })
  proxy.know([
    { address: '10.0.0.1', port: 6443, peer: '192.0.2.1:7443' },
    { address: '10.0.0.2', port: 6443, peer: '192.0.2.2:7443' },
  ])
  await ask('/apis/a.io/v2/widgets')
  assert.deepEqual(
    asked.map(({ host }) => host),
    ['192.0.2.2:7443'],
  )
})
