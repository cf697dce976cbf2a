import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AdmissionChain, type AdmissionPlugin } from '#apiserver/admission/admission.ts'
import { admissionResult, admit, aPod, requestFor } from '#apiserver/admission/testing/admission.ts'
import { type Answering, aConfiguration, aWebhook, patching, webhookBench } from '#apiserver/admission/webhooks/testing/webhooks.ts'

type Labelled = { metadata: { labels?: Record<string, string> } }
const labelsOf = (object: unknown) => (object as Labelled).metadata.labels ?? {}
/** Counts its calls in a label of its own. */
const counting =
  (name: string): Answering =>
  ({ object }) => {
    const labels = labelsOf(object)
    return patching({ op: 'add', path: '/metadata/labels', value: { ...labels, [name]: String(Number(labels[name] ?? 0) + 1) } })
  }
const settling =
  (name: string): Answering =>
  ({ object }) =>
    patching({ op: 'add', path: '/metadata/labels', value: { ...labelsOf(object), [name]: 'yes' } })
const chain = (...webhooks: [string, Answering, object?][]) =>
  webhookBench(
    { mutating: [aConfiguration('c', ...webhooks.map(([name, , more]) => aWebhook(`${name}.x.y`, more)))] },
    Object.fromEntries(webhooks.map(([name, answer]) => [`${name}.x.y`, answer])),
  )
const again = { reinvocationPolicy: 'IfNeeded' }

test('each webhook sees what those before it have made of the object', async () => {
  const { mutating, asked } = chain(['a', settling('a')], ['b', settling('b')])
  const object = await admit(mutating, requestFor('pods', { object: aPod() }))
  assert.deepEqual(labelsOf(object), { a: 'yes', b: 'yes' })
  assert.deepEqual(labelsOf(asked[1]?.object), { a: 'yes' })
  assert.equal(asked.length, 2)
})

test('defaults are filled into what a webhook adds', async () => {
  const container = { name: 'added', image: 'busybox' }
  const { mutating } = chain(['a', () => patching({ op: 'add', path: '/spec/containers/-', value: container })])
  const { spec } = await admit<{ spec: { containers: { terminationMessagePath?: string }[] } }>(
    mutating,
    requestFor('pods', { object: aPod() }),
  )
  assert.equal(spec.containers[1]?.terminationMessagePath, '/dev/termination-log')
})

test('fields nobody knows are dropped', async () => {
  const { mutating } = chain(['a', () => patching({ op: 'add', path: '/spec/colour', value: 'blue' })])
  const { spec } = await admit<{ spec: object }>(mutating, requestFor('pods', { object: aPod() }))
  assert.ok(!('colour' in spec))
})

test('a webhook that wants to is asked again when one after it changes the object, once', async () => {
  const { mutating, asked } = chain(['a', counting('a'), again], ['b', counting('b'), again])
  const object = await admit(mutating, requestFor('pods', { object: aPod() }))
  assert.deepEqual(labelsOf(object), { a: '2', b: '2' })
  assert.deepEqual(
    asked.map(({ at }) => at),
    ['a.x.y', 'b.x.y', 'a.x.y', 'b.x.y'],
  )
})

test('a webhook that does not want to is not, nor one after which nothing changed', async () => {
  const { mutating, asked } = chain(['a', settling('a')], ['b', settling('b'), again])
  await admit(mutating, requestFor('pods', { object: aPod() }))
  assert.deepEqual(
    asked.map(({ at }) => at),
    ['a.x.y', 'b.x.y'],
  )
})

test('a webhook that was left out in the first round is not asked in the second', async () => {
  const { mutating, asked } = chain(['a', settling('a'), { ...again, objectSelector: { matchLabels: { b: 'yes' } } }], ['b', settling('b')])
  await admit(mutating, requestFor('pods', { object: aPod() }))
  assert.deepEqual(
    asked.map(({ at }) => at),
    ['b.x.y'],
  )
})

test('other plugins see the object again as well, and what they change then is shown to the webhooks', async () => {
  const { mutating, asked } = chain(['a', settling('a'), again])
  let rounds = 0
  const other: AdmissionPlugin = {
    name: 'Other',
    operations: ['CREATE'],
    mutate({ object }) {
      rounds++
      if (object?.metadata && labelsOf(object)['a']) object.metadata.labels = { ...labelsOf(object), other: 'yes' }
    },
  }
  const request = requestFor('pods', { object: aPod() })
  await new AdmissionChain([other, mutating]).mutate(request)
  assert.deepEqual(labelsOf(request.object), { a: 'yes', other: 'yes' })
  assert.equal(rounds, 2)
  assert.deepEqual(labelsOf(asked[1]?.object), { a: 'yes', other: 'yes' })
})

test('notes tell who changed what, the patch itself for records of bodies only', async () => {
  const { mutating } = chain(['a', settling('a')], ['b', () => ({ allowed: true })])
  const levels: Record<string, string | undefined> = {}
  const request = requestFor('pods', { object: aPod() })
  const annotateAudit = (key: string, value: string, level?: string) => {
    request.audit[key] = value
    levels[key] = level
  }
  await admit(mutating, { ...request, annotateAudit })
  const note = (index: number) => JSON.parse(request.audit[`mutation.webhook.admission.k8s.io/round_0_index_${index}`] ?? '')
  assert.deepEqual(note(0), { configuration: 'c', webhook: 'a.x.y', mutated: true })
  assert.deepEqual(note(1), { configuration: 'c', webhook: 'b.x.y', mutated: false })
  assert.equal(levels['patch.webhook.admission.k8s.io/round_0_index_0'], 'Request')
  assert.equal(request.audit['patch.webhook.admission.k8s.io/round_0_index_1'], undefined)
})

test('what an old version changes is stored in the new one', async () => {
  const rule = { operations: ['*'], apiGroups: ['extensions'], apiVersions: ['v1beta1'], resources: ['deployments'] }
  const { mutating } = chain(['a', () => patching({ op: 'add', path: '/spec/replicas', value: 7 }), { rules: [rule] }])
  const spec = {
    replicas: 1,
    selector: { matchLabels: { a: 'b' } },
    template: { metadata: { labels: { a: 'b' } }, spec: { containers: [{ name: 'c', image: 'i' }] } },
  }
  const object = await admit<{ apiVersion: string; spec: { replicas: number; selector: object } }>(
    mutating,
    requestFor('deployments.apps', {
      object: { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'd', namespace: 'ns' }, spec },
    }),
  )
  assert.equal(object.apiVersion, 'apps/v1')
  assert.equal(object.spec.replicas, 7)
  assert.deepEqual(object.spec.selector, { matchLabels: { a: 'b' } })
})

test('owners of fields that a webhook breaks are put back, with a warning', async () => {
  const broken = [{ manager: 'm', operation: 'Guess', apiVersion: 'v1', fieldsType: 'FieldsV1', fieldsV1: {} }]
  const { mutating } = chain(['a', () => patching({ op: 'replace', path: '/metadata/managedFields', value: broken })])
  const managedFields = [{ manager: 'm', operation: 'Update', apiVersion: 'v1', fieldsType: 'FieldsV1', fieldsV1: { 'f:spec': {} } }]
  const request = requestFor('pods', { object: aPod({}, { managedFields }) })
  const { metadata } = await admit(mutating, request)
  assert.deepEqual(metadata?.managedFields, managedFields)
  assert.match(request.warnings[0] ?? '', /managedFields was in an invalid state after admission/)
})

test('a request does not wait for ever, however many webhooks take their time', async () => {
  const slow: [string, Answering, object][] = Array.from({ length: 10 }, (_, index) => [
    `s${index}`,
    async () => {
      await context.clock.sleep(9000)
      return { allowed: true }
    },
    {},
  ])
  const { mutating, context, asked } = chain(...slow)
  const pending = admissionResult(mutating, requestFor('pods', { object: aPod() }))
  await context.clock.advance(90_000)
  assert.equal(await pending, '504 Timeout: request did not complete within requested timeout')
  assert.equal(asked.length, 7)
  assert.equal(asked[6]?.call.timeoutMs, 6000)
})
