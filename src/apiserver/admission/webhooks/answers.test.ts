import assert from 'node:assert/strict'
import { test } from 'node:test'
import { admissionResult, admit, aPod, requestFor } from '#apiserver/admission/testing/admission.ts'
import {
  type Answering,
  aConfiguration,
  aWebhook,
  patching,
  podRule,
  webhookBench,
} from '#apiserver/admission/webhooks/testing/webhooks.ts'
import { WebhookCallFailed } from '#apiserver/webhooks/webhook-calls.ts'

const podRequest = (options: object = {}) => requestFor('pods', { object: aPod(), ...options })
const evaluating = (answer: Answering, more: object = {}) =>
  webhookBench({ validating: [aConfiguration('c', aWebhook('a.b.c', more))] }, { 'a.b.c': answer })
const changing = (answer: Answering, more: object = {}) =>
  webhookBench({ mutating: [aConfiguration('c', aWebhook('a.b.c', more))] }, { 'a.b.c': answer })
const failing = 'failed calling webhook "a.b.c": '

test('the question holds who wants to do what to which object', async () => {
  const { validating, asked } = evaluating(() => ({ allowed: true }))
  await admit(validating, podRequest({ oldObject: aPod(), isDryRun: true }))
  const [question = assert.fail()] = asked
  const { uid, call, at: _at, object, oldObject, ...rest } = question
  assert.match(uid, /^[0-9a-f-]{36}$/)
  assert.deepEqual(rest, {
    apiVersion: 'admission.k8s.io/v1',
    kind: { group: '', version: 'v1', kind: 'Pod' },
    resource: { group: '', version: 'v1', resource: 'pods' },
    requestKind: { group: '', version: 'v1', kind: 'Pod' },
    requestResource: { group: '', version: 'v1', resource: 'pods' },
    name: 'p',
    namespace: 'ns',
    operation: 'UPDATE',
    userInfo: { username: 'jane', groups: ['system:authenticated'] },
    dryRun: true,
    options: null,
  })
  assert.deepEqual((object as { kind: string }).kind, 'Pod')
  assert.deepEqual(oldObject, object)
  assert.deepEqual([call.timeoutMs, call.query], [10_000, 'timeout=10s'])
})

test('of kinds below another resource no more is told than their name', async () => {
  const { validating, asked } = evaluating(() => ({ allowed: true }), { rules: [{ ...podRule, resources: ['pods/eviction'] }] })
  const kind = { group: 'policy', version: 'v1', kind: 'Eviction', schema: 'io.k8s.api.policy.v1.Eviction' }
  await admit(validating, { ...podRequest({ subresource: 'eviction' }), kind })
  const name = { group: 'policy', version: 'v1', kind: 'Eviction' }
  assert.deepEqual([asked[0]?.kind, asked[0]?.requestKind, asked[0]?.subResource], [name, name, 'eviction'])
})

test('of several versions of the review the first that is known is sent', async () => {
  const { validating, asked } = evaluating(() => ({ allowed: true }), { admissionReviewVersions: ['v2', 'v1beta1', 'v1'] })
  await admit(validating, podRequest())
  assert.equal(asked[0]?.apiVersion, 'admission.k8s.io/v1beta1')
})

const denials: [string, object, string][] = [
  ['with a message', { status: { message: 'too big', code: 418 } }, '418 admission webhook "a.b.c" denied the request: too big'],
  ['with a reason', { status: { reason: 'Forbidden' } }, '400 admission webhook "a.b.c" denied the request: Forbidden'],
  ['without a word', {}, '400 admission webhook "a.b.c" denied the request without explanation'],
  [
    'that claims success',
    { status: { status: 'Success', code: 200 } },
    '400 admission webhook "a.b.c" denied the request without explanation',
  ],
]
for (const [what, response, expected] of denials) {
  test(`a denial ${what} is passed on, whatever the failure policy`, async () => {
    for (const failurePolicy of ['Fail', 'Ignore']) {
      const { validating } = evaluating(() => ({ allowed: false, ...response }), { failurePolicy })
      assert.equal(await admissionResult(validating, podRequest()), expected)
      const { mutating } = changing(() => ({ allowed: false, ...response }), { failurePolicy })
      assert.equal(await admissionResult(mutating, podRequest()), expected)
    }
  })
}

const down: Answering = () => {
  throw new WebhookCallFailed('Post "https://a.b.c/?timeout=10s": context deadline exceeded')
}
const review =
  (response: object | null, more: object = {}) =>
  (uid: string) =>
    JSON.stringify({ kind: 'AdmissionReview', apiVersion: 'admission.k8s.io/v1', ...more, response: response && { uid, ...response } })
const lies: [string, Answering, string][] = [
  ['is down or slow', down, 'failed to call webhook: Post "https://a.b.c/?timeout=10s": context deadline exceeded'],
  [
    'sends no JSON',
    () => 'oops',
    "failed to call webhook: couldn't get version/kind; json parse error: invalid character 'o' looking for beginning of value",
  ],
  ['sends no response', ({ uid }) => review(null)(uid), 'received invalid webhook response: webhook response was absent'],
  [
    'answers another question',
    () => ({ allowed: true, uid: 'other' }),
    'received invalid webhook response: expected response.uid="UID", got "other"',
  ],
  [
    'sends another kind',
    ({ uid }) => review({ allowed: true }, { kind: 'Pod', apiVersion: 'v1' })(uid),
    'received invalid webhook response: expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview, got /v1, Kind=Pod',
  ],
  [
    'sends no kind',
    ({ uid }) => JSON.stringify({ response: { uid, allowed: true } }),
    'received invalid webhook response: expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview, got /, Kind=',
  ],
  [
    'validates but sends a patch',
    () => ({ allowed: true, patch: 'W10=' }),
    'received invalid webhook response: validating webhook may not return response.patch',
  ],
]
for (const [what, answer, why] of lies) {
  test(`a webhook that ${what} makes the request fail, unless failures are ignored`, async () => {
    const strict = evaluating(answer)
    const refusal = await admissionResult(strict.validating, podRequest())
    assert.equal(refusal, `500 Internal error occurred: ${failing}${why.replace('UID', strict.asked[0]?.uid ?? '')}`)
    const lenient = evaluating(answer, { failurePolicy: 'Ignore' })
    const request = podRequest()
    assert.equal(await admissionResult(lenient.validating, request), 'allowed')
    assert.deepEqual(request.audit, { 'failed-open.validating.webhook.admission.k8s.io/round_0_index_0': 'a.b.c' })
    assert.match(lenient.metrics.text(), /apiserver_admission_webhook_fail_open_count\{name="a.b.c",type="validating"\} 1/)
  })
}

test('an answer with a value of the wrong type is none', async () => {
  const { validating } = evaluating(() => ({ allowed: 'yes' }))
  assert.match(await admissionResult(validating, podRequest()), /^500 .*failed to call webhook: .*allowed/)
})

test('answers of the old version are not held to rules it never had', async () => {
  const sloppy: Answering = () => JSON.stringify({ response: { allowed: false, status: { message: 'no' } } })
  const { validating } = evaluating(sloppy, { admissionReviewVersions: ['v1beta1'] })
  assert.equal(await admissionResult(validating, podRequest()), '400 admission webhook "a.b.c" denied the request: no')
})

test('warnings and audit annotations are passed on', async () => {
  const { validating } = evaluating(() => ({ allowed: true, warnings: ['careful'], auditAnnotations: { why: 'because' } }))
  const request = podRequest()
  await admit(validating, request)
  assert.deepEqual(request.warnings, ['careful'])
  assert.deepEqual(request.audit, { 'a.b.c/why': 'because' })
})

test('a dry run is not sent to a webhook with side effects', async () => {
  for (const [sideEffects, expected] of [
    ['None', 'allowed'],
    ['NoneOnDryRun', 'allowed'],
    ['Some', '400 admission webhook "a.b.c" does not support dry run'],
    ['Unknown', '400 admission webhook "a.b.c" does not support dry run'],
  ]) {
    for (const failurePolicy of ['Fail', 'Ignore']) {
      const { validating } = evaluating(() => ({ allowed: true }), { sideEffects, failurePolicy })
      assert.equal(await admissionResult(validating, podRequest({ isDryRun: true })), expected)
    }
  }
})

test('all validates are asked at once, and the first refusal in their order counts', async () => {
  const gate = Promise.withResolvers<void>()
  const { validating, asked } = webhookBench(
    { validating: [aConfiguration('c', aWebhook('a.b.c'), aWebhook('d.e.f'))] },
    {
      'a.b.c': async () => {
        await gate.promise
        return { allowed: false, status: { message: 'first' } }
      },
      'd.e.f': () => {
        gate.resolve()
        return { allowed: false, status: { message: 'second' } }
      },
    },
  )
  assert.match(await admissionResult(validating, podRequest()), /"a.b.c" denied the request: first/)
  assert.equal(asked.length, 2)
})

const badPatches: [string, object, string][] = [
  [
    'is not JSON',
    { patch: Buffer.from('{').toString('base64'), patchType: 'JSONPatch' },
    `${failing}received undecodable patch in webhook response: `,
  ],
  [
    'has no type',
    { patch: 'W10=' },
    `${failing}received invalid webhook response: webhook returned response.patch but not response.patchType`,
  ],
  [
    'is missing',
    { patchType: 'JSONPatch' },
    `${failing}received invalid webhook response: webhook returned response.patchType but not response.patch`,
  ],
  ['is of a type nobody knows', { patch: 'W10=', patchType: 'Merge' }, `${failing}unsupported patch type "Merge"`],
  [
    'does not apply',
    patching({ op: 'remove', path: '/metadata/nothing' }),
    "error in remove for path: '/metadata/nothing': Unable to remove nonexistent key: nothing: missing value",
  ],
  ['makes no such object', patching({ op: 'add', path: '/spec/containers', value: 7 }), 'json: cannot unmarshal'],
  ['makes another kind', patching({ op: 'replace', path: '/kind', value: 'Secret' }), 'a webhook made a Secret'],
  ['makes a text', patching({ op: 'replace', path: '', value: [] }), 'the patched document is not an object'],
]
for (const [what, response, why] of badPatches) {
  test(`a patch that ${what} makes the request fail, and the object stays as it is`, async () => {
    const { mutating } = changing(() => ({ allowed: true, ...response }))
    const request = podRequest()
    const before = structuredClone(request.object)
    const refusal = await admissionResult(mutating, request)
    assert.ok(refusal.startsWith(`500 Internal error occurred: ${why}`), refusal)
    assert.deepEqual(request.object, before)
  })
}

test('nothing can be changed where nothing is written', async () => {
  const { mutating } = changing(() => patching({ op: 'add', path: '/metadata/labels', value: {} }))
  const request = requestFor('pods', { operation: 'DELETE', oldObject: aPod() })
  const why = 'admission webhook "a.b.c" attempted to modify the object, which is not supported for this operation'
  assert.equal(await admissionResult(mutating, request), `500 Internal error occurred: ${why}`)
})

test('calls are counted by what came of them', async () => {
  const { validating, metrics } = evaluating(({ name }) => ({ allowed: name === 'p', status: { code: 9000 } }))
  await admissionResult(validating, podRequest())
  await admissionResult(validating, podRequest({ name: 'q' }))
  const text = metrics.text()
  const labels = 'name="a.b.c",type="validating",operation="CREATE"'
  for (const line of [
    `apiserver_admission_webhook_request_total{${labels},rejected="false",code="200"} 1`,
    `apiserver_admission_webhook_request_total{${labels},rejected="true",code="600"} 1`,
    `apiserver_admission_webhook_rejection_count{${labels},error_type="no_error",rejection_code="600"} 1`,
    `apiserver_admission_webhook_admission_duration_seconds_count{${labels},rejected="true"} 1`,
  ]) {
    assert.ok(text.includes(`${line}\n`), `${line} is missing in ${text}`)
  }
})
