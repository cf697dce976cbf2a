/** The HTTP interface of a kubelet: who gets in, and what is shown. The runtime behind it pretends. */
import assert from 'node:assert/strict'
import { request as secureRequest } from 'node:https'
import { after, before, test } from 'node:test'
import { ServiceAccount } from '#api/core/v1/kinds.gen.ts'
import { ClusterRole, ClusterRoleBinding } from '#api/rbac/v1/kinds.gen.ts'
import { asker } from '../support/ask.ts'
import { FakeRuntimeStreams, pretendingRuntime } from '../support/fake-runtime-streams.ts'
import { type NodeWithServer, startNodeWithServer } from '../support/node-with-server.ts'

let fake: FakeRuntimeStreams
let node: NodeWithServer
let uid: string

before(async () => {
  fake = await FakeRuntimeStreams.start()
  node = await startNodeWithServer(pretendingRuntime(fake.streams, () => uid))
  const pod = await node.createPod('p', { containers: [{ name: 'c', image: 'i' }] })
  uid = pod.metadata.uid ?? ''
  const rule = (name: string, resources: string[]) =>
    node.client.create(ClusterRole, { metadata: { name }, rules: [{ apiGroups: [''], resources, verbs: ['get'] }] })
  await rule('sees-pods', ['nodes/pods'])
  await rule('sees-metrics', ['nodes/metrics'])
  for (const name of ['sees-pods', 'sees-metrics']) {
    const subjects = [{ kind: 'ServiceAccount', name: 'watcher', namespace: 'default' }]
    const roleRef = { kind: 'ClusterRole', apiGroup: 'rbac.authorization.k8s.io', name }
    await node.client.create(ClusterRoleBinding, { metadata: { name }, subjects, roleRef })
  }
})

after(async () => {
  await node?.[Symbol.asyncDispose]()
  await fake?.[Symbol.asyncDispose]()
})

type Answer = { status: number; body: string }

function ask(path: string, who: 'admin' | 'scheduler' | 'nobody' | { token: string }, method = 'GET'): Promise<Answer> {
  const credential = who === 'admin' || who === 'scheduler' ? node.keys.identity(who) : undefined
  return new Promise((resolve, reject) => {
    const request = secureRequest(
      `${node.kubeletUrl}${path}`,
      {
        ...{ method, agent: false, ca: node.keys.authority('ca').certificatePem },
        ...(credential === undefined ? {} : { cert: credential.certificatePem, key: credential.privateKeyPem }),
        ...(typeof who === 'object' ? { headers: { authorization: `Bearer ${who.token}` } } : {}),
      },
      async (response) => {
        let body = ''
        for await (const chunk of response) body += String(chunk)
        resolve({ status: response.statusCode ?? 0, body })
      },
    )
    request.on('error', reject)
    request.end()
  })
}

const requests: [string, string, 'admin' | 'scheduler' | 'nobody', number, RegExp][] = [
  ['GET', '/healthz', 'admin', 200, /^ok$/],
  ['GET', '/healthz?verbose', 'admin', 200, /^\[\+\]ping ok\n\[\+\]log ok\n\[\+\]syncloop ok\nhealthz check passed\n$/],
  ['GET', '/healthz/syncloop', 'admin', 200, /^ok$/],
  ['GET', '/healthz/none', 'admin', 404, /not found/],
  ['GET', '/healthz', 'nobody', 401, /^Unauthorized$/],
  [
    'GET',
    '/pods',
    'scheduler',
    403,
    /^Forbidden \(user=system:kube-scheduler, verb=get, resource=nodes, subresource\(s\)=\[pods proxy\]\)\n$/,
  ],
  ['POST', '/exec/default/p/c', 'scheduler', 403, /verb=create, resource=nodes, subresource\(s\)=\[proxy\]/],
  ['GET', '/metrics', 'scheduler', 403, /subresource\(s\)=\[metrics\]/],
  ['GET', '/stats/summary', 'scheduler', 403, /subresource\(s\)=\[stats\]/],
  ['GET', '/logs/', 'scheduler', 403, /subresource\(s\)=\[log\]/],
  ['GET', '/configz', 'scheduler', 403, /subresource\(s\)=\[configz proxy\]/],
  ['GET', '/pods', 'admin', 200, /^\{"kind":"PodList","apiVersion":"v1","metadata":\{\},"items":\[\{"metadata":\{.*"name":"p"/],
  ['GET', '/runningpods/', 'admin', 200, /"items":\[\{"metadata":\{"name":"p","namespace":"default"/],
  ['GET', '/configz', 'admin', 200, /^\{"kubeletconfig":\{"kind":"KubeletConfiguration"\}\}$/],
  ['GET', '/logs/', 'admin', 405, /disabled/],
  ['GET', '/none', 'admin', 404, /^404: Page Not Found$/],
  ['GET', '/%zz', 'admin', 400, /invalid URL/],
  ['POST', '/run/default/p/c?cmd=ls%20-l', 'admin', 200, /^ran ls\|-l$/],
  ['POST', '/run/default/p/c?cmd=false', 'admin', 500, /exited with 1/],
  ['GET', '/containerLogs/default/p/c', 'admin', 200, /^one\ntwo\n$/],
  ['GET', '/containerLogs/default/p/c?tailLines=1&timestamps=true', 'admin', 200, /^1970-01-01T00:00:02\.000000000Z two\n$/],
  ['GET', '/containerLogs/default/p/c?stream=Stdout', 'admin', 200, /^one\n$/],
  ['GET', '/containerLogs/default/p/c?tailLines=-1', 'admin', 422, /^\{"message": "Invalid request\."\}$/],
  ['GET', '/containerLogs/default/p/none', 'admin', 404, /^container "none" not found in pod "p"$/],
  ['GET', '/containerLogs/default/none/c', 'admin', 404, /^pod "none" does not exist$/],
  ['GET', '/containerLogs/default/p/c?previous=true', 'admin', 400, /^previous terminated container "c" in pod "p" not found$/],
  ['POST', '/exec/default/p/c?command=ls', 'admin', 400, /^you must specify at least 1 of stdin, stdout, stderr$/],
  ['POST', '/exec/default/p/c?command=ls&output=1', 'admin', 400, /^Upgrade request required$/],
  ['POST', '/exec/default/none/c?command=ls&output=1', 'admin', 404, /^pod does not exist$/],
  ['POST', '/exec/default/p/none?command=ls&output=1', 'admin', 500, /^container not found \("none"\)$/],
]
for (const [method, path, who, status, body] of requests) {
  test(`${method} ${path} as ${who}: ${status}`, async () => {
    const answer = await ask(path, who, method)
    assert.match(answer.body, body)
    assert.equal(answer.status, status)
  })
}

test('tokens are believed when the API server knows them, and what their owners may do is asked there', async () => {
  assert.equal((await ask('/healthz', { token: 'made-up' })).status, 401)
  const token = await tokenOf('watcher')
  assert.match((await ask('/pods', { token })).body, /"kind":"PodList"/)
  assert.equal((await ask('/metrics', { token })).status, 200)
  const { status, body } = await ask('/configz', { token })
  assert.equal(status, 403)
  assert.match(body, /user=system:serviceaccount:default:watcher, verb=get, resource=nodes, subresource\(s\)=\[configz proxy\]/)
})

async function tokenOf(name: string): Promise<string> {
  await node.client.create(ServiceAccount, { metadata: { name, namespace: 'default' } })
  const { certificatePem: cert, privateKeyPem } = node.keys.identity('admin')
  const tell = asker(node.url, node.keys.authority('ca').certificatePem)
  const request = { kind: 'TokenRequest', apiVersion: 'authentication.k8s.io/v1', spec: {} }
  const path = `/api/v1/namespaces/default/serviceaccounts/${name}/token`
  const { body } = await tell({ cert, key: privateKeyPem }, 'POST', path, request)
  return (body['status'] as { token: string }).token
}
