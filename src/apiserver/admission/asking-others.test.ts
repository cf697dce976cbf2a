/** Plugins that ask the authorizer, a service, or the clock. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { V1Pod } from '#api/core/v1/types.gen.ts'
import { eventRateLimit } from '#apiserver/admission/event-rate-limit.ts'
import { imagePolicyWebhook } from '#apiserver/admission/image-policy-webhook.ts'
import { ownerReferencesPermissionEnforcement } from '#apiserver/admission/owner-references-permission-enforcement.ts'
import { podSecurityPolicy } from '#apiserver/admission/pod-security-policy/pod-security-policy.ts'
import { admissionResult, admit, aPod, authorizerOf, requestFor, testContext } from '#apiserver/admission/testing/admission.ts'
import { defined } from '#base/defined.ts'

const owner = (blockOwnerDeletion: boolean, kind = 'ReplicaSet') => ({
  apiVersion: 'apps/v1',
  kind,
  name: 'r',
  uid: 'u',
  blockOwnerDeletion,
})

test('OwnerReferencesPermissionEnforcement', async (t) => {
  const ask = (may: string[], owners: object[], before?: object[]) => {
    const authorizer = authorizerOf(({ verb, group, resource, subresource, name, namespace }) =>
      may.includes([verb, group, resource, subresource, name, namespace].join(' ')),
    )
    const request = requestFor('pods', {
      object: aPod({}, { ownerReferences: owners }),
      ...defined({ oldObject: before ? aPod({}, { ownerReferences: before }) : undefined }),
    })
    return admissionResult(ownerReferencesPermissionEnforcement(testContext({}, { authorizer })), request)
  }
  const mayDelete = 'delete  pods  p ns'
  const mayFinalize = 'update apps replicasets finalizers r ns'
  const prefix = '403 pods "p" is forbidden: '
  const cannotDelete = `${prefix}cannot set an ownerRef on a resource you can't delete: , <nil>`
  const cannotBlock = `${prefix}cannot set blockOwnerDeletion if an ownerReference refers to a resource you can't set finalizers on: , <nil>`

  await t.test('a new object may have owners', async () => assert.equal(await ask([], [owner(false)]), 'allowed'))
  await t.test('owners that stay need no permission', async () => assert.equal(await ask([], [owner(true)], [owner(true)]), 'allowed'))
  await t.test('another owner takes the permission to delete', async () => {
    assert.equal(await ask([], [owner(false)], []), cannotDelete)
    assert.equal(await ask([mayDelete], [owner(false)], []), 'allowed')
  })
  await t.test('holding up an owner takes the permission to finalize it', async () => {
    assert.equal(await ask([], [owner(true)]), cannotBlock)
    assert.equal(await ask([mayFinalize], [owner(true)]), 'allowed')
    assert.equal(await ask(['update * * finalizers * '], [owner(true)]), 'allowed')
    assert.equal(await ask([mayDelete], [owner(true)], [owner(false)]), cannotBlock)
    assert.match(
      await ask([], [owner(true, 'Nope')]),
      /cannot find RESTMapping for APIVersion apps\/v1 Kind Nope: no matches for kind "Nope"/,
    )
  })
})

test('EventRateLimit lets a burst through, and then as many a second as it is told', async () => {
  const limits = [
    { type: 'Namespace', qps: 1, burst: 2 },
    { type: 'Server', qps: 100, burst: 100 },
  ]
  const context = testContext({}, { configuration: { limits } })
  const plugin = eventRateLimit(context)
  const send = (namespace: string, isDryRun = false) =>
    admissionResult(plugin, requestFor('events', { object: { involvedObject: {} }, namespace, isDryRun }))
  const tooMany = '429 Too many requests: limit reached on type Namespace for key a'
  assert.deepEqual([await send('a'), await send('a'), await send('a')], ['allowed', 'allowed', tooMany])
  assert.equal(await send('a', true), 'allowed')
  assert.equal(await send('b'), 'allowed')
  await context.clock.advance(1000)
  assert.deepEqual([await send('a'), await send('a')], ['allowed', tooMany])
})

test('EventRateLimit needs limits that make sense', () => {
  const start = (limits: unknown) => () => eventRateLimit(testContext({}, { configuration: { limits } }))
  assert.throws(start([]), /limits: Invalid value: null: must not be empty/)
  assert.throws(
    start([{ type: 'Nope', qps: 0, burst: 1 }]),
    /limits\[0\].type: Unsupported value: "Nope".*limits\[0\].qps: Invalid value: 0: must be positive/,
  )
})

test('ImagePolicyWebhook asks once about the same images', async () => {
  const asked: object[] = []
  const configuration = { imagePolicy: { kubeConfigFile: '/etc/policy', allowTTL: 60, denyTTL: 10 } }
  const context = {
    ...testContext({}, { configuration }),
    reviewWebhook: (path: string, retryDelayMs: number) => async (review: object) => {
      asked.push({ path, retryDelayMs, ...review })
      const allowed = !JSON.stringify(review).includes('evil')
      return { status: { allowed, reason: 'it is evil', auditAnnotations: { seen: 'yes' } } }
    },
  }
  const plugin = imagePolicyWebhook(context)
  const ask = (image: string) =>
    requestFor('pods', {
      object: aPod({ containers: [{ name: 'c', image }] }, { annotations: { 'a.image-policy.k8s.io/ticket': '1', other: 'x' } }),
    })
  const good = ask('good')
  assert.equal(await admissionResult(plugin, good), 'allowed')
  assert.deepEqual(good.audit, { 'imagepolicywebhook.image-policy.k8s.io/seen': 'yes' })
  assert.equal(await admissionResult(plugin, ask('good')), 'allowed')
  assert.equal(asked.length, 1)
  assert.deepEqual(asked[0], {
    path: '/etc/policy',
    retryDelayMs: 500,
    apiVersion: 'imagepolicy.k8s.io/v1alpha1',
    kind: 'ImageReview',
    metadata: {},
    spec: { containers: [{ image: 'good' }], annotations: { 'a.image-policy.k8s.io/ticket': '1' }, namespace: 'ns' },
    status: { allowed: false },
  })
  const refusal = '403 pods "p" is forbidden: image policy webhook backend denied one or more images: it is evil'
  assert.equal(await admissionResult(plugin, ask('evil')), refusal)
  await context.clock.advance(11_000)
  assert.equal(await admissionResult(plugin, ask('evil')), refusal)
  assert.equal(asked.length, 3)
})

test('ImagePolicyWebhook fails closed, or open where it is told to', async () => {
  const of = (defaultAllow: boolean) =>
    imagePolicyWebhook({
      ...testContext({}, { configuration: { imagePolicy: { kubeConfigFile: '/x', defaultAllow } } }),
      reviewWebhook: () => async () => {
        throw new Error('no route')
      },
    })
  assert.equal(await admissionResult(of(false), requestFor('pods', { object: aPod() })), '403 pods "p" is forbidden: no route')
  const open = requestFor('pods', { object: aPod() })
  const pod = await admit<V1Pod>(of(true), open)
  assert.deepEqual(open.audit, { 'imagepolicywebhook.image-policy.k8s.io/failed-open': 'true' })
  assert.deepEqual(pod.metadata.annotations, { 'alpha.image-policy.k8s.io/failed-open': 'true' })
  assert.throws(() => imagePolicyWebhook(testContext()), /needs a configuration/)
})

const anyRule = { rule: 'RunAsAny' }
const policy = (name: string, spec: object = {}) => ({
  metadata: { name },
  spec: { seLinux: anyRule, runAsUser: anyRule, fsGroup: anyRule, supplementalGroups: anyRule, volumes: ['*'], ...spec },
})

test('PodSecurityPolicy', async (t) => {
  const ask = (policies: object[], may: string[], pod: object = aPod({ serviceAccountName: 'sa' })) => {
    const authorizer = authorizerOf(({ verb, user, name }) => verb === 'use' && may.includes(`${user.name} ${name}`))
    const request = requestFor('pods', { object: pod })
    return { plugin: podSecurityPolicy(testContext({ 'podsecuritypolicies.policy': policies }, { authorizer })), request }
  }
  const all = ['jane loose', 'jane tight', 'jane changing']
  const tight = policy('tight', {
    privileged: false,
    runAsUser: { rule: 'MustRunAs', ranges: [{ min: 1000, max: 2000 }] },
    requiredDropCapabilities: ['ALL'],
    allowPrivilegeEscalation: false,
    readOnlyRootFilesystem: true,
  })
  await t.test('refuses everything while there is no policy', async () => {
    const { plugin, request } = ask([], all)
    assert.equal(
      await admissionResult(plugin, request),
      '403 pods "p" is forbidden: PodSecurityPolicy: no providers available to validate pod request',
    )
  })
  await t.test('prefers a policy that changes nothing', async () => {
    const { plugin, request } = ask([policy('loose'), policy('changing', { readOnlyRootFilesystem: true })], all)
    const pod = await admit<V1Pod>(plugin, request)
    assert.deepEqual(pod.metadata.annotations, { 'kubernetes.io/psp': 'loose' })
    assert.deepEqual(request.audit, {
      'podsecuritypolicy.policy.k8s.io/admit-policy': 'loose',
      'podsecuritypolicy.policy.k8s.io/validate-policy': 'loose',
    })
  })
  await t.test('fills in what a policy demands', async () => {
    const { plugin, request } = ask([tight], all)
    const { spec } = await admit<V1Pod>(plugin, request)
    assert.deepEqual(spec.containers[0]?.securityContext, {
      runAsUser: 1000,
      capabilities: { drop: ['ALL'] },
      readOnlyRootFilesystem: true,
      allowPrivilegeEscalation: false,
    })
  })
  await t.test('needs somebody who may use the policy: the user, or the service account', async () => {
    const alone = ask([policy('loose')], [])
    assert.equal(
      await admissionResult(alone.plugin, alone.request),
      '403 pods "p" is forbidden: PodSecurityPolicy: unable to admit pod: []',
    )
    const account = ask([policy('loose')], ['system:serviceaccount:ns:sa loose'])
    assert.equal(await admissionResult(account.plugin, account.request), 'allowed')
  })
  const refusals: [spec: object, pod: object, expected: string][] = [
    [
      {},
      { containers: [{ name: 'c', securityContext: { privileged: true } }] },
      'spec.containers[0].securityContext.privileged: Invalid value: true: Privileged containers are not allowed',
    ],
    [{}, { hostNetwork: true }, 'spec.securityContext.hostNetwork: Invalid value: true: Host network is not allowed to be used'],
    [
      {},
      { containers: [{ name: 'c', ports: [{ hostPort: 80 }] }] },
      'spec.containers[0].hostPort: Invalid value: 80: Host port 80 is not allowed to be used. Allowed ports: []',
    ],
    [
      { volumes: ['secret'] },
      { volumes: [{ name: 'v', emptyDir: {} }] },
      'spec.volumes[0]: Invalid value: "emptyDir": emptyDir volumes are not allowed to be used',
    ],
    [
      { allowedHostPaths: [{ pathPrefix: '/foo' }] },
      { volumes: [{ name: 'v', hostPath: { path: '/foobar' } }] },
      'spec.volumes[0].hostPath.pathPrefix: Invalid value: "/foobar": is not allowed to be used',
    ],
    [
      {},
      { containers: [{ name: 'c', securityContext: { capabilities: { add: ['X'] } } }] },
      'spec.containers[0].securityContext.capabilities.add: Invalid value: "X": capability may not be added',
    ],
    [
      { runAsUser: { rule: 'MustRunAsNonRoot' } },
      { securityContext: { runAsUser: 0 } },
      'spec.containers[0].securityContext.runAsUser: Invalid value: 0: running with the root UID is forbidden',
    ],
    [
      { fsGroup: { rule: 'MustRunAs', ranges: [{ min: 1, max: 2 }] } },
      { securityContext: { fsGroup: 9 } },
      'spec.securityContext.fsGroup: Invalid value: [9]: group 9 must be in the ranges: [{1 2}]',
    ],
    [
      {},
      { securityContext: { sysctls: [{ name: 'kernel.msgmax' }] } },
      'pod.spec.securityContext.sysctls[0]: Forbidden: unsafe sysctl "kernel.msgmax" is not allowed',
    ],
    [
      {},
      { securityContext: { seccompProfile: { type: 'Unconfined' } } },
      'pod.metadata.annotations[seccomp.security.alpha.kubernetes.io/pod]: Forbidden: seccomp may not be set pod.metadata.annotations[container.seccomp.security.alpha.kubernetes.io/c]: Forbidden: seccomp may not be set',
    ],
    [
      { seLinux: { rule: 'MustRunAs', seLinuxOptions: { level: 's0:c1,c2' } } },
      { securityContext: { seLinuxOptions: { level: 's0:c3' } } },
      'spec.securityContext.seLinuxOptions.level: Invalid value: "s0:c3": must be s0:c1,c2 spec.containers[0].securityContext.seLinuxOptions.level: Invalid value: "s0:c3": must be s0:c1,c2',
    ],
  ]
  for (const [spec, pod, expected] of refusals) {
    await t.test(`refuses ${JSON.stringify(pod)}`, async () => {
      const { plugin, request } = ask([policy('loose', spec)], all, aPod(pod))
      assert.equal(
        await admissionResult(plugin, request),
        `403 pods "p" is forbidden: PodSecurityPolicy: unable to admit pod: [${expected}]`,
      )
    })
  }
})
