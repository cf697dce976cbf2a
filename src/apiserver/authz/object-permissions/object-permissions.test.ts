import assert from 'node:assert/strict'
import { test } from 'node:test'
import { StatusError } from '#api/meta/status-error.ts'
import type { KubernetesObject } from '#api/resource.ts'
import type { UserInfo } from '#apiserver/authn/authenticator.ts'
import { type Attributes, allowed, noOpinion } from '#apiserver/authz/authorizer.ts'
import { objectPermissionHooks } from '#apiserver/authz/object-permissions/object-permissions.ts'
import { ClusterView } from '#apiserver/cluster-view/cluster-view.ts'
import type { DynamicView } from '#apiserver/cluster-view/dynamic-view.ts'
import type { WriteContext } from '#apiserver/registry/write-context.ts'

const jane: UserInfo = { name: 'jane', uid: '7', groups: ['dev'], extra: { scopes: ['all'] } }
const janeInGo = '&{jane 7 [dev] map[scopes:[all]]}'

type Question = { group: string; plural: string; subresource?: string; verb?: string; user?: UserInfo }

/** What a writer who holds these permissions (`verb group/resource name`) is told; and what was asked. */
async function validated(question: Question, next: object, prev: object | undefined, held: readonly string[] = []) {
  const asked: string[] = []
  const describe = ({ verb, group, resource, subresource, namespace, name }: Attributes) =>
    `${verb} ${group}/${resource}${subresource && `/${subresource}`} ${namespace}/${name}`
  const cluster = new ClusterView({
    get: (_group: string, resource: string, _namespace: string, name: string) =>
      name === 'known' ? { metadata: { name }, spec: { paramKind: { apiVersion: 'v1', kind: 'ConfigMap' } }, resource } : undefined,
    resourcesOfKind: (_group: string, _version: string, kind: string) =>
      kind === 'ConfigMap' ? [{ resource: 'configmaps', isNamespaced: true }] : [],
  } as Partial<DynamicView> as DynamicView)
  const authorizer = {
    authorize(attributes: Attributes) {
      asked.push(describe(attributes))
      return held.includes(describe(attributes)) ? allowed : noOpinion
    },
  }
  const { group, plural, subresource = '', verb = 'update', user = jane } = question
  const hooks = new Map(objectPermissionHooks({ authorizer, cluster, isEnabled: () => true })).get(`${group}/${plural}`)
  const context = {
    user,
    namespace: 'dev',
    subresource,
    verb,
    resource: { group, version: 'v1', resource: plural },
    kind: { group, version: 'v1', kind: 'Kind' },
  } as unknown as WriteContext
  try {
    await hooks?.afterRules?.(next as KubernetesObject, prev as KubernetesObject | undefined, context)
    return { asked, refusals: [] }
  } catch (error) {
    assert.ok(error instanceof StatusError)
    return { asked, refusals: (error.status.details?.causes ?? []).map(({ field, message }) => `${field}: ${message}`) }
  }
}

const policies = { group: 'admissionregistration.k8s.io', plural: 'validatingadmissionpolicies' }
const bindings = { group: 'admissionregistration.k8s.io', plural: 'validatingadmissionpolicybindings' }
const withKind = (apiVersion: string, kind: string) => ({ metadata: { name: 'p' }, spec: { paramKind: { apiVersion, kind } } })
const withRef = (policyName: string, paramRef: object) => ({ metadata: { name: 'b' }, spec: { policyName, paramRef } })

test('a policy that reads parameters is for those who may read all of them', async () => {
  const { asked, refusals } = await validated(policies, withKind('v1', 'ConfigMap'), undefined)
  assert.deepEqual(asked, ['get /configmaps */*'])
  assert.deepEqual(refusals, [
    `spec.paramKind: Forbidden: user ${janeInGo} must have "get" permission on all objects of the referenced paramKind (kind=ConfigMap, apiVersion=v1)`,
  ])
  assert.deepEqual((await validated(policies, withKind('v1', 'ConfigMap'), undefined, asked)).refusals, [])
})

test('who may do anything, who changes something else, and who names no parameters is not asked', async () => {
  const root = { ...jane, groups: ['system:masters'] }
  for (const { asked } of [
    await validated({ ...policies, user: root }, withKind('v1', 'ConfigMap'), undefined),
    await validated(policies, withKind('v1', 'ConfigMap'), withKind('v1', 'ConfigMap')),
    await validated(policies, { spec: {} }, undefined),
  ])
    assert.deepEqual(asked, [])
})

test('a kind nobody knows stands for every resource of its group', async () => {
  assert.deepEqual((await validated(policies, withKind('example.com/v1', 'Thing'), undefined)).asked, ['get example.com/* */*'])
})

const refs: [what: string, binding: object, asked: string, refusal: string][] = [
  [
    'one object',
    withRef('known', { name: 'c', namespace: 'dev' }),
    'get /configmaps dev/c',
    `user ${janeInGo} does not have "get" permission on the object referenced by paramRef`,
  ],
  [
    'objects by their labels',
    withRef('known', { selector: {} }),
    'list /configmaps /',
    `user ${janeInGo} does not have "list" permission on the object referenced by paramRef`,
  ],
  [
    'an object for a policy that is not there',
    withRef('unknown', { name: 'c' }),
    'get */* /c',
    `unable to get policy unknown to determine minimum required permissions and user ${janeInGo} does not have "get" permission for all groups, versions and resources`,
  ],
]
for (const [what, binding, question, refusal] of refs) {
  test(`a binding with ${what} is for those who may read that`, async () => {
    const { asked, refusals } = await validated(bindings, binding, undefined)
    assert.deepEqual([asked, refusals], [[question], [`spec.paramRef: Forbidden: ${refusal}`]])
  })
}

test('the status of a pod certificate request is for those who sign for its signer', async () => {
  const requests = { group: 'certificates.k8s.io', plural: 'podcertificaterequests', subresource: 'status' }
  const prev = { spec: { signerName: 'example.com/web' }, status: {} }
  const next = { ...prev, status: { certificateChain: 'x' } }
  const { asked, refusals } = await validated(requests, next, prev)
  assert.deepEqual(asked, ['sign certificates.k8s.io/signers /example.com/web', 'sign certificates.k8s.io/signers /example.com/*'])
  assert.deepEqual(refusals, ['spec.signerName: Forbidden: User "jane" is not permitted to "sign" for signer "example.com/web"'])
  assert.deepEqual((await validated(requests, next, prev, asked.slice(1))).refusals, [])
  assert.deepEqual((await validated(requests, prev, prev)).asked, [])
})

const claims = { group: 'resource.k8s.io', plural: 'resourceclaims', subresource: 'status' }
const onNode = (name: string) => ({
  nodeSelector: { nodeSelectorTerms: [{ matchFields: [{ key: 'metadata.name', operator: 'In', values: [name] }] }] },
})

test('binding a claim, and reporting on its devices, are permissions of their own', async () => {
  const reserved = { status: { reservedFor: [{ resource: 'pods', name: 'p', uid: '1' }] } }
  const bound = await validated({ ...claims, verb: 'patch' }, reserved, { status: {} })
  assert.deepEqual(bound.asked, ['patch resource.k8s.io/resourceclaims/binding /'])
  assert.match(
    bound.refusals.join(),
    /^status\.allocation: Forbidden: changing status\.allocation or status\.reservedFor requires resource="resourceclaims\/binding", verb="patch" permission: .*User "jane" cannot patch resource "resourceclaims\/binding" in API group "resource\.k8s\.io" at the cluster scope$/,
  )
  const prev = { status: { allocation: onNode('n1'), devices: [{ driver: 'old', pool: 'p', device: 'd' }] } }
  const next = { status: { allocation: onNode('n1'), devices: [{ driver: 'gpu', pool: 'p', device: 'd' }] } }
  const reported = await validated(claims, next, prev)
  assert.deepEqual(reported.asked, [
    'arbitrary-node:update resource.k8s.io/resourceclaims/driver dev/gpu',
    'arbitrary-node:update resource.k8s.io/resourceclaims/driver dev/old',
  ])
  assert.equal(reported.refusals.length, 2)
})

test('a driver on the node of the claim needs the permission for its own node only', async () => {
  const user = { ...jane, name: 'system:serviceaccount:kube-system:driver', extra: { 'authentication.kubernetes.io/node-name': ['n1'] } }
  const next = { status: { allocation: onNode('n1'), devices: [{ driver: 'gpu', pool: 'p', device: 'd' }] } }
  const prev = { status: { allocation: onNode('n1') } }
  const held = ['associated-node:update resource.k8s.io/resourceclaims/driver dev/gpu']
  assert.deepEqual((await validated({ ...claims, user }, next, prev, held)).refusals, [])
  const elsewhere = { ...user, extra: { 'authentication.kubernetes.io/node-name': ['n2'] } }
  assert.equal((await validated({ ...claims, user: elsewhere }, next, prev, held)).refusals.length, 1)
})
