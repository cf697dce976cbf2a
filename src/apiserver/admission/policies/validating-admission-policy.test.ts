import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { V1ValidatingAdmissionPolicyBindingSpec, V1ValidatingAdmissionPolicySpec } from '#api/admissionregistration/v1/types.gen.ts'
import { validatingAdmissionPolicy } from '#apiserver/admission/policies/validating-admission-policy.ts'
import { admissionResult, aPod, type RequestOptions, requestFor, testContext } from '#apiserver/admission/testing/admission.ts'
import type { Attributes, Authorizer } from '#apiserver/authz/authorizer.ts'
import { Metrics } from '#base/metrics.ts'

const pods = { resourceRules: [{ operations: ['*'], apiGroups: [''], apiVersions: ['v1'], resources: ['pods'] }] }
const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'ns', labels: { team: 'a' } } }

type Given = {
  spec: Partial<V1ValidatingAdmissionPolicySpec>
  binding?: Partial<V1ValidatingAdmissionPolicyBindingSpec>
  request?: RequestOptions & { resource?: string }
  objects?: Record<string, readonly object[]>
  authorizer?: Authorizer
}

async function validated({ spec, binding, request = {}, objects = {}, authorizer }: Given) {
  const metrics = new Metrics()
  const context = testContext(
    {
      namespaces: [namespace],
      'validatingadmissionpolicies.admissionregistration.k8s.io': [{ metadata: { name: 'p' }, spec: { matchConstraints: pods, ...spec } }],
      'validatingadmissionpolicybindings.admissionregistration.k8s.io': [
        { metadata: { name: 'b' }, spec: { policyName: 'p', validationActions: ['Deny'], ...binding } },
      ],
      ...objects,
    },
    authorizer === undefined ? {} : { authorizer },
  )
  const asked = requestFor(request.resource ?? 'pods', { object: aPod(), ...request })
  return {
    admissionResult: await admissionResult(validatingAdmissionPolicy({ ...context, metrics }), asked),
    warnings: asked.warnings,
    audit: asked.audit,
    metrics,
  }
}

const denied = (why: string, code = 422) =>
  `${code} pods "p" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: ${why}`
const one = (expression: string, more: object = {}) => ({ validations: [{ expression, ...more }] })

const cases: [string, Given, string][] = [
  ['what holds is let in', { spec: one("object.metadata.name == 'p'") }, 'allowed'],
  ['what does not is named', { spec: one("object.metadata.name == 'q' ") }, denied("failed expression: object.metadata.name == 'q'")],
  ['a message says it better', { spec: one('false', { message: 'no', reason: 'Forbidden' }) }, denied('no', 403)],
  [
    'one that is worked out, better still',
    { spec: one('false', { message: 'no', messageExpression: "'not ' + object.metadata.name" }) },
    denied('not p'),
  ],
  ['unless it fails', { spec: one('false', { message: 'no', messageExpression: 'object.nope' }) }, denied('no')],
  ['what fails is refused', { spec: one('object.nope > 1') }, denied("expression 'object.nope > 1' resulted in error: no such key: nope")],
  ['unless that is to be ignored', { spec: { failurePolicy: 'Ignore', ...one('object.nope') } }, 'allowed'],
  [
    'a condition keeps a policy away',
    { spec: { ...one('false'), matchConditions: [{ name: 'c', expression: "request.operation == 'DELETE'" }] } },
    'allowed',
  ],
  [
    'one that holds does not',
    { spec: { ...one('false'), matchConditions: [{ name: 'c', expression: "request.userInfo.username == 'jane'" }] } },
    denied('failed expression: false'),
  ],
  [
    'variables build on each other',
    {
      spec: {
        variables: [
          { name: 'names', expression: 'object.spec.containers.map(c, c.name)' },
          { name: 'count', expression: 'size(variables.names)' },
        ],
        ...one('variables.count > 1', { messageExpression: "'only ' + string(variables.count) + ': ' + variables.names.join()" }),
      },
    },
    denied('only 1: c'),
  ],
  [
    'the namespace is known',
    { spec: one("namespaceObject.metadata.labels.team == 'b'") },
    denied("failed expression: namespaceObject.metadata.labels.team == 'b'"),
  ],
  [
    'on delete there is no object',
    { spec: one('object == null && oldObject != null'), request: { operation: 'DELETE', oldObject: aPod() } },
    denied('failed expression: object == null && oldObject != null'),
  ],
  [
    'a binding may be about another namespace',
    { spec: one('false'), binding: { matchResources: { namespaceSelector: { matchLabels: { team: 'b' } } } } },
    'allowed',
  ],
  [
    'or about other objects',
    { spec: one('false'), binding: { matchResources: { objectSelector: { matchLabels: { app: 'x' } } } } },
    'allowed',
  ],
  ['subresources are apart', { spec: one('false'), request: { subresource: 'status', oldObject: aPod() } }, 'allowed'],
  [
    'other resources are none of its business',
    { spec: one('false'), request: { resource: 'configmaps', object: { metadata: { name: 'c' } } } },
    'allowed',
  ],
  [
    'policies themselves can always be mended',
    {
      spec: {
        ...one('false'),
        matchConstraints: { resourceRules: [{ operations: ['*'], apiGroups: ['*'], apiVersions: ['*'], resources: ['*'] }] },
      },
      request: { resource: 'validatingadmissionpolicies.admissionregistration.k8s.io', object: { metadata: { name: 'p' } } },
    },
    'allowed',
  ],
]
for (const [name, given, wanted] of cases) test(name, async () => assert.equal((await validated(given)).admissionResult, wanted))

const paramKind = { apiVersion: 'v1', kind: 'ConfigMap' }
const limits = { configmaps: [{ metadata: { name: 'limits', namespace: 'ns', labels: { a: 'b' } }, data: { max: '0' } }] }
const limited = {
  paramKind,
  ...one('size(object.spec.containers) <= int(params.data.max)', { messageExpression: "'at most ' + params.data.max" }),
}
const withParams: [string, Given, string][] = [
  ['parameters are looked up by name', { spec: limited, objects: limits, binding: { paramRef: { name: 'limits' } } }, denied('at most 0')],
  [
    'or by labels',
    { spec: limited, objects: limits, binding: { paramRef: { selector: { matchLabels: { a: 'b' } } } } },
    denied('at most 0'),
  ],
  [
    'without any a policy may allow',
    { spec: limited, binding: { paramRef: { name: 'limits', parameterNotFoundAction: 'Allow' } } },
    'allowed',
  ],
  [
    'or refuse',
    { spec: limited, binding: { paramRef: { name: 'limits', parameterNotFoundAction: 'Deny' } } },
    denied('failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction'),
  ],
  [
    'a kind that nobody serves is a mistake of the policy',
    { spec: { ...limited, paramKind: { apiVersion: 'example.com/v1', kind: 'Limit' } }, binding: { paramRef: { name: 'x' } } },
    "422 pods \"p\" is forbidden: ValidatingAdmissionPolicy 'p' denied request: failed to configure policy: failed to find resource referenced by paramKind: 'example.com/v1, Kind=Limit'",
  ],
]
for (const [name, given, wanted] of withParams) test(name, async () => assert.equal((await validated(given)).admissionResult, wanted))

test('a policy may ask what the user may do, even where the answer takes time', async () => {
  const asked: string[] = []
  const authorizer: Authorizer = {
    async authorize({ user, verb, resource, namespace, name }) {
      asked.push([user.name, verb, resource, namespace, name].join(' '))
      return { decision: user.name === 'jane' ? 'noOpinion' : 'allow', reason: 'because' }
    },
  }
  const expression =
    "authorizer.requestResource.check('approve').allowed() || !authorizer.serviceAccount('ns', 'bot').group('').resource('pods').check('list').allowed()"
  const { admissionResult: answer } = await validated({ spec: one(expression), authorizer })
  assert.equal(answer, denied(`failed expression: ${expression}`))
  assert.deepEqual(asked, ['jane approve pods ns p', 'system:serviceaccount:ns:bot list pods  '])
})

test('a policy may ask about a part of the objects; a selector that makes no sense is left out', async () => {
  const asked: Pick<Attributes, 'fieldSelector' | 'labelSelector'>[] = []
  const authorizer: Authorizer = {
    authorize({ fieldSelector, labelSelector }) {
      asked.push({ fieldSelector, labelSelector })
      return { decision: 'allow', reason: '' }
    },
  }
  const pods = "authorizer.group('').resource('pods')"
  const expression = `${pods}.fieldSelector('spec.nodeName=n').labelSelector('a=b').check('list').allowed() && ${pods}.fieldSelector('?').check('list').allowed()`
  const { admissionResult: answer } = await validated({ spec: one(expression), authorizer })
  assert.equal(answer, 'allowed')
  assert.deepEqual(asked, [
    { fieldSelector: [{ field: 'spec.nodeName', operator: '=', value: 'n' }], labelSelector: [{ key: 'a', operator: '=', values: ['b'] }] },
    { fieldSelector: undefined, labelSelector: undefined },
  ])
})

test('a binding may warn and leave notes instead', async () => {
  const spec = {
    ...one('false', { message: 'no' }),
    auditAnnotations: [
      { key: 'name', valueExpression: "'it is ' + object.metadata.name" },
      { key: 'none', valueExpression: 'null' },
    ],
  }
  const { admissionResult: answer, warnings, audit } = await validated({ spec, binding: { validationActions: ['Warn', 'Audit'] } })
  assert.equal(answer, 'allowed')
  assert.deepEqual(warnings, ["Validation failed for ValidatingAdmissionPolicy 'p' with binding 'b': no"])
  assert.deepEqual(audit, {
    'p/name': 'it is p',
    'validation.policy.admission.k8s.io/validation_failure':
      '[{"message":"no","policy":"p","binding":"b","expressionIndex":0,"validationActions":["Warn","Audit"]}]',
  })
})

test('an expression that takes too much is ended', async () => {
  const list = `[${Array.from({ length: 60 }, (_, index) => index).join(', ')}]`
  const expression = `${list}.all(a, ${list}.all(b, ${list}.all(c, ${list}.all(d, a + b + c + d >= 0))))`
  const { admissionResult: answer } = await validated({ spec: one(expression) })
  assert.match(answer, /resulted in error: operation cancelled: actual cost limit exceeded$/)
})

test('a policy without a binding does nothing, and one that is gone does no more', async () => {
  const context = testContext({
    'validatingadmissionpolicies.admissionregistration.k8s.io': [
      { metadata: { name: 'p' }, spec: { matchConstraints: pods, ...one('false') } },
    ],
  })
  const plugin = validatingAdmissionPolicy(context)
  const ask = () => admissionResult(plugin, requestFor('pods', { object: aPod() }))
  assert.equal(await ask(), 'allowed')
  context.cluster.put('validatingadmissionpolicybindings.admissionregistration.k8s.io', {
    metadata: { name: 'b' },
    spec: { policyName: 'p', validationActions: ['Deny'] },
  } as object)
  assert.equal(await ask(), denied('failed expression: false'))
})

const counted: [string, Given, string[]][] = [
  ['what holds is not counted', { spec: one('true') }, []],
  ['a refusal', { spec: one('false') }, ['invalid_error deny']],
  [
    'warnings and notes',
    { spec: one('false'), binding: { validationActions: ['Warn', 'Audit'] } },
    ['invalid_error warn', 'invalid_error audit'],
  ],
  ['an ignored failure', { spec: { ...one("object.spec.none == 'a'"), failurePolicy: 'Ignore' } }, ['invalid_error allow']],
  ['an expression that does not compile', { spec: one('1 +') }, ['compile_error deny']],
]
for (const [name, given, wanted] of counted)
  test(`metrics: ${name}`, async () => {
    const { metrics } = await validated(given)
    const counted =
      /^apiserver_validating_admission_policy_check_total\{policy="p",policy_binding="b",error_type="(.*?)",enforcement_action="(.*?)"\} 1$/gm
    assert.deepEqual(
      Array.from(metrics.text().matchAll(counted), ([, error, action]) => `${error} ${action}`),
      wanted,
    )
  })
