import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type RequestInfo, requestInfo } from '#apiserver/http/request-info.ts'

const cases: [request: string, expected: Partial<RequestInfo>][] = [
  ['GET /api/v1/namespaces/a/pods/b', { verb: 'get', group: '', version: 'v1', namespace: 'a', resource: 'pods', name: 'b' }],
  ['HEAD /api/v1/namespaces/a/pods/b', { verb: 'get' }],
  ['GET /api/v1/namespaces/a/pods', { verb: 'list', namespace: 'a', resource: 'pods', name: '' }],
  ['GET /api/v1/pods', { verb: 'list', namespace: '', resource: 'pods' }],
  [
    'GET /apis/apps/v1/namespaces/a/deployments/b/scale',
    { verb: 'get', group: 'apps', resource: 'deployments', subresource: 'scale', name: 'b' },
  ],
  ['GET /api/v1/namespaces', { verb: 'list', resource: 'namespaces', namespace: '' }],
  ['GET /api/v1/namespaces/a', { verb: 'get', resource: 'namespaces', name: 'a', namespace: 'a' }],
  ['PUT /api/v1/namespaces/a/status', { verb: 'update', resource: 'namespaces', subresource: 'status', name: 'a' }],
  ['PUT /api/v1/namespaces/a/finalize', { verb: 'update', resource: 'namespaces', subresource: 'finalize', name: 'a' }],
  ['POST /api/v1/namespaces/a/pods', { verb: 'create', name: '' }],
  ['PATCH /api/v1/nodes/n', { verb: 'patch', resource: 'nodes', name: 'n', namespace: '' }],
  ['DELETE /api/v1/namespaces/a/pods', { verb: 'deletecollection' }],
  ['DELETE /api/v1/namespaces/a/pods/b', { verb: 'delete' }],
  ['GET /api/v1/pods?watch=true', { verb: 'watch' }],
  ['GET /api/v1/pods?watch=false', { verb: 'list' }],
  ['GET /api/v1/pods?watch=1', { verb: 'watch' }],
  ['GET /api/v1/watch/namespaces/a/pods', { verb: 'watch', namespace: 'a', resource: 'pods' }],
  ['GET /api/v1/watch/namespaces/a/pods/b', { verb: 'watch', name: 'b' }],
  ['GET /api/v1/pods?fieldSelector=metadata.name=b', { verb: 'list', name: 'b' }],
  ['GET /api/v1/pods?fieldSelector=spec.nodeName=n,metadata.name==b', { verb: 'list', name: 'b' }],
  ['GET /api/v1/namespaces/a/services/b/proxy/some/path', { verb: 'get', subresource: 'proxy', rest: 'some/path' }],
  ['GET /api/v1/namespaces/a/pods/b%2Fc', { name: 'b/c' }],
  ['GET /api/v1/namespaces/a/pods/%zz', { name: '%zz' }],
  ['GET /healthz', { isResourceRequest: false, verb: 'get', path: '/healthz' }],
  ['POST /healthz', { isResourceRequest: false, verb: 'post' }],
  ['GET /api', { isResourceRequest: false }],
  ['GET /api/v1', { isResourceRequest: false, version: 'v1' }],
  ['GET /apis/apps', { isResourceRequest: false, group: 'apps' }],
  ['GET /apis/apps/v1', { isResourceRequest: false, group: 'apps', version: 'v1' }],
  ['GET /', { isResourceRequest: false }],
]

for (const [request, expected] of cases) {
  test(request, () => {
    const [method = '', target = ''] = request.split(' ')
    const [path = '', query = ''] = target.split('?')
    const info = requestInfo(method, path, new URLSearchParams(query))
    for (const [key, value] of Object.entries(expected)) assert.equal(info[key as keyof RequestInfo], value, key)
  })
}

test('what follows a subresource is one, however much it is', () => {
  const { subresource, rest } = requestInfo(
    'GET',
    '/api/v1/namespaces/a/services/b/proxy/c%20d/e/f/g/h/i/j/k//l%2Fm/',
    new URLSearchParams(),
  )
  assert.deepEqual([subresource, rest], ['proxy', 'c d/e/f/g/h/i/j/k//l/m'])
  // Each of them would be decoded by itself, and each in vain.
  const long = '/%'.repeat(5_000_000)
  assert.equal(requestInfo('GET', `/api/v1/nodes/b/proxy${long}`, new URLSearchParams()).rest, long.slice(1))
})
