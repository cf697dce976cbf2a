import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FakeCluster } from '#apiserver/admission/testing/admission.ts'
import type { RemoteAnswer } from '#apiserver/aggregation/ask-remote.ts'
import { legacyResources } from '#apiserver/aggregation/legacy-resources.ts'
import { discoveryPath } from '#apiserver/aggregation/remote-api.ts'
import { RemoteApis } from '#apiserver/aggregation/remote-apis.ts'
import { userHeaders } from '#apiserver/aggregation/remote-connections.ts'
import { RemoteDiscovery } from '#apiserver/aggregation/remote-discovery.ts'
import { silentLogger } from '#base/log.ts'

const service = { namespace: 'ns', name: 's', port: 443 }
const apiService = (group: string, version = 'v1') => ({
  metadata: { name: `${version}.${group}` },
  spec: { group, version, service, groupPriorityMinimum: 100, versionPriority: 10 },
})

function following(...objects: object[]) {
  const cluster = new FakeCluster({ 'apiservices.apiregistration.k8s.io': objects })
  const apis = new RemoteApis()
  apis.follow(cluster)
  return { cluster, apis }
}

test('who asks is told in headers, whatever characters that takes', () => {
  const user = { name: 'jörg', uid: '7', groups: ['a', 'b'], extra: { 'example.com/key%': ['x', 'ü'] } }
  assert.deepEqual(userHeaders(user), {
    'x-remote-user': Buffer.from('jörg').toString('latin1'),
    'x-remote-uid': '7',
    'x-remote-group': ['a', 'b'],
    'x-remote-extra-example.com%2Fkey%25': ['x', Buffer.from('ü').toString('latin1')],
  })
})

test('the APIService of this very API is never somebody else’s', () => {
  const { apis } = following(apiService('apiregistration.k8s.io'), apiService('a.example.com'))
  assert.equal(apis.get('apiregistration.k8s.io', 'v1'), undefined)
  assert.equal(apis.get('a.example.com', 'v1')?.isAvailable, false)
  assert.equal(discoveryPath({ group: 'a.example.com', version: 'v1' }), '/apis/a.example.com/v1')
})

const modern = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList'
const answer = (text: string, more: Partial<RemoteAnswer> = {}): RemoteAnswer => ({
  status: 200,
  contentType: modern,
  etag: '"1"',
  text,
  ...more,
})

test('what a server serves is asked for once, then only whether it changed', async () => {
  const { apis } = following(apiService('a.example.com'))
  const etags: (string | undefined)[] = []
  const document = { items: [{ metadata: { name: 'a.example.com' }, versions: [{ version: 'v1', resources: [{ resource: 'things' }] }] }] }
  const discovery = new RemoteDiscovery(
    apis,
    async (_, { etag }) => {
      etags.push(etag)
      return etag === undefined ? answer(JSON.stringify(document)) : answer('', { status: 304 })
    },
    silentLogger,
  )
  const [api = assert.fail()] = apis.all()
  assert.deepEqual(discovery.versions()[0]?.isCurrent, false)
  await discovery.refresh(api, true)
  const { revision } = discovery
  await discovery.refresh(api, true)
  assert.equal(discovery.revision, revision)
  assert.deepEqual(etags, [undefined, '"1"'])
  const [version] = discovery.versions()
  assert.deepEqual(version?.resources, [{ resource: 'things', responseKind: { group: '', version: '', kind: '' } }])
  await discovery.refresh(api, false)
  assert.deepEqual(discovery.versions()[0], { ...version, isCurrent: false }, 'what it said last is kept')
})

for (const [what, text] of [
  ['no JSON', '<html>'],
  ['nothing', 'null'],
  ['lists of nothing', '{"items":[null,1,{"versions":7},{"versions":[null]}]}'],
] as const) {
  test(`a server that answers with ${what} is taken for one that serves nothing`, async () => {
    const { apis } = following(apiService('a.example.com'))
    const discovery = new RemoteDiscovery(apis, async () => answer(text), silentLogger)
    const [api = assert.fail()] = apis.all()
    await discovery.refresh(api, true)
    assert.deepEqual(discovery.versions()[0]?.resources, [])
  })
}

test('a plain list of resources says the same in other words', () => {
  const resources = [
    { name: 'things', singularName: 'thing', namespaced: true, kind: 'Thing', verbs: ['get'], shortNames: ['t'] },
    { name: 'things/scale', namespaced: true, group: 'autoscaling', version: 'v1', kind: 'Scale', verbs: ['get', 'update'] },
    { name: 'orphans/status', kind: 'Orphan', verbs: ['get'] },
    null,
  ]
  assert.deepEqual(legacyResources({ groupVersion: 'a.example.com/v1', resources }), [
    {
      resource: 'things',
      responseKind: { group: 'a.example.com', version: 'v1', kind: 'Thing' },
      scope: 'Namespaced',
      singularResource: 'thing',
      verbs: ['get'],
      shortNames: ['t'],
      subresources: [
        { subresource: 'scale', responseKind: { group: 'autoscaling', version: 'v1', kind: 'Scale' }, verbs: ['get', 'update'] },
      ],
    },
  ])
})
