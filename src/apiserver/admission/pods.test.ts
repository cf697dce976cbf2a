/** Plugins that look at one pod: what they add, and what they refuse. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { V1Pod } from '#api/core/v1/types.gen.ts'
import type { AdmissionPluginFactory } from '#apiserver/admission/admission.ts'
import { alwaysDeny } from '#apiserver/admission/always-deny.ts'
import { alwaysPullImages } from '#apiserver/admission/always-pull-images.ts'
import { defaultTolerationSeconds } from '#apiserver/admission/default-toleration-seconds.ts'
import { extendedResourceToleration } from '#apiserver/admission/extended-resource-toleration.ts'
import { limitPodHardAntiAffinityTopology } from '#apiserver/admission/limit-pod-hard-anti-affinity-topology.ts'
import { podNodeSelector } from '#apiserver/admission/pod-node-selector.ts'
import { podPreset } from '#apiserver/admission/pod-preset.ts'
import { podTolerationRestriction } from '#apiserver/admission/pod-toleration-restriction.ts'
import { podTopologyLabels } from '#apiserver/admission/pod-topology-labels.ts'
import { priority } from '#apiserver/admission/priority.ts'
import { Rounds } from '#apiserver/admission/reinvocation.ts'
import { runtimeClass } from '#apiserver/admission/runtime-class.ts'
import { securityContextDeny } from '#apiserver/admission/security-context-deny.ts'
import { admissionResultOf, admit, aPod, requestFor, testContext } from '#apiserver/admission/testing/admission.ts'
import { defined } from '#base/defined.ts'

type Objects = Record<string, readonly object[]>

const admitted = (make: AdmissionPluginFactory, objects: Objects, pod: object, configuration?: unknown) =>
  admit<V1Pod>(make(testContext(objects, { configuration })), requestFor('pods', { object: pod }))

const refused = (make: AdmissionPluginFactory, objects: Objects, pod: object, configuration?: unknown) =>
  admissionResultOf(make, testContext(objects, { configuration }), 'pods', { object: pod })

test('DefaultTolerationSeconds adds what the pod does not tolerate itself', async () => {
  const keysOf = async (tolerations: object[] | undefined) => {
    const pod = await admitted(defaultTolerationSeconds, {}, aPod(tolerations ? { tolerations } : {}))
    return pod.spec.tolerations?.map(({ key, tolerationSeconds }) => `${key ?? ''} ${tolerationSeconds ?? ''}`)
  }
  const [notReady, unreachable] = ['node.kubernetes.io/not-ready', 'node.kubernetes.io/unreachable']
  assert.deepEqual(await keysOf(undefined), [`${notReady} 300`, `${unreachable} 300`])
  assert.deepEqual(await keysOf([{ key: unreachable, effect: 'NoExecute', tolerationSeconds: 5 }]), [`${unreachable} 5`, `${notReady} 300`])
  assert.deepEqual(await keysOf([{ operator: 'Exists' }]), [' '])
  assert.deepEqual(await keysOf([{ key: notReady, effect: 'NoSchedule' }]), [`${notReady} `, `${notReady} 300`, `${unreachable} 300`])
  const { spec } = await admitted(defaultTolerationSeconds, {}, aPod(), { notReadySeconds: 1, unreachableSeconds: 2 })
  assert.deepEqual(
    spec.tolerations?.map(({ tolerationSeconds }) => tolerationSeconds),
    [1, 2],
  )
})

const priorityClasses = {
  'priorityclasses.scheduling.k8s.io': [
    { metadata: { name: 'high' }, value: 77, preemptionPolicy: 'Never' },
    { metadata: { name: 'usual' }, value: 5, globalDefault: true, preemptionPolicy: 'PreemptLowerPriority' },
    { metadata: { name: 'older' }, value: 9, globalDefault: true, preemptionPolicy: 'PreemptLowerPriority' },
  ],
}

test('Priority resolves the class, or takes the lowest default', async () => {
  const of = async (objects: Objects, spec: object) => {
    const { spec: got } = await admitted(priority, objects, aPod(spec))
    return [got.priorityClassName, got.priority, got.preemptionPolicy]
  }
  assert.deepEqual(await of({}, {}), [undefined, 0, 'PreemptLowerPriority'])
  assert.deepEqual(await of(priorityClasses, {}), ['usual', 5, 'PreemptLowerPriority'])
  assert.deepEqual(await of(priorityClasses, { priorityClassName: 'high' }), ['high', 77, 'Never'])
  assert.deepEqual(await of(priorityClasses, { priorityClassName: 'high', priority: 77 }), ['high', 77, 'Never'])
})

test('Priority refuses classes that are missing and numbers that differ', async () => {
  const computed = 'priority admission controller computed'
  const cases: [object, string][] = [
    [{ priorityClassName: 'no' }, 'no PriorityClass with name no was found'],
    [
      { priorityClassName: 'high', priority: 5 },
      `the integer value of priority (5) must not be provided in pod spec; ${computed} 77 from the given PriorityClass name`,
    ],
    [
      { priorityClassName: 'high', preemptionPolicy: 'PreemptLowerPriority' },
      `the string value of PreemptionPolicy (PreemptLowerPriority) must not be provided in pod spec; ${computed} Never from the given PriorityClass name`,
    ],
  ]
  for (const [spec, why] of cases) assert.equal(await refused(priority, priorityClasses, aPod(spec)), `403 pods "p" is forbidden: ${why}`)
})

test('Priority keeps what it computed when an update leaves it out', async () => {
  const request = requestFor('pods', { object: aPod(), oldObject: aPod({ priority: 7, preemptionPolicy: 'Never' }) })
  const { spec } = await admit<V1Pod>(priority(testContext()), request)
  assert.deepEqual([spec.priority, spec.preemptionPolicy], [7, 'Never'])
})

test('there is one default priority class', async () => {
  const context = testContext({ 'priorityclasses.scheduling.k8s.io': [{ metadata: { name: 'usual' }, value: 5, globalDefault: true }] })
  const of = (name: string, oldObject?: object) =>
    admissionResultOf(priority, context, 'priorityclasses.scheduling.k8s.io', {
      object: { metadata: { name }, value: 1, globalDefault: true },
      ...defined({ oldObject }),
    })
  const why = 'PriorityClass usual is already marked as default. Only one default can exist'
  assert.equal(await of('other'), `403 priorityclasses.scheduling.k8s.io "other" is forbidden: ${why}`)
  assert.equal(await of('usual', { metadata: { name: 'usual' } }), 'allowed')
})

const runtimeClasses = {
  'runtimeclasses.node.k8s.io': [
    {
      metadata: { name: 'kata' },
      overhead: { podFixed: { memory: '64Mi' } },
      scheduling: { nodeSelector: { runtime: 'kata' }, tolerations: [{ key: 'kata', operator: 'Exists' }] },
    },
    { metadata: { name: 'plain' } },
  ],
}

test('RuntimeClass gives pods its overhead, selector and tolerations', async () => {
  const tolerations = [{ key: 'kata', operator: 'Equal', value: 'x', effect: 'NoSchedule' }]
  const { spec } = await admitted(runtimeClass, runtimeClasses, aPod({ runtimeClassName: 'kata', nodeSelector: { a: 'b' }, tolerations }))
  assert.deepEqual(spec.overhead, { memory: '64Mi' })
  assert.deepEqual(spec.nodeSelector, { a: 'b', runtime: 'kata' })
  assert.deepEqual(spec.tolerations, [{ key: 'kata', operator: 'Exists' }])
})

test('RuntimeClass refuses classes that are missing and pods that contradict them', async () => {
  const differs = "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead"
  const cases: [object, string][] = [
    [{ runtimeClassName: 'no' }, 'pod rejected: RuntimeClass "no" not found'],
    [{ runtimeClassName: 'kata', overhead: { memory: '1Mi' } }, differs],
    [
      { runtimeClassName: 'kata', nodeSelector: { runtime: 'runc' } },
      'conflict: runtimeClass.scheduling.nodeSelector[runtime] = kata; pod.spec.nodeSelector[runtime] = runc',
    ],
    [
      { runtimeClassName: 'plain', overhead: { memory: '1Mi' } },
      'pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead',
    ],
    [{ overhead: { memory: '1Mi' } }, 'pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead'],
  ]
  for (const [spec, why] of cases)
    assert.equal(await refused(runtimeClass, runtimeClasses, aPod(spec)), `403 pods "p" is forbidden: ${why}`)
  assert.equal(await refused(runtimeClass, runtimeClasses, aPod({ runtimeClassName: 'kata', overhead: { memory: '65536Ki' } })), 'allowed')
})

test('ExtendedResourceToleration tolerates taints named after requested devices', async () => {
  const resources = { requests: { 'example.com/gpu': '1', cpu: '1', 'a.com/b': '2' } }
  const { spec } = await admitted(extendedResourceToleration, {}, aPod({ containers: [{ name: 'c', resources }] }))
  assert.deepEqual(spec.tolerations, [
    { key: 'a.com/b', operator: 'Exists', effect: 'NoSchedule' },
    { key: 'example.com/gpu', operator: 'Exists', effect: 'NoSchedule' },
  ])
})

test('PodTopologyLabels copies zone and region of the node to pods and bindings', async () => {
  const labels = { 'topology.kubernetes.io/zone': 'z', 'topology.kubernetes.io/region': 'r', other: 'x' }
  const nodes = { nodes: [{ metadata: { name: 'n', labels } }] }
  const copied = { 'topology.kubernetes.io/zone': 'z', 'topology.kubernetes.io/region': 'r' }
  const pod = await admitted(
    podTopologyLabels,
    nodes,
    aPod({ nodeName: 'n' }, { labels: { app: 'a', 'topology.kubernetes.io/zone': 'old' } }),
  )
  assert.deepEqual(pod.metadata.labels, { app: 'a', ...copied })
  assert.equal((await admitted(podTopologyLabels, nodes, aPod())).metadata.labels, undefined)
  const binding = { metadata: { name: 'p' }, target: { kind: 'Node', name: 'n' } }
  await admit(podTopologyLabels(testContext(nodes)), requestFor('pods', { object: binding, subresource: 'binding', kind: 'Binding' }))
  assert.deepEqual((binding.metadata as { labels?: object }).labels, copied)
})

test('PodNodeSelector merges the selector of the namespace and keeps to its list', async () => {
  const namespaces = {
    namespaces: [{ metadata: { name: 'ns', annotations: { 'scheduler.alpha.kubernetes.io/node-selector': 'zone=a, disk=ssd' } } }],
  }
  const { spec } = await admitted(podNodeSelector, namespaces, aPod({ nodeSelector: { app: 'x' } }))
  assert.deepEqual(spec.nodeSelector, { zone: 'a', disk: 'ssd', app: 'x' })
  assert.equal(
    await refused(podNodeSelector, namespaces, aPod({ nodeSelector: { zone: 'b' } })),
    '403 pods "p" is forbidden: pod node label selector conflicts with its namespace node label selector',
  )
  const plain = { namespaces: [{ metadata: { name: 'ns' } }] }
  const configuration = { podNodeSelectorPluginConfig: { clusterDefaultNodeSelector: 'all=yes', ns: 'all=yes' } }
  assert.deepEqual((await admitted(podNodeSelector, plain, aPod(), configuration)).spec.nodeSelector, { all: 'yes' })
  assert.equal(
    await refused(podNodeSelector, plain, aPod({ nodeSelector: { other: 'x' } }), configuration),
    '403 pods "p" is forbidden: pod node label selector labels conflict with its namespace whitelist',
  )
})

test('PodTolerationRestriction adds tolerations of the namespace and refuses others', async () => {
  const of = (annotations: Record<string, string>) => ({ namespaces: [{ metadata: { name: 'ns', annotations } }] })
  const toleration = { key: 'a', operator: 'Exists' }
  const defaults = of({ 'scheduler.alpha.kubernetes.io/defaultTolerations': JSON.stringify([toleration]) })
  assert.deepEqual((await admitted(podTolerationRestriction, defaults, aPod())).spec.tolerations, [toleration])
  const burstable = aPod({ containers: [{ name: 'c', resources: { requests: { cpu: '1' } } }] })
  assert.deepEqual((await admitted(podTolerationRestriction, of({}), burstable)).spec.tolerations, [
    { key: 'node.kubernetes.io/memory-pressure', operator: 'Exists', effect: 'NoSchedule' },
  ])
  const allowed = of({ 'scheduler.alpha.kubernetes.io/tolerationsWhitelist': JSON.stringify([toleration]) })
  assert.equal(
    await refused(podTolerationRestriction, allowed, aPod({ tolerations: [{ key: 'a', operator: 'Equal', value: 'x' }] })),
    'allowed',
  )
  for (const text of ['5', '{}', '[5]', '[{"key":5}]', '[{"tolerationSeconds":"x"}]']) {
    const broken = of({ 'scheduler.alpha.kubernetes.io/defaultTolerations': text })
    assert.match(
      await refused(podTolerationRestriction, broken, aPod()),
      /^500 annotation .*defaultTolerations: .*is not a list of tolerations/,
    )
  }
  const conflict = 'pod tolerations (possibly merged with namespace default tolerations) conflict with its'
  const other = aPod({ tolerations: [{ key: 'b', operator: 'Exists' }] })
  assert.equal(await refused(podTolerationRestriction, allowed, other), `500 ${conflict} namespace whitelist`)
  assert.equal(await refused(podTolerationRestriction, of({}), other, { whitelist: [toleration] }), `500 ${conflict} cluster whitelist`)
})

test('AlwaysPullImages sets the policy of every container, but lets running pods alone', async () => {
  const { spec } = await admitted(
    alwaysPullImages,
    {},
    aPod({ initContainers: [{ name: 'i', image: 'x' }], volumes: [{ name: 'v', image: { reference: 'y' } }] }),
  )
  assert.deepEqual([spec.initContainers?.[0]?.imagePullPolicy, spec.containers[0]?.imagePullPolicy], ['Always', 'Always'])
  assert.equal(spec.volumes?.[0]?.image?.pullPolicy, 'Always')
  const plugin = alwaysPullImages()
  const same = requestFor('pods', { object: aPod(), oldObject: aPod() })
  plugin.mutate?.(same, new Rounds())
  assert.equal((same.object as V1Pod).spec.containers[0]?.imagePullPolicy, undefined)
  const changed = aPod({ containers: [{ name: 'c', image: 'new', imagePullPolicy: 'Never' }] })
  assert.throws(
    () => plugin.validate?.(requestFor('pods', { object: changed, oldObject: aPod() })),
    /pods "p" is forbidden: spec.containers\[0\].imagePullPolicy: Unsupported value: "Never": supported values: "Always"/,
  )
})

test('LimitPodHardAntiAffinityTopology allows the hostname only', async () => {
  const of = (topologyKey: string) =>
    aPod({ affinity: { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey }] } } })
  assert.equal(await refused(limitPodHardAntiAffinityTopology, {}, of('kubernetes.io/hostname')), 'allowed')
  assert.equal(
    await refused(limitPodHardAntiAffinityTopology, {}, of('zone')),
    '403 pods "p" is forbidden: affinity.PodAntiAffinity.RequiredDuringScheduling has TopologyKey zone but only key kubernetes.io/hostname is allowed',
  )
})

test('SecurityContextDeny refuses to choose identities', async () => {
  const cases: [object, string][] = [
    [{ securityContext: { supplementalGroups: [1] } }, 'pod.Spec.SecurityContext.SupplementalGroups is forbidden'],
    [{ securityContext: { seLinuxOptions: {} } }, 'pod.Spec.SecurityContext.SELinuxOptions is forbidden'],
    [{ securityContext: { runAsUser: 0 } }, 'pod.Spec.SecurityContext.RunAsUser is forbidden'],
    [{ securityContext: { fsGroup: 1 } }, 'pod.Spec.SecurityContext.FSGroup is forbidden'],
    [{ initContainers: [{ name: 'i', securityContext: { runAsUser: 1 } }] }, 'SecurityContext.RunAsUser is forbidden'],
    [{ containers: [{ name: 'c', securityContext: { seLinuxOptions: {} } }] }, 'SecurityContext.SELinuxOptions is forbidden'],
  ]
  for (const [spec, why] of cases) assert.equal(await refused(securityContextDeny, {}, aPod(spec)), `403 pods "p" is forbidden: ${why}`)
  assert.equal(await refused(securityContextDeny, {}, aPod({ securityContext: { runAsNonRoot: true } })), 'allowed')
})

test('AlwaysDeny denies', async () => {
  assert.equal(await refused(alwaysDeny, {}, aPod()), '403 pods "p" is forbidden: admission control is denying all modifications')
})

test('PodPreset injects environment and volumes, or nothing if they contradict', async () => {
  const preset = {
    metadata: { name: 'db', namespace: 'ns' },
    spec: {
      selector: { matchLabels: { app: 'web' } },
      env: [{ name: 'DB', value: 'x' }],
      volumes: [{ name: 'v', emptyDir: {} }],
      volumeMounts: [{ name: 'v', mountPath: '/v' }],
      envFrom: [{ configMapRef: { name: 'c' } }],
    },
  }
  const presets = { 'podpresets.settings.k8s.io': [preset] }
  const labels = { labels: { app: 'web' } }
  const { spec, metadata } = await admitted(podPreset, presets, aPod({}, labels))
  assert.deepEqual(spec.containers[0]?.env, [{ name: 'DB', value: 'x' }])
  assert.deepEqual(spec.containers[0]?.envFrom, [{ configMapRef: { name: 'c' } }])
  assert.deepEqual(spec.volumes, [{ name: 'v', emptyDir: {} }])
  assert.deepEqual(Object.keys(metadata.annotations ?? {}), ['podpreset.admission.kubernetes.io/podpreset-db'])
  const contradicting = aPod({ containers: [{ name: 'c', env: [{ name: 'DB', value: 'other' }] }] }, labels)
  assert.equal((await admitted(podPreset, presets, contradicting)).spec.volumes, undefined)
  const excluded = aPod({}, { ...labels, annotations: { 'podpreset.admission.kubernetes.io/exclude': 'true' } })
  assert.equal((await admitted(podPreset, presets, excluded)).spec.volumes, undefined)
  assert.equal((await admitted(podPreset, {}, aPod({}, labels))).spec.volumes, undefined)
})
