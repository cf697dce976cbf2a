import assert from 'node:assert/strict'
import { test } from 'node:test'
import { latest } from '#apiserver/admission/pod-security/level-version.ts'
import { policyOf } from '#apiserver/admission/pod-security/namespace-policy.ts'
import { podSecurity } from '#apiserver/admission/pod-security/pod-security.ts'
import { admissionResult, admit, aPod, type RequestOptions, requestFor, testContext } from '#apiserver/admission/testing/admission.ts'

const label = (name: string) => `pod-security.kubernetes.io/${name}`
const labelsOf = (labels: Record<string, string>) => Object.fromEntries(Object.entries(labels).map(([name, value]) => [label(name), value]))
const namespace = (labels: Record<string, string>, name = 'ns') => ({ metadata: { name, labels: labelsOf(labels) } })
const privileged = { containers: [{ name: 'c', image: 'x', securityContext: { privileged: true } }] }
const faulty = 'privileged (container "c" must not set securityContext.privileged=true)'

async function ask(labels: Record<string, string>, options: RequestOptions, resource = 'pods', configuration?: unknown) {
  const request = requestFor(resource, options)
  const plugin = podSecurity(testContext({ namespaces: [namespace(labels)] }, { configuration }))
  return { admissionResult: await admissionResult(plugin, request), warnings: request.warnings, audit: request.audit }
}

test('a namespace without labels enforces nothing, and says so in the audit log', async () => {
  const { admissionResult: said, warnings, audit } = await ask({}, { object: aPod(privileged) })
  assert.deepEqual([said, warnings, audit], ['allowed', [], { [label('enforce-policy')]: 'privileged:latest' }])
})

test('enforce refuses, warn warns, audit records', async () => {
  const enforced = await ask({ enforce: 'baseline' }, { object: aPod(privileged) })
  assert.equal(enforced.admissionResult, `403 pods "p" is forbidden: violates PodSecurity "baseline:latest": ${faulty}`)
  assert.deepEqual(enforced.warnings, [])

  const warned = await ask({ warn: 'baseline', 'warn-version': 'v1.20' }, { object: aPod(privileged) })
  assert.deepEqual([warned.admissionResult, warned.warnings], ['allowed', [`would violate PodSecurity "baseline:v1.20": ${faulty}`]])

  const recorded = await ask({ audit: 'baseline' }, { object: aPod(privileged) })
  assert.deepEqual(recorded.audit, {
    [label('enforce-policy')]: 'privileged:latest',
    [label('audit-violations')]: `would violate PodSecurity "baseline:latest": ${faulty}`,
  })
})

test('workloads are not refused, but warned about their templates', async () => {
  const template = { metadata: {}, spec: privileged }
  const warnings = [`would violate PodSecurity "baseline:latest": ${faulty}`]
  const cases: [resource: string, object: object][] = [
    ['deployments.apps', { spec: { template } }],
    ['replicasets.apps', { spec: { template } }],
    ['statefulsets.apps', { spec: { template } }],
    ['daemonsets.apps', { spec: { template } }],
    ['jobs.batch', { spec: { template } }],
    ['cronjobs.batch', { spec: { jobTemplate: { spec: { template } } } }],
    ['replicationcontrollers', { spec: { template } }],
    ['podtemplates', { template }],
  ]
  for (const [resource, object] of cases) {
    const asked = await ask({ enforce: 'baseline' }, { object }, resource)
    assert.deepEqual([asked.admissionResult, asked.warnings], ['allowed', warnings], resource)
  }
  assert.equal((await ask({ enforce: 'baseline' }, { object: { spec: {} } }, 'replicationcontrollers')).admissionResult, 'allowed')
})

test('updates are validated if they bring images or containers; a status never is', async () => {
  const refused = (text: string) => text.startsWith('403')
  const old = aPod(privileged)
  const same = await ask({ enforce: 'baseline' }, { object: aPod(privileged, { labels: { a: 'b' } }), oldObject: old })
  assert.equal(same.admissionResult, 'allowed')
  const otherImage = aPod({ containers: [{ ...privileged.containers[0], image: 'y' }] })
  assert.ok(refused((await ask({ enforce: 'baseline' }, { object: otherImage, oldObject: old })).admissionResult))
  const ephemeralContainers = [{ name: 'e', image: 'z', securityContext: { privileged: true } }]
  const debugged = { object: aPod({ ephemeralContainers }), oldObject: aPod(), subresource: 'ephemeralcontainers' }
  assert.ok(refused((await ask({ enforce: 'baseline' }, debugged)).admissionResult))
  assert.equal(
    (await ask({ enforce: 'baseline' }, { object: otherImage, oldObject: old, subresource: 'status' })).admissionResult,
    'allowed',
  )
})

test('users, namespaces and runtime classes can be exempt', async () => {
  const configuration = { exemptions: { usernames: ['root'], namespaces: ['kube-system'], runtimeClasses: ['kata'] } }
  const exempt = async (options: RequestOptions) =>
    (await ask({ enforce: 'baseline' }, options, 'pods', configuration)).audit[label('exempt')]
  assert.equal(await exempt({ object: aPod(privileged), user: 'root' }), 'user')
  assert.equal(await exempt({ object: aPod(privileged), namespace: 'kube-system' }), 'namespace')
  assert.equal(await exempt({ object: aPod({ ...privileged, runtimeClassName: 'kata' }) }), 'runtimeClass')
})

test('a configuration that means nothing keeps the server from starting', () => {
  const start = (configuration: unknown) => () => podSecurity(testContext({}, { configuration }))
  assert.throws(start({ defaults: { enforce: 'strict' } }), /defaults.enforce: Invalid value: "strict": must be one of/)
  assert.throws(start({ defaults: { 'warn-version': '1.2' } }), /defaults.warn-version: Invalid value: "1.2": must be "latest" or "v1.x"/)
  assert.throws(start({ exemptions: { namespaces: ['a', 'a', 'B'] } }), /exemptions.namespaces\[1\]: Duplicate value: "a".*namespaces\[2\]/)
  assert.throws(start({ exemptions: { usernames: [''] } }), /username must not be empty/)
})

const restrictedLatest = { level: 'restricted', minor: latest } as const
const privilegedLatest = { level: 'privileged', minor: latest } as const
const defaults = { enforce: privilegedLatest, audit: privilegedLatest, warn: privilegedLatest }

test('what labels cannot say is enforced strictly and recorded nowhere', () => {
  const { policy, errors } = policyOf(labelsOf({ enforce: 'x', 'enforce-version': 'v2.0', audit: 'y', warn: 'z' }), defaults)
  assert.deepEqual(policy, { enforce: restrictedLatest, audit: privilegedLatest, warn: privilegedLatest })
  assert.deepEqual(
    errors.map(({ field }) => field),
    ['enforce', 'enforce-version', 'audit', 'warn'].map((name) => `metadata.labels[${label(name)}]`),
  )
})

test('who enforces more is warned of as much, unless warnings are set', () => {
  const warnOf = (labels: Record<string, string>) => policyOf(labelsOf(labels), defaults).policy.warn
  assert.deepEqual(warnOf({ enforce: 'restricted', 'enforce-version': 'v1.30' }), { level: 'restricted', minor: 30 })
  assert.deepEqual(warnOf({ enforce: 'restricted', 'warn-version': 'v1.20' }), { level: 'restricted', minor: 20 })
  assert.deepEqual(warnOf({ enforce: 'restricted', warn: 'baseline' }), { level: 'baseline', minor: latest })
})

async function relabel(labels: Record<string, string>, before: Record<string, string>, pods: object[], configuration?: unknown) {
  const request = requestFor('namespaces', { object: namespace(labels), oldObject: namespace(before) })
  await admit(podSecurity(testContext({ pods }, { configuration })), request)
  return request.warnings
}

test('new labels of a namespace are compared with its pods', async () => {
  const owned = (name: string, uid: string) =>
    aPod(privileged, { name, ownerReferences: [{ apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'r', uid, controller: true }] })
  const pods = [
    aPod(privileged, { name: 'b' }),
    owned('d', '1'),
    owned('a', '1'),
    aPod({ hostNetwork: true }, { name: 'host' }),
    aPod({}, { name: 'fine' }),
  ]
  assert.deepEqual(await relabel({ enforce: 'baseline' }, {}, pods), [
    'existing pods in namespace "ns" violate the new PodSecurity enforce level "baseline:latest"',
    'a (and 2 other pods): privileged',
    'host: host namespaces',
  ])
  assert.deepEqual(await relabel({ enforce: 'baseline' }, { enforce: 'restricted' }, pods), [], 'a lower level needs no look')
  assert.deepEqual(await relabel({ enforce: 'privileged' }, { enforce: 'baseline' }, pods), [])
  assert.deepEqual(await relabel({ enforce: 'baseline', warn: 'baseline' }, { enforce: 'baseline' }, pods), [])
  assert.equal((await relabel({ enforce: 'baseline', 'enforce-version': 'v1.10' }, { enforce: 'baseline' }, pods)).length, 3)
  const many = Array.from({ length: 3001 }, (_, index) => aPod({}, { name: `p${index}` }))
  assert.deepEqual(await relabel({ enforce: 'baseline' }, {}, many), [
    'new PodSecurity enforce level only checked against the first 3000 of 3001 existing pods',
  ])
})

test('labels of an exempt namespace are told to be in vain', async () => {
  const configuration = { exemptions: { namespaces: ['ns'] } }
  assert.deepEqual(await relabel({ enforce: 'baseline', audit: 'restricted', 'audit-version': 'v1.2' }, {}, [], configuration), [
    'namespace "ns" is exempt from Pod Security, and the policy (enforce=baseline:latest, audit=restricted:v1.2) will be ignored',
  ])
})

test('labels that mean nothing are refused, unless they were there', async () => {
  const plugin = podSecurity(testContext())
  const wrong = namespace({ enforce: 'nope' })
  const refusal = `422 Namespace "ns" is invalid: metadata.labels[${label('enforce')}]: Invalid value: "nope": must be one of privileged, baseline, restricted`
  assert.equal(await admissionResult(plugin, requestFor('namespaces', { object: wrong })), refusal)
  assert.equal(await admissionResult(plugin, requestFor('namespaces', { object: wrong, oldObject: namespace({}) })), refusal)
  assert.equal(await admissionResult(plugin, requestFor('namespaces', { object: wrong, oldObject: wrong })), 'allowed')
})
