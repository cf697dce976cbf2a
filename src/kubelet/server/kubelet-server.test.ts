import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nodeFiles } from '#base/files.ts'
import type { HttpExchange } from '#base/http-server.ts'
import { silentLogger } from '#base/log.ts'
import { VirtualClock } from '#base/virtual-clock.ts'
import { KubeletServer } from '#kubelet/server/kubelet-server.ts'

function ask(server: KubeletServer, target: string): Promise<string> {
  return new Promise((resolve) => {
    const exchange = {
      ...{ method: 'GET', target, headers: {} },
      respond: (status: number, _: unknown, body: string | Buffer) => resolve(`${status} ${String(body).trim()}`),
    }
    server.handleTrusted(exchange as unknown as HttpExchange)
  })
}

test('without debugging handlers nobody gets logs of containers or talks to them, and all else is served', async () => {
  const server = new KubeletServer({
    ...{ nodeName: 'n1', clock: new VirtualClock(), files: nodeFiles, logger: silentLogger, hidesContainers: true },
    ...{ runtime: {} as never, upgrades: {} as never, client: {} as never, nodeLogDirectory: '/nowhere' },
    ...{ findPod: () => undefined, allPods: () => [] },
    access: { clientAuthorities: () => [], reviewsTokens: false, allowsAnonymous: true, allowsEverything: true },
  })
  for (const path of [
    '/containerLogs/a/b/c',
    '/exec/a/b/c',
    '/attach/a/b/c',
    '/portForward/a/b',
    '/run/a/b/c',
    '/runningpods/',
    '/logs/',
  ]) {
    assert.equal(await ask(server, path), '405 Debug endpoints are disabled.', path)
  }
  assert.equal(await ask(server, '/healthz'), '200 ok')
  assert.match(await ask(server, '/pods'), /^200 .*"items":\[\]/)
})

test('an address has more connections once somebody has asked from there who may', async () => {
  let mayAsk = false
  const server = new KubeletServer({
    ...{ nodeName: 'n1', clock: new VirtualClock(), files: nodeFiles, logger: silentLogger },
    ...{ runtime: {} as never, upgrades: {} as never, findPod: () => undefined, allPods: () => [] },
    client: { create: async () => ({ status: { allowed: mayAsk } }) as never },
    access: { clientAuthorities: () => [], reviewsTokens: false, allowsAnonymous: true, allowsEverything: false, deniedLastsMs: 0 },
  })
  const askFrom = (remoteAddress: string) =>
    new Promise((resolve) => {
      const connection = { remoteAddress, clientCertificate: undefined }
      const exchange = { method: 'GET', target: '/healthz', headers: {}, connection, respond: resolve }
      server.handle(exchange as unknown as HttpExchange)
    })
  assert.equal(await askFrom('10.0.0.1'), 403)
  assert.equal(server.connectionsFor('10.0.0.1'), 500)
  mayAsk = true
  assert.equal(await askFrom('10.0.0.2'), 200)
  assert.equal(server.connectionsFor('10.0.0.2'), 2_500)
  assert.equal(server.connectionsFor('10.0.0.1'), 500)
})
