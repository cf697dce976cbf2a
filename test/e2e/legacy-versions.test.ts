/** Versions that Kubernetes has removed, over the wire: what they say, how they warn, and how they get on with current ones. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { asker, bearer, type Reply } from '../support/ask.ts'
import { type RunningCluster, startCluster } from '../support/running-cluster.ts'

const quiet = ['--store', 'memory', '--runtime', 'none', '--controllers=', '--scheduler=false']
const template = { metadata: { labels: { app: 'web' } }, spec: { containers: [{ name: 'c', image: 'i' }] } }

describe('old versions', () => {
  let cluster: RunningCluster
  let ask: AskAsAdmin
  before(async () => {
    cluster = await startCluster(quiet)
    ask = asAdmin(cluster)
  })
  after(() => cluster[Symbol.asyncDispose]())

  test('a deployment of 2016 is a deployment of today, and its maker is warned', async () => {
    const old = '/apis/extensions/v1beta1/namespaces/default/deployments'
    const made = await ask('POST', old, {
      apiVersion: 'extensions/v1beta1',
      kind: 'Deployment',
      metadata: { name: 'web' },
      spec: { template },
    })
    assert.equal(made.status, 201, JSON.stringify(made.body))
    assert.deepEqual(made.warnings, [
      '299 - "extensions/v1beta1 Deployment is deprecated in v1.8+, unavailable in v1.16+; use apps/v1 Deployment"',
    ])
    const seen = await ask('GET', '/apis/apps/v1/namespaces/default/deployments/web')
    assert.deepEqual(at(seen, 'spec', 'selector'), { matchLabels: { app: 'web' } })
    assert.deepEqual(at(seen, 'spec', 'strategy', 'rollingUpdate'), { maxUnavailable: 1, maxSurge: 1 })
    assert.deepEqual(seen.warnings, [])
    const listed = await ask('GET', old)
    assert.equal(at(listed, 'kind'), 'DeploymentList')
    assert.equal(at(listed, 'items', '0', 'spec', 'progressDeadlineSeconds'), 2147483647)
  })

  test('Scales are of the version they are asked in', async () => {
    const paths = { extensions: 'extensions/v1beta1', apps: 'apps/v1beta2', autoscaling: 'apps/v1' }
    const versions = { extensions: 'extensions/v1beta1', apps: 'apps/v1beta2', autoscaling: 'autoscaling/v1' }
    for (const [group, path] of Object.entries(paths)) {
      const scale = await ask('GET', `/apis/${path}/namespaces/default/deployments/web/scale`)
      assert.equal(at(scale, 'apiVersion'), versions[group as keyof typeof versions])
      assert.deepEqual(at(scale, 'status', 'selector'), group === 'autoscaling' ? 'app=web' : { app: 'web' })
    }
    const scaled = await ask('PUT', '/apis/extensions/v1beta1/namespaces/default/deployments/web/scale', {
      apiVersion: 'extensions/v1beta1',
      kind: 'Scale',
      metadata: { name: 'web' },
      spec: { replicas: 4 },
    })
    assert.deepEqual([scaled.status, at(scaled, 'spec')], [200, { replicas: 4 }])
  })

  test('a rollback is asked for in the versions that had it', async () => {
    const body = { apiVersion: 'apps/v1beta1', kind: 'DeploymentRollback', name: 'web', rollbackTo: { revision: 3 } }
    const asked = await ask('POST', '/apis/apps/v1beta1/namespaces/default/deployments/web/rollback', body)
    assert.deepEqual([asked.status, at(asked, 'message')], [200, 'rollback request for deployment "web" succeeded'])
    const seen = await ask('GET', '/apis/apps/v1/namespaces/default/deployments/web')
    assert.deepEqual(at(seen, 'metadata', 'annotations'), { 'deprecated.deployment.rollback.to': '3' })
    assert.equal((await ask('POST', '/apis/apps/v1/namespaces/default/deployments/web/rollback', body)).status, 404)
    const wrong = await ask('POST', '/apis/apps/v1beta1/namespaces/default/deployments/web/rollback', { ...body, name: 'other' })
    assert.deepEqual([wrong.status, at(wrong, 'message')], [400, 'name in URL does not match name in DeploymentRollback object'])
  })

  test('who deletes without saying more leaves dependents behind, as it was then', async () => {
    const gone = await ask('DELETE', '/apis/extensions/v1beta1/namespaces/default/deployments/web')
    assert.deepEqual(at(gone, 'metadata', 'finalizers'), ['orphan'])
  })

  test('appliers of two versions know whose field is whose', async () => {
    const apply = (version: string, manager: string, spec: object) =>
      ask(
        'PATCH',
        `/apis/networking.k8s.io/${version}/namespaces/default/ingresses/mixed?fieldManager=${manager}`,
        { apiVersion: `networking.k8s.io/${version}`, kind: 'Ingress', metadata: { name: 'mixed' }, spec },
        'application/apply-patch+yaml',
      )
    const first = await apply('v1beta1', 'one', { backend: { serviceName: 'a', servicePort: 'http' } })
    assert.equal(first.status, 201, JSON.stringify(first.body))
    const same = await apply('v1', 'two', { defaultBackend: { service: { name: 'a', port: { name: 'http' } } } })
    assert.equal(same.status, 200, JSON.stringify(same.body))
    const other = await apply('v1', 'two', { defaultBackend: { service: { name: 'b', port: { name: 'http' } } } })
    assert.equal(other.status, 409)
    assert.match(String(at(other, 'message')), /conflict with "one": \.spec\.backend\.serviceName/)
  })

  test('reviews are answered in the version they are asked in', async () => {
    const review = await ask('POST', '/apis/authorization.k8s.io/v1beta1/subjectaccessreviews', {
      apiVersion: 'authorization.k8s.io/v1beta1',
      kind: 'SubjectAccessReview',
      spec: { user: 'jane', group: ['system:masters'], resourceAttributes: { verb: 'get', resource: 'pods' } },
    })
    assert.deepEqual([at(review, 'spec', 'group'), at(review, 'status')], [['system:masters'], { allowed: true }])
    assert.match(review.warnings[0] ?? '', /authorization\.k8s\.io\/v1beta1 SubjectAccessReview is deprecated in v1\.19\+/)
  })

  test('a selector that v1 has no word for is kept for those who have', async () => {
    const old = '/apis/policy/v1beta1/namespaces/default/poddisruptionbudgets'
    const budget = { apiVersion: 'policy/v1beta1', kind: 'PodDisruptionBudget', metadata: { name: 'a' }, spec: { selector: {} } }
    assert.deepEqual(at(await ask('POST', old, budget), 'spec', 'selector'), {})
    const seen = await ask('GET', '/apis/policy/v1/namespaces/default/poddisruptionbudgets/a')
    const expression = { key: 'pdb.kubernetes.io/deprecated-v1beta1-empty-selector-match', operator: 'Exists' }
    assert.deepEqual(at(seen, 'spec', 'selector'), { matchExpressions: [expression] })
  })
})

test('without old versions the server has only what Kubernetes has', async () => {
  await using cluster = await startCluster([...quiet, '--legacy-apis=false'])
  const ask = asAdmin(cluster)
  const { body } = await ask('GET', '/apis')
  const versions = (body['groups'] as { versions: { version: string }[] }[]).flatMap((group) => group.versions)
  assert.deepEqual(
    versions.filter(({ version }) => !/^v\d+$/.test(version)),
    [],
  )
  assert.equal((await ask('GET', '/apis/extensions/v1beta1/deployments')).status, 404)
})

type AskAsAdmin = (method: string, path: string, body?: object, contentType?: string) => Promise<Reply>

function asAdmin({ url, token, directory }: RunningCluster): AskAsAdmin {
  const request = asker(url, readFileSync(join(directory, 'data', 'pki', 'ca.crt'), 'utf8'))
  return (method, path, body, contentType) =>
    request(bearer(token), method, path, body, contentType === undefined ? {} : { 'content-type': contentType })
}

function at({ body }: Reply, ...path: string[]): unknown {
  return path.reduce<unknown>((value, key) => (value as Record<string, unknown> | undefined)?.[key], body)
}
