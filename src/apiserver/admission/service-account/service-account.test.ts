import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { V1Pod } from '#api/core/v1/types.gen.ts'
import { serviceAccount } from '#apiserver/admission/service-account/service-account.ts'
import { admissionResult, admissionResultOf, admit, aPod, requestFor, testContext } from '#apiserver/admission/testing/admission.ts'

const account = (name: string, more: object = {}) => ({ metadata: { name, namespace: 'ns' }, ...more })
const accounts = {
  serviceaccounts: [
    account('default', { imagePullSecrets: [{ name: 'registry' }] }),
    account('quiet', { automountServiceAccountToken: false }),
    {
      metadata: { name: 'strict', namespace: 'ns', annotations: { 'kubernetes.io/enforce-mountable-secrets': 'true' } },
      secrets: [{ name: 'listed' }],
      imagePullSecrets: [{ name: 'pull' }],
    },
  ],
}
const mountPath = '/var/run/secrets/kubernetes.io/serviceaccount'

const admitted = (spec: object, metadata: object = {}) =>
  admit<V1Pod>(serviceAccount(testContext(accounts)), requestFor('pods', { object: aPod(spec, metadata) }))

test('a pod runs as the default account, with its token and pull secrets', async () => {
  const { spec } = await admitted({ initContainers: [{ name: 'i' }] })
  assert.deepEqual([spec.serviceAccountName, spec.serviceAccount, spec.imagePullSecrets], ['default', 'default', [{ name: 'registry' }]])
  const [volume] = spec.volumes ?? []
  assert.match(volume?.name ?? '', /^kube-api-access-[bcdfghjklmnpqrstvwxz2456789]{5}$/)
  assert.deepEqual(volume?.projected, {
    defaultMode: 420,
    sources: [
      { serviceAccountToken: { expirationSeconds: 3607, path: 'token' } },
      { configMap: { name: 'kube-root-ca.crt', items: [{ key: 'ca.crt', path: 'ca.crt' }] } },
      { downwardAPI: { items: [{ path: 'namespace', fieldRef: { apiVersion: 'v1', fieldPath: 'metadata.namespace' } }] } },
    ],
  })
  const mount = { name: volume?.name, readOnly: true, mountPath }
  assert.deepEqual([spec.initContainers?.[0]?.volumeMounts, spec.containers[0]?.volumeMounts], [[mount], [mount]])
})

test('no token where pod or account say so, or something else is in its place', async () => {
  assert.equal((await admitted({ automountServiceAccountToken: false })).spec.volumes, undefined)
  assert.equal((await admitted({ serviceAccountName: 'quiet' })).spec.volumes, undefined)
  assert.equal((await admitted({ serviceAccountName: 'quiet', automountServiceAccountToken: true })).spec.volumes?.length, 1)
  const mounted = { containers: [{ name: 'c', volumeMounts: [{ name: 'v', mountPath }] }], volumes: [{ name: 'v', emptyDir: {} }] }
  assert.deepEqual((await admitted(mounted)).spec.volumes, [{ name: 'v', emptyDir: {} }])
  const own = await admitted({ volumes: [{ name: 'kube-api-access-mine', projected: {} }] })
  assert.deepEqual(own.spec.containers[0]?.volumeMounts?.[0]?.name, 'kube-api-access-mine')
  assert.equal(own.spec.volumes?.length, 1)
})

test('own pull secrets stay', async () => {
  assert.deepEqual((await admitted({ imagePullSecrets: [{ name: 'own' }] })).spec.imagePullSecrets, [{ name: 'own' }])
})

test('an account that is missing is looked for in the store, and the pod refused', async () => {
  assert.equal(
    await admissionResultOf(serviceAccount, testContext(accounts), 'pods', { object: aPod({ serviceAccountName: 'no' }) }),
    '403 pods "p" is forbidden: error looking up service account ns/no: serviceaccount "no" not found',
  )
})

test('the default account of a new namespace is waited for', async () => {
  const context = testContext()
  const pending = admit<V1Pod>(serviceAccount(context), requestFor('pods', { object: aPod() }))
  await context.clock.advance(1000)
  context.cluster.put('serviceaccounts', account('default'))
  assert.equal((await pending).spec.volumes?.length, 1)

  const empty = testContext()
  const refused = admissionResult(serviceAccount(empty), requestFor('pods', { object: aPod() }))
  await empty.clock.advance(2000)
  assert.match(await refused, /error looking up service account ns\/default: serviceaccount "default" not found$/)
  assert.equal(empty.clock.pending, 0)
})

test('an account may limit its pods to the secrets it lists', async () => {
  const refused = async (spec: object) => {
    const object = aPod({ serviceAccountName: 'strict', automountServiceAccountToken: false, ...spec })
    return admissionResultOf(serviceAccount, testContext(accounts), 'pods', { object })
  }
  const because = 'is not allowed because service account strict does not reference that'
  const cases: [object, string][] = [
    [{ volumes: [{ name: 'v', secret: { secretName: 'other' } }] }, `volume with secret.secretName="other" ${because} secret`],
    [
      { containers: [{ name: 'c', env: [{ name: 'E', valueFrom: { secretKeyRef: { name: 'other' } } }] }] },
      `container c with envVar E referencing secret.secretName="other" ${because} secret`,
    ],
    [
      { initContainers: [{ name: 'i', envFrom: [{ secretRef: { name: 'other' } }] }] },
      `init container i with envFrom referencing secret.secretName="other" ${because} secret`,
    ],
    [{ imagePullSecrets: [{ name: 'other' }] }, `imagePullSecrets[0].name="other" ${because} imagePullSecret`],
  ]
  for (const [spec, why] of cases) assert.equal(await refused(spec), `403 pods "p" is forbidden: ${why}`)
  assert.equal(await refused({ volumes: [{ name: 'v', secret: { secretName: 'listed' } }] }), 'allowed')
  const ephemeralContainers = [{ name: 'e', envFrom: [{ secretRef: { name: 'other' } }] }]
  const debugged = {
    object: aPod({ serviceAccountName: 'strict', ephemeralContainers }),
    oldObject: aPod(),
    subresource: 'ephemeralcontainers',
  }
  assert.match(await admissionResultOf(serviceAccount, testContext(accounts), 'pods', debugged), /ephemeral container e with envFrom/)
})

test('mirror pods refer to nothing, and nothing is added to them', async () => {
  const mirror = { annotations: { 'kubernetes.io/config.mirror': 'x' } }
  const { spec } = await admitted({}, mirror)
  assert.deepEqual([spec.serviceAccountName, spec.volumes], [undefined, undefined])
  const cases: [object, string][] = [
    [{ serviceAccountName: 'default' }, 'a mirror pod may not reference service accounts'],
    [{ volumes: [{ name: 'v', secret: { secretName: 's' } }] }, 'a mirror pod may not reference secrets'],
    [
      { volumes: [{ name: 'v', projected: { sources: [{ serviceAccountToken: { path: 't' } }] } }] },
      'a mirror pod may not use ServiceAccountToken volume projections',
    ],
  ]
  for (const [more, why] of cases) {
    const object = aPod(more, mirror)
    assert.equal(await admissionResultOf(serviceAccount, testContext(accounts), 'pods', { object }), `403 pods "p" is forbidden: ${why}`)
  }
})
