import assert from 'node:assert/strict'
import { test } from 'node:test'
import { mutatingAdmissionPolicyResource } from '#api/admissionregistration/v1/mutating-admission-policy.ts'
import { mutatingAdmissionPolicyBindingResource } from '#api/admissionregistration/v1/mutating-admission-policy-binding.ts'
import { mutatingWebhookConfigurationResource } from '#api/admissionregistration/v1/mutating-webhook-configuration.ts'
import type {
  V1MutatingAdmissionPolicySpec,
  V1MutatingWebhook,
  V1RuleWithOperations,
  V1ValidatingAdmissionPolicySpec,
  V1ValidatingWebhook,
} from '#api/admissionregistration/v1/types.gen.ts'
import { validatingAdmissionPolicyResource } from '#api/admissionregistration/v1/validating-admission-policy.ts'
import { validatingAdmissionPolicyBindingResource } from '#api/admissionregistration/v1/validating-admission-policy-binding.ts'
import { validatingWebhookConfigurationResource } from '#api/admissionregistration/v1/validating-webhook-configuration.ts'
import { tryCreate, tryRow, tryUpdate } from '#api/testing/try-kind.ts'

const metadata = { name: 'a', resourceVersion: '1' }

const webhook = (change: Partial<V1MutatingWebhook> = {}): V1MutatingWebhook => ({
  name: 'a.example.com',
  admissionReviewVersions: ['v1'],
  sideEffects: 'None',
  clientConfig: { url: 'https://example.com/x' },
  ...change,
})
const configuration = (...webhooks: V1ValidatingWebhook[]) => ({ metadata, webhooks })

test('webhooks are filled in', () => {
  const service = { name: 's', namespace: 'n' }
  const rule = { operations: ['*'], apiGroups: ['*'], apiVersions: ['*'], resources: ['*'] }
  const { object, errors } = tryCreate(
    mutatingWebhookConfigurationResource,
    configuration(webhook({ clientConfig: { service }, rules: [rule] })),
  )
  assert.deepEqual(errors, [])
  assert.deepEqual(object.webhooks?.[0], {
    ...webhook(),
    clientConfig: { service: { ...service, port: 443 } },
    rules: [{ ...rule, scope: '*' }],
    failurePolicy: 'Fail',
    matchPolicy: 'Equivalent',
    namespaceSelector: {},
    objectSelector: {},
    timeoutSeconds: 10,
    reinvocationPolicy: 'Never',
  })
})

test('webhooks are validated in the words clients know', () => {
  const form = 'desired format: https://host[/path]'
  const url = (text: string) => ({ clientConfig: { url: text } })
  const cases: [Partial<V1MutatingWebhook>, string[]][] = [
    [{}, []],
    [{ name: 'short' }, ['name: Invalid value: "short": should be a domain with at least three segments separated by dots']],
    [{ failurePolicy: 'Nope' }, ['failurePolicy: Unsupported value: "Nope": supported values: "Fail", "Ignore"']],
    [{ matchPolicy: 'Nope' }, ['matchPolicy: Unsupported value: "Nope": supported values: "Equivalent", "Exact"']],
    [{ sideEffects: 'Some' }, ['sideEffects: Unsupported value: "Some": supported values: "None", "NoneOnDryRun"']],
    [{ sideEffects: undefined as never }, ['sideEffects: Required value: must specify one of None, NoneOnDryRun']],
    [{ timeoutSeconds: 31 }, ['timeoutSeconds: Invalid value: 31: the timeout value must be between 1 and 30 seconds']],
    [{ reinvocationPolicy: 'Nope' }, ['reinvocationPolicy: Unsupported value: "Nope": supported values: "IfNeeded", "Never"']],
    [{ clientConfig: {} }, ['clientConfig: Required value: exactly one of url or service is required']],
    [url('http://x.y/z'), [`clientConfig.url: Invalid value: "http": 'https' is the only allowed URL scheme; ${form}`]],
    [url('https:///z'), [`clientConfig.url: Invalid value: "": host must be specified; ${form}`]],
    [url('https://u@x.y'), ['clientConfig.url: Invalid value: "u": user information is not permitted in the URL']],
    [
      url('https://x.y/?a=b#c'),
      [
        'clientConfig.url: Invalid value: "c": fragments are not permitted in the URL',
        'clientConfig.url: Invalid value: "a=b": query parameters are not permitted in the URL',
      ],
    ],
    [url(':x'), [`clientConfig.url: Required value: url must be a valid URL: parse ":x": missing protocol scheme; ${form}`]],
    [
      { clientConfig: { service: { name: 's', namespace: '', port: 0, path: 'x//y' } } },
      [
        'clientConfig.service.name: Required value',
        'clientConfig.service.port: Invalid value: 0: port is not valid: must be between 1 and 65535, inclusive',
        `clientConfig.service.path: Invalid value: "x//y": must start with a '/'`,
        'clientConfig.service.path: Invalid value: "x//y": segment[0] may not be empty',
        'clientConfig.service.path: Invalid value: "x//y": segment[1] may not be empty',
      ],
    ],
    [
      {
        matchConditions: [
          { name: 'a', expression: ' ' },
          { name: 'a', expression: 'true' },
        ],
      },
      ['matchConditions[0].expression: Required value', 'matchConditions[1].name: Duplicate value: "a"'],
    ],
    [{ admissionReviewVersions: [] }, ['admissionReviewVersions: Required value: must specify one of v1, v1beta1']],
    [
      { admissionReviewVersions: ['v9', 'v9'] },
      [
        'admissionReviewVersions[1]: Invalid value: "v9": duplicate version',
        'admissionReviewVersions: Invalid value: ["v9","v9"]: must include at least one of v1, v1beta1',
      ],
    ],
  ]
  for (const [change, errors] of cases) {
    const expected = errors.map((error) => `webhooks[0].${error}`)
    assert.deepEqual(tryCreate(mutatingWebhookConfigurationResource, configuration(webhook(change))).errors, expected)
  }
  assert.deepEqual(tryCreate(validatingWebhookConfigurationResource, configuration(webhook(), webhook())).errors, [
    'webhooks[1].name: Duplicate value: "a.example.com"',
  ])
})

test('rules say what they are about once', () => {
  const rule: V1RuleWithOperations = { operations: ['CREATE'], apiGroups: [''], apiVersions: ['v1'], resources: ['pods'] }
  const cases: [Partial<V1RuleWithOperations>, string[]][] = [
    [{}, []],
    [
      { operations: [], apiGroups: [], apiVersions: [], resources: [] },
      ['operations: Required value', 'apiGroups: Required value', 'apiVersions: Required value', 'resources: Required value'],
    ],
    [
      { operations: ['*', 'READ'] },
      [
        `operations: Invalid value: ["*","READ"]: if '*' is present, must not specify other operations`,
        'operations[1]: Unsupported value: "READ": supported values: "*", "CONNECT", "CREATE", "DELETE", "UPDATE"',
      ],
    ],
    [{ apiVersions: [''] }, ['apiVersions[0]: Required value']],
    [
      { resources: ['*', 'pods'] },
      [`resources: Invalid value: ["*","pods"]: if '*' is present, must not specify other resources without subresources`],
    ],
    [{ resources: ['*', 'pods/status'] }, []],
    [{ resources: ['*/*', 'pods'] }, [`resources: Invalid value: ["*/*","pods"]: if '*/*' is present, must not specify other resources`]],
    [{ resources: ['pods/*', 'pods/log'] }, [`resources[1]: Invalid value: "pods/log": if 'pods/*' is present, must not specify pods/log`]],
    [{ resources: ['*/scale', 'a/scale'] }, [`resources[1]: Invalid value: "a/scale": if '*/scale' is present, must not specify a/scale`]],
    [{ scope: 'Nope' }, ['scope: Unsupported value: "Nope": supported values: "*", "Cluster", "Namespaced"']],
  ]
  for (const [change, errors] of cases) {
    const { errors: found } = tryCreate(validatingWebhookConfigurationResource, configuration(webhook({ rules: [{ ...rule, ...change }] })))
    assert.deepEqual(
      found,
      errors.map((error) => `webhooks[0].rules[0].${error}`),
    )
  }
})

test('an update may keep what older servers let through', () => {
  const old = configuration(webhook({ sideEffects: 'Unknown', admissionReviewVersions: ['v9'] }))
  assert.deepEqual(tryUpdate(validatingWebhookConfigurationResource, old, old).errors, [])
  const sound = configuration(webhook())
  assert.equal(tryUpdate(validatingWebhookConfigurationResource, sound, old).errors.length, 2)
})

const resourceRules = [{ operations: ['CREATE'], apiGroups: [''], apiVersions: ['v1'], resources: ['pods'] }]
const policySpec = (change: Partial<V1ValidatingAdmissionPolicySpec> = {}): V1ValidatingAdmissionPolicySpec => ({
  matchConstraints: { resourceRules },
  validations: [{ expression: 'true' }],
  ...change,
})

test('validating policies are filled in and validated', () => {
  const { object } = tryCreate(validatingAdmissionPolicyResource, { metadata, spec: policySpec() })
  const { failurePolicy, matchConstraints } = object.spec
  assert.deepEqual([failurePolicy, matchConstraints?.matchPolicy, matchConstraints?.namespaceSelector], ['Fail', 'Equivalent', {}])
  assert.equal(matchConstraints?.resourceRules?.[0]?.scope, '*')
  const atLeastOne = 'Required value: validations or auditAnnotations must contain at least one item'
  const cases: [V1ValidatingAdmissionPolicySpec, string[]][] = [
    [policySpec(), []],
    [{}, ['spec.matchConstraints: Required value', `spec.validations: ${atLeastOne}`, `spec.auditAnnotations: ${atLeastOne}`]],
    [policySpec({ matchConstraints: {} }), ['spec.matchConstraints.resourceRules: Required value']],
    [
      policySpec({ paramKind: { apiVersion: 'a/b/c', kind: '1' } }),
      [
        'spec.paramKind.apiVersion: Invalid value: "a/b/c": unexpected GroupVersion string: a/b/c',
        `spec.paramKind.kind: Invalid value: "1": may have mixed case, but should otherwise match: a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')`,
      ],
    ],
    [
      policySpec({ variables: [{ name: 'for', expression: '' }] }),
      [
        'spec.variables[0].name: Invalid value: "for": must be a valid CEL identifier',
        'spec.variables[0].expression: Required value: expression is not specified',
      ],
    ],
    [
      policySpec({ validations: [{ expression: ' ', message: 'a\nb', messageExpression: ' ', reason: 'X' }] }),
      [
        'spec.validations[0].expression: Required value: expression is not specified',
        'spec.validations[0].messageExpression: Invalid value: " ": must be non-empty if specified',
        'spec.validations[0].message: Invalid value: "a\\nb": must not contain line breaks',
        'spec.validations[0].reason: Unsupported value: "X": supported values: "Forbidden", "Invalid", "RequestEntityTooLarge"',
      ],
    ],
    [
      policySpec({
        auditAnnotations: [
          { key: 'k', valueExpression: '' },
          { key: 'k', valueExpression: '"x"' },
        ],
      }),
      [
        'spec.auditAnnotations[0].valueExpression: Required value: valueExpression is not specified',
        'spec.auditAnnotations[1].key: Duplicate value: "k"',
      ],
    ],
  ]
  for (const [spec, errors] of cases) assert.deepEqual(tryCreate(validatingAdmissionPolicyResource, { metadata, spec }).errors, errors)
})

test('mutating policies say how they change things', () => {
  const mutation = { patchType: 'JSONPatch', jsonPatch: { expression: '[JSONPatch{op: "remove", path: "/a"}]' } }
  const of = (change: Partial<V1MutatingAdmissionPolicySpec>) => ({
    metadata,
    spec: { matchConstraints: { resourceRules }, mutations: [mutation], reinvocationPolicy: 'Never', ...change },
  })
  const cases: [Partial<V1MutatingAdmissionPolicySpec>, string[]][] = [
    [{}, []],
    [
      { mutations: [], reinvocationPolicy: '' },
      ['spec.mutations: Required value: mutations must contain at least one item', 'spec.reinvocationPolicy: Required value'],
    ],
    [
      { mutations: [{ patchType: 'Nope' }] },
      ['spec.mutations[0].patchType: Unsupported value: "Nope": supported values: "ApplyConfiguration", "JSONPatch"'],
    ],
    [
      { mutations: [{ ...mutation, patchType: 'ApplyConfiguration' }] },
      [
        'spec.mutations[0].applyConfiguration: Required value: must be specified when patchType is ApplyConfiguration',
        'spec.mutations[0].jsonPatch: Invalid value: "{jsonPatch}": must not be specified when patchType is ApplyConfiguration',
      ],
    ],
    [
      { matchConstraints: { resourceRules: [{ ...resourceRules[0], operations: ['DELETE'] }] } },
      ['spec.matchConstraints.resourceRules.operations: Unsupported value: "DELETE": supported values: "*", "CONNECT", "CREATE", "UPDATE"'],
    ],
  ]
  for (const [change, errors] of cases) assert.deepEqual(tryCreate(mutatingAdmissionPolicyResource, of(change)).errors, errors)
})

test('expressions are compiled where they stand, and must have the type that is asked for there', () => {
  const { errors } = tryCreate(validatingAdmissionPolicyResource, {
    metadata,
    spec: policySpec({
      matchConditions: [{ name: 'a', expression: 'params.x == 1' }],
      variables: [
        { name: 'size', expression: 'object.spec.replicas + 1' },
        { name: 'many', expression: 'variables.size > 5' },
        { name: 'text', expression: "'a' + 'b'" },
      ],
      validations: [
        { expression: 'variables.many && variables.nope', messageExpression: 'variables.many' },
        { expression: 'variables.text' },
        { expression: "authorizer.group('').resource('pods').namespace('a').check('list').allowed()" },
        { expression: 'request.userInfo.name == "x"' },
        { expression: 'namespaceObject.metadata.labels.all(k, k == 1)' },
      ],
      auditAnnotations: [{ key: 'k', valueExpression: '1' }],
    }),
  })
  const failed = (path: string, text: string, column: number, what: string) =>
    `spec.${path}: Invalid value: ${JSON.stringify(text)}: compilation failed: ERROR: <input>:1:${column}: ${what}\n | ${text}\n | ${'.'.repeat(column - 1)}^`
  assert.deepEqual(errors, [
    failed('matchConditions[0].expression', 'params.x == 1', 1, "undeclared reference to 'params' (in container '')"),
    failed('validations[0].expression', 'variables.many && variables.nope', 28, "undefined field 'nope'"),
    'spec.validations[0].messageExpression: Invalid value: "variables.many": must evaluate to string but got bool',
    'spec.validations[1].expression: Invalid value: "variables.text": must evaluate to bool but got string',
    failed('validations[3].expression', 'request.userInfo.name == "x"', 17, "undefined field 'name'"),
    failed(
      'validations[4].expression',
      'namespaceObject.metadata.labels.all(k, k == 1)',
      42,
      "found no matching overload for '_==_' applied to '(string, int)'",
    ),
    'spec.auditAnnotations[0].valueExpression: Invalid value: "1": must evaluate to one of [string null_type] but got int',
  ])
})

test('bindings name a policy, its parameters and what happens', () => {
  const spec = { policyName: 'p', validationActions: ['Deny'] }
  const both = { name: 'x', selector: {}, parameterNotFoundAction: 'Deny' }
  const cases: [object, string[]][] = [
    [spec, []],
    [
      { ...spec, policyName: '', validationActions: [] },
      ['spec.policyName: Required value', 'spec.validationActions: Required value: at least one validation action is required'],
    ],
    [
      { ...spec, validationActions: ['Deny', 'Deny', 'Warn', 'X'] },
      [
        'spec.validationActions[1]: Duplicate value: "Deny"',
        'spec.validationActions[3]: Unsupported value: "X": supported values: "Audit", "Deny", "Warn"',
        'spec.validationActions: Invalid value: ["Deny","Deny","Warn","X"]: must not contain both Deny and Warn (repeating the same validation failure information in the API response and headers serves no purpose)',
      ],
    ],
    [
      { ...spec, paramRef: both },
      [
        'spec.paramRef.name: Forbidden: name and selector are mutually exclusive',
        'spec.paramRef.selector: Forbidden: name and selector are mutually exclusive',
      ],
    ],
    [
      { ...spec, paramRef: {} },
      ['spec.paramRef: Required value: one of name or selector must be specified', 'spec.paramRef.parameterNotFoundAction: Required value'],
    ],
  ]
  for (const [given, errors] of cases) {
    assert.deepEqual(tryCreate(validatingAdmissionPolicyBindingResource, { metadata, spec: given as typeof spec }).errors, errors)
  }
  assert.deepEqual(tryCreate(mutatingAdmissionPolicyBindingResource, { metadata, spec: {} }).errors, ['spec.policyName: Required value'])
})

test('rows tell of parameters', () => {
  const row = (paramRef: object) =>
    tryRow(validatingAdmissionPolicyBindingResource, { metadata, spec: { policyName: 'p', validationActions: [], paramRef } })['ParamRef']
  assert.equal(row({ name: 'n', namespace: 's' }), 's/n')
  assert.equal(row({ name: 'n' }), '*/n')
  assert.equal(
    row({ selector: { matchLabels: { a: 'b' }, matchExpressions: [{ key: 'k', operator: 'In', values: ['x', 'y'] }] } }),
    '&LabelSelector{MatchLabels:map[string]string{a: b,},MatchExpressions:[]LabelSelectorRequirement{LabelSelectorRequirement{Key:k,Operator:In,Values:[x y],},},}',
  )
  const paramKind = { apiVersion: 'v1', kind: 'ConfigMap' }
  assert.equal(tryRow(validatingAdmissionPolicyResource, { metadata, spec: { paramKind } })['ParamKind'], 'v1/ConfigMap')
})

test('names kept for files are warned of', () => {
  const static_ = { ...configuration(), metadata: { name: 'x.static.k8s.io' } }
  assert.equal(tryCreate(validatingWebhookConfigurationResource, static_).warnings.length, 1)
  assert.equal(tryCreate(validatingWebhookConfigurationResource, static_, { isEnabled: () => true }).errors.length, 1)
})

test('each variable is compiled once, however many expressions use them', () => {
  const variables = Array.from({ length: 3000 }, (_, index) => ({
    name: `v${index}`,
    expression: index === 0 ? '1' : `variables.v${index - 1} + 1`,
  }))
  const validations = Array.from({ length: 1000 }, () => ({ expression: 'variables.v2999 > 1' }))
  const { errors } = tryCreate(validatingAdmissionPolicyResource, { metadata, spec: policySpec({ variables, validations }) })
  assert.deepEqual(errors, [])
})
