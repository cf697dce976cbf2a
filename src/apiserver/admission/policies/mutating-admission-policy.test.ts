import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { V1MutatingAdmissionPolicySpec, V1Mutation } from '#api/admissionregistration/v1/types.gen.ts'
import type { V1Pod } from '#api/core/v1/types.gen.ts'
import { StatusError } from '#api/meta/status-error.ts'
import { mutatingAdmissionPolicy } from '#apiserver/admission/policies/mutating-admission-policy.ts'
import { admit, aPod, requestFor, testContext } from '#apiserver/admission/testing/admission.ts'
import { Metrics } from '#base/metrics.ts'

const pods = { resourceRules: [{ operations: ['CREATE'], apiGroups: [''], apiVersions: ['v1'], resources: ['pods'] }] }
const apply = (expression: string): V1Mutation => ({ patchType: 'ApplyConfiguration', applyConfiguration: { expression } })
const patch = (expression: string): V1Mutation => ({ patchType: 'JSONPatch', jsonPatch: { expression } })

type Policies = Record<string, Partial<V1MutatingAdmissionPolicySpec>>

async function mutated(
  policies: Policies,
  metadata: object = {},
  objects: Record<string, readonly object[]> = {},
  binding: object = {},
  metrics = new Metrics(),
) {
  const named = Object.entries(policies)
  const context = testContext({
    'mutatingadmissionpolicies.admissionregistration.k8s.io': named.map(([name, spec]) => ({
      metadata: { name },
      spec: { matchConstraints: pods, reinvocationPolicy: 'Never', ...spec },
    })),
    'mutatingadmissionpolicybindings.admissionregistration.k8s.io': named.map(([name]) => ({
      metadata: { name: `${name}-b` },
      spec: { policyName: name, ...binding },
    })),
    ...objects,
  })
  return admit<V1Pod>(mutatingAdmissionPolicy({ ...context, metrics }), requestFor('pods', { object: aPod({}, metadata) }))
}

test('what is applied is merged, by the keys of lists', async () => {
  const expression = `Object{
    metadata: Object.metadata{labels: {'team': object.metadata.namespace}},
    spec: Object.spec{containers: object.spec.containers.map(c, Object.spec.containers{name: c.name, imagePullPolicy: 'Always'})}
  }`
  const { metadata, spec } = await mutated({ p: { mutations: [apply(expression)] } }, { labels: { app: 'x' } })
  assert.deepEqual(metadata.labels, { app: 'x', team: 'ns' })
  assert.deepEqual(
    spec.containers.map(({ name, image, imagePullPolicy }) => [name, image, imagePullPolicy]),
    [['c', 'nginx:1', 'Always']],
  )
})

test('patches are applied, with keys escaped', async () => {
  const expression = `has(object.metadata.labels) ? [
    JSONPatch{op: 'test', path: '/metadata/labels/app', value: 'x'},
    JSONPatch{op: 'add', path: '/metadata/labels/' + jsonpatch.escapeKey('a/b~c'), value: 'y'}
  ] : [JSONPatch{op: 'add', path: '/metadata/labels', value: {'fresh': 'yes'}}]`
  const policies = { p: { mutations: [patch(expression)] } }
  assert.deepEqual((await mutated(policies, { labels: { app: 'x' } })).metadata.labels, { app: 'x', 'a/b~c': 'y' })
  assert.deepEqual((await mutated(policies)).metadata.labels, { fresh: 'yes' })
  assert.deepEqual((await mutated(policies, { labels: { app: 'z' } })).metadata.labels, { app: 'z' }, 'a test that fails leaves it alone')
})

test('conditions, variables and parameters count here too', async () => {
  const spec = {
    paramKind: { apiVersion: 'v1', kind: 'ConfigMap' },
    matchConditions: [{ name: 'c', expression: "object.metadata.name.startsWith('p')" }],
    variables: [{ name: 'team', expression: 'params.data.team' }],
    mutations: [apply('Object{metadata: Object.metadata{annotations: {"team": variables.team}}}')],
  }
  const objects = { configmaps: [{ metadata: { name: 'c', namespace: 'ns' }, data: { team: 'a' } }] }
  const binding = { paramRef: { name: 'c' } }
  assert.deepEqual((await mutated({ p: spec }, {}, objects, binding)).metadata.annotations, { team: 'a' })
  assert.equal((await mutated({ p: spec }, { name: 'q' }, objects, binding)).metadata.annotations, undefined)
})

test('who wants to see what others did is asked again', async () => {
  const count = "Object{metadata: Object.metadata{annotations: {'seen': string(size(object.metadata.?labels.orValue({})))}}}"
  const label = 'Object{metadata: Object.metadata{labels: {"late": "yes"}}}'
  const seen = async (reinvocationPolicy: string) =>
    (await mutated({ a: { mutations: [apply(count)], reinvocationPolicy }, b: { mutations: [apply(label)] } })).metadata.annotations
  assert.deepEqual(await seen('Never'), { seen: '0' })
  assert.deepEqual(await seen('IfNeeded'), { seen: '1' })
})

const denied = (why: string) => `policy 'p' with binding 'p-b' denied request: ${why}`
const refused: [string, V1Mutation, string][] = [
  [
    'what fails',
    apply('Object{metadata: Object.metadata{labels: {"a": object.nope}}}'),
    `expression 'Object{metadata: Object.metadata{labels: {"a": object.nope}}}' resulted in error: no such key: nope`,
  ],
  [
    'what is replaced as a whole',
    apply('Object{spec: Object.spec{containers: [Object.spec.containers{name: "c", args: ["x"]}]}}'),
    'error applying patch: invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: .spec.containers[0].args',
  ],
  [
    'a part at the wrong place',
    apply('Object{spec: Object.metadata{name: "x"}}'),
    'type mismatch: unexpected type name "Object.metadata", expected "Object.spec", which matches field name path from root Object type',
  ],
  ['a path that leads nowhere', patch('[JSONPatch{op: "remove", path: "/nope/x"}]'), 'JSON Patch: '],
]
for (const [name, mutation, why] of refused) {
  test(`${name} is refused`, async () => {
    await assert.rejects(mutated({ p: { mutations: [mutation] } }), (error: unknown) => {
      assert.ok(error instanceof StatusError)
      assert.deepEqual([error.code, error.reason], [403, 'Invalid'])
      assert.ok(error.message.startsWith(denied(why)), error.message)
      return true
    })
    assert.equal((await mutated({ p: { mutations: [mutation], failurePolicy: 'Ignore' } })).metadata.name, 'p')
  })
}

test('a mutation that fails does not stop those after it, and is counted', async () => {
  const mutations = [
    apply('Object{metadata: Object.metadata{labels: {"a": object.metadata.labels.none}}}'),
    apply('Object{metadata: Object.metadata{labels: {"b": "2"}}}'),
  ]
  const metrics = new Metrics()
  const { metadata } = await mutated({ counted: { mutations, failurePolicy: 'Ignore' } }, {}, {}, {}, metrics)
  assert.deepEqual(metadata.labels, { b: '2' })
  const counts = metrics.text().split('\n')
  const series = (error: string, action: string) =>
    `apiserver_mutating_admission_policy_check_total{policy="counted",policy_binding="counted-b",error_type="${error}",enforcement_action="${action}"} 1`
  assert.ok(counts.includes(series('invalid_error', 'deny')))
  assert.ok(counts.includes(series('no_error', 'allow')))
})
