import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ApiHandler } from '#apiserver/http/handler.ts'
import { inProcess } from '#apiserver/http/in-process-exchange.ts'
import { recordingLogger } from '#base/log.ts'
import { VirtualClock } from '#base/virtual-clock.ts'

/** A server that has no memory left, and whose users are called as their token. */
function fullServer() {
  const handler = new ApiHandler({
    authenticator: {
      authenticate: ({ headers }) => ({
        user: { name: String(headers['authorization']).slice('Bearer '.length), groups: [], extra: {} },
      }),
    },
    authorizer: { authorize: () => ({ decision: 'allow', reason: '' }) },
    route:
      () =>
      ({ exchange }) =>
        exchange.respond(200, {}, '{}'),
    logger: recordingLogger([]),
    clock: new VirtualClock(),
    memory: { isShort: true, hasRoomWithin: async () => false },
  })
  const connection = { remoteAddress: '10.0.0.1', localAddress: '', clientCertificate: undefined, memo: undefined }
  return inProcess(handler.handle, connection)
}

const pod = '/api/v1/namespaces/a/pods/b'
const collector = 'system:serviceaccount:kube-system:generic-garbage-collector'

for (const [what, user, method, target, expected] of [
  ['a read', 'jane', 'GET', pod, 429],
  ['a list', 'jane', 'GET', '/api/v1/pods', 429],
  ['a creation', 'jane', 'POST', '/api/v1/namespaces/a/pods', 429],
  ['a deletion, which makes room', 'jane', 'DELETE', pod, 200],
  ['a deletion of many', 'jane', 'DELETE', '/api/v1/namespaces/a/pods', 200],
  ['a finalizer that is let go of', collector, 'PATCH', pod, 200],
  ['what a controller would create', collector, 'POST', '/api/v1/namespaces/a/pods', 429],
  ['a lease that a controller renews', 'system:kube-controller-manager', 'PUT', '/apis/coordination.k8s.io/v1/namespaces/a/leases/b', 200],
  ['an account of somebody else', 'system:serviceaccount:shop:collector', 'PATCH', pod, 429],
] as const) {
  test(`with no memory left: ${what} is ${expected === 200 ? 'served' : 'refused'}`, async () => {
    const { status } = await fullServer()({ method, target, headers: { authorization: `Bearer ${user}` } })
    assert.equal(status, expected)
  })
}
