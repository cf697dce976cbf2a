import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ValidatingAdmissionPolicy } from '#api/admissionregistration/v1/kinds.gen.ts'
import type { V1ValidatingAdmissionPolicySpec } from '#api/admissionregistration/v1/types.gen.ts'
import { FakeCluster } from '#testing/fake-cluster.ts'

const about = (resource: string, group = 'apps'): NonNullable<V1ValidatingAdmissionPolicySpec['matchConstraints']> => ({
  resourceRules: [{ apiGroups: [group], apiVersions: ['v1'], operations: ['CREATE'], resources: resource.split(',') }],
})

async function warnings(spec: V1ValidatingAdmissionPolicySpec) {
  await using cluster = await FakeCluster.start({ withoutNodes: true, controllers: ['validatingadmissionpolicy-status'] })
  await cluster.create(ValidatingAdmissionPolicy, { metadata: { name: 'p' }, spec })
  const isObserved = async () => (await cluster.get(ValidatingAdmissionPolicy, '', 'p')).status?.observedGeneration !== undefined
  // Documents of the API are made when they are asked for, which takes the time of the machine.
  while (!(await isObserved())) {
    await cluster.advance(100)
    await new Promise((resolve) => setImmediate(resolve))
  }
  const { status } = await cluster.get(ValidatingAdmissionPolicy, '', 'p')
  assert.equal(status?.observedGeneration, 1)
  return status.typeChecking?.expressionWarnings
}

test('expressions that fit the kinds of objects have no warnings', async () => {
  const expression =
    'object.spec.replicas < 5 && object.metadata.labels["app"] == "web" && object.spec.template.spec.containers.all(c, c.name != "x") && (object.spec.strategy.rollingUpdate.maxSurge == 1 || variables.ok)'
  const variables = [{ name: 'ok', expression: 'params.data["x"] == "y"' }]
  const paramKind = { apiVersion: 'v1', kind: 'ConfigMap' }
  assert.equal(await warnings({ matchConstraints: about('deployments'), paramKind, variables, validations: [{ expression }] }), undefined)
})

test('a field that a kind does not have, and a comparison of what cannot be compared, are told for each kind', async () => {
  const found = await warnings({
    matchConstraints: about('deployments,replicasets'),
    validations: [
      { expression: 'object.spec.strategi == 1' },
      { expression: 'object.spec.replicas > "x"', messageExpression: '"x" + object.oops' },
    ],
  })
  assert.deepEqual(
    found?.map(({ fieldRef }) => fieldRef),
    ['spec.validations[0].expression', 'spec.validations[1].expression', 'spec.validations[1].messageExpression'],
  )
  assert.match(
    found?.[0]?.warning ?? '',
    /^apps\/v1, Kind=Deployment: ERROR: <input>:1:12: undefined field 'strategi'[\s\S]*\n\napps\/v1, Kind=ReplicaSet: ERROR/,
  )
  assert.match(found?.[1]?.warning ?? '', /found no matching overload for '_>_' applied to '\(int, string\)'/)
})

test('a policy about everything is not checked against anything', async () => {
  assert.equal(await warnings({ matchConstraints: about('*', '*'), validations: [{ expression: 'object.spec.oops == 1' }] }), undefined)
})
