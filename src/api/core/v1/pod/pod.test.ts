import assert from 'node:assert/strict'
import { test } from 'node:test'
import { podResource } from '#api/core/v1/pod/pod.ts'
import type { V1Pod, V1PodSpec, V1PodStatus } from '#api/core/v1/types.gen.ts'
import { FeatureGates } from '#api/meta/feature-gates.ts'
import { tryCreate, tryRow, tryUpdate } from '#api/testing/try-kind.ts'
import { defined } from '#base/defined.ts'

const { isEnabled } = new FeatureGates()

const made = (spec: object = {}, status: V1PodStatus = {}): V1Pod => {
  const given = {
    metadata: { name: 'a', namespace: 'default', labels: { app: 'web' } },
    spec: { containers: [{ name: 'c', image: 'nginx:1' }], ...spec } as V1PodSpec,
  }
  const { object } = tryCreate(podResource, given, { isEnabled })
  return { ...object, metadata: { ...object.metadata, resourceVersion: '1', generation: 1 }, status: { ...object.status, ...status } }
}

const changed = (pod: V1Pod, change: (spec: V1PodSpec) => void): V1Pod => {
  const next = structuredClone(pod)
  change(next.spec as V1PodSpec)
  return next
}

const errorsOfUpdate = (prev: V1Pod, change: (spec: V1PodSpec) => void, subresource?: string) =>
  tryUpdate(podResource, prev, changed(prev, change), { isEnabled, ...defined({ subresource }) }).errors

test('a new pod is pending, and of the class its resources make it', () => {
  assert.deepEqual(made().status, { phase: 'Pending', qosClass: 'BestEffort' })
  const limits = { cpu: '1', memory: '1Gi' }
  assert.equal(made({ containers: [{ name: 'c', image: 'i', resources: { limits } }] }).status?.qosClass, 'Guaranteed')
  assert.equal(made({ containers: [{ name: 'c', image: 'i', resources: { requests: { cpu: '1' } } }] }).status?.qosClass, 'Burstable')
})

test('gates hold a new pod back, and say so', () => {
  const [condition] = made({ schedulingGates: [{ name: 'x/y' }] }).status?.conditions ?? []
  assert.deepEqual([condition?.type, condition?.status, condition?.reason], ['PodScheduled', 'False', 'SchedulingGated'])
})

test('keys of labels become requirements with the values of this pod', () => {
  const spread = { maxSkew: 1, topologyKey: 'z', whenUnsatisfiable: 'DoNotSchedule', labelSelector: {}, matchLabelKeys: ['app', 'none'] }
  const { topologySpreadConstraints } = made({ topologySpreadConstraints: [spread] }).spec ?? {}
  assert.deepEqual(topologySpreadConstraints?.[0]?.labelSelector, { matchExpressions: [{ key: 'app', operator: 'In', values: ['web'] }] })
})

test('a pod can be changed in few ways', () => {
  const pod = made({ tolerations: [{ key: 'a', operator: 'Exists' }], activeDeadlineSeconds: 100 })
  const allowed: [string, (spec: V1PodSpec) => void][] = [
    ['a newer image', (spec) => Object.assign(spec.containers[0] ?? {}, { image: 'nginx:2' })],
    ['a nearer deadline', (spec) => Object.assign(spec, { activeDeadlineSeconds: 50 })],
    ['one more toleration', (spec) => spec.tolerations?.push({ key: 'b', operator: 'Exists' })],
  ]
  for (const [name, change] of allowed) assert.deepEqual(errorsOfUpdate(pod, change), [], name)
  const refused: [string, (spec: V1PodSpec) => void, string][] = [
    [
      'a further deadline',
      (spec) => Object.assign(spec, { activeDeadlineSeconds: 200 }),
      'spec.activeDeadlineSeconds: Invalid value: 200: must be less than or equal to previous value',
    ],
    [
      'one container more',
      (spec) => spec.containers.push({ name: 'd', image: 'i' }),
      'spec.containers: Forbidden: pod updates may not add or remove containers',
    ],
    [
      'a toleration gone',
      (spec) => Object.assign(spec, { tolerations: [] }),
      'spec.tolerations: Forbidden: existing toleration can not be modified except its tolerationSeconds',
    ],
    [
      'a new gate',
      (spec) => Object.assign(spec, { schedulingGates: [{ name: 'g' }] }),
      "spec.schedulingGates[0].name: Forbidden: only deletion is allowed, but found new scheduling gate 'g'",
    ],
  ]
  for (const [name, change, error] of refused) assert.equal(errorsOfUpdate(pod, change)[0], error, name)
})

test('any other change is refused with the difference', () => {
  const [error = ''] = errorsOfUpdate(made(), (spec) => Object.assign(spec, { hostname: 'h' }))
  assert.match(error, /^spec: Forbidden: pod updates may not change fields other than `spec\.containers\[\*\]\.image`,/)
  assert.match(error, /\n@@ -\d+,7 \+\d+,7 @@\n(?: .*\n){3}- "Hostname": "",\n\+ "Hostname": "h",\n(?: .*\n){3}$/)
})

test('where a gated pod may run can be narrowed', () => {
  const pod = made({ schedulingGates: [{ name: 'g' }], nodeSelector: { a: 'b' } })
  assert.deepEqual(
    errorsOfUpdate(pod, (spec) => Object.assign(spec, { nodeSelector: { a: 'b', c: 'd' } })),
    [],
  )
  assert.deepEqual(
    errorsOfUpdate(pod, (spec) => Object.assign(spec, { nodeSelector: { c: 'd' } })),
    ['spec.nodeSelector: Invalid value: {"c":"d"}: only additions to spec.nodeSelector are allowed (no mutations or deletions)'],
  )
})

test('resizing touches cpu and memory alone', () => {
  const pod = made({ containers: [{ name: 'c', image: 'i', resources: { requests: { cpu: '1', memory: '1Gi' } } }] })
  const resources = (spec: V1PodSpec) => (spec.containers[0]?.resources ?? {}) as { requests?: object }
  const resize = (requests: object) => errorsOfUpdate(pod, (spec) => Object.assign(resources(spec), { requests }), 'resize')
  assert.deepEqual(resize({ cpu: '2', memory: '1Gi' }), [])
  assert.deepEqual(resize({ cpu: '2' }), ['spec.containers[0].resources.requests: Forbidden: resource requests cannot be removed'])
  assert.deepEqual(resize({ cpu: '1', memory: '1Gi', 'ephemeral-storage': '1Gi' }), [
    'spec: Forbidden: only cpu and memory resources are mutable',
  ])
  const next = changed(pod, (spec) => Object.assign(resources(spec), { requests: { cpu: '2', memory: '1Gi' } }))
  assert.equal(tryUpdate(podResource, pod, next, { isEnabled, subresource: 'resize' }).object.metadata.generation, 2)
})

test('containers can be added to look into a pod, and stay as they are', () => {
  const add = (spec: V1PodSpec) => Object.assign(spec, { ephemeralContainers: [{ name: 'e', image: 'i' }] })
  assert.deepEqual(errorsOfUpdate(made(), add, 'ephemeralcontainers'), [])
  const pod = tryUpdate(podResource, made(), changed(made(), add), { isEnabled, subresource: 'ephemeralcontainers' }).object
  assert.deepEqual(
    errorsOfUpdate(pod, (spec) => Object.assign(spec, { ephemeralContainers: [] }), 'ephemeralcontainers'),
    ['spec.ephemeralContainers: Forbidden: existing ephemeral containers "e" may not be removed\n'],
  )
})

test('what ended for good does not come back', () => {
  const ended = { name: 'c', image: 'i', imageID: 'i', ready: false, restartCount: 0, state: { terminated: { exitCode: 0 } } }
  const running = { ...ended, state: { running: {} } }
  const update = (restartPolicy: string) => {
    const prev = made({ restartPolicy }, { containerStatuses: [ended] })
    const next = { ...prev, status: { ...prev.status, containerStatuses: [running] } }
    return tryUpdate(podResource, prev, next, { isEnabled, subresource: 'status' }).errors
  }
  assert.deepEqual(update('Always'), [])
  assert.deepEqual(update('Never'), ['status.containerStatuses[0].state: Forbidden: may not be transitioned to non-terminated state'])
})

test('a pod that no node runs is deleted at once', () => {
  assert.equal(podResource.prepareForDelete?.(made(), undefined), 0)
  assert.equal(podResource.prepareForDelete?.(made({ nodeName: 'n' }), undefined), 30)
  assert.equal(podResource.prepareForDelete?.(made({ nodeName: 'n' }), 5), 5)
  assert.equal(podResource.prepareForDelete?.(made({ nodeName: 'n' }, { phase: 'Failed' }), 5), 0)
})

test('the table tells the state of a pod in a word', () => {
  const status = (name: string, state: object, more: object = {}) => ({
    name,
    image: 'i',
    imageID: 'i',
    ready: false,
    restartCount: 0,
    state,
    ...more,
  })
  const cases: [string, object, V1PodStatus, string, string][] = [
    ['new', {}, {}, '0/1', 'Pending'],
    ['running', {}, { phase: 'Running', containerStatuses: [status('c', { running: {} }, { ready: true })] }, '1/1', 'Running'],
    [
      'crashing',
      {},
      { phase: 'Running', containerStatuses: [status('c', { waiting: { reason: 'CrashLoopBackOff' } })] },
      '0/1',
      'CrashLoopBackOff',
    ],
    [
      'ended',
      {},
      { phase: 'Succeeded', containerStatuses: [status('c', { terminated: { exitCode: 0, reason: 'Completed' } })] },
      '0/1',
      'Completed',
    ],
    ['killed', {}, { phase: 'Failed', containerStatuses: [status('c', { terminated: { exitCode: 137, signal: 9 } })] }, '0/1', 'Signal:9'],
    [
      'initializing',
      {
        initContainers: [
          { name: 'i', image: 'i' },
          { name: 'j', image: 'j' },
        ],
      },
      { initContainerStatuses: [status('i', { terminated: { exitCode: 0 } }), status('j', { running: {} })] },
      '0/1',
      'Init:1/2',
    ],
    [
      'failing to initialize',
      { initContainers: [{ name: 'i', image: 'i' }] },
      { initContainerStatuses: [status('i', { terminated: { exitCode: 3 } })] },
      '0/1',
      'Init:ExitCode:3',
    ],
    [
      'with a sidecar',
      { initContainers: [{ name: 'i', image: 'i', restartPolicy: 'Always' }] },
      {
        phase: 'Running',
        initContainerStatuses: [status('i', { running: {} }, { started: true, ready: true })],
        containerStatuses: [status('c', { running: {} }, { ready: true })],
      },
      '2/2',
      'Running',
    ],
    ['gated', { schedulingGates: [{ name: 'g' }] }, {}, '0/1', 'SchedulingGated'],
    ['evicted', {}, { phase: 'Failed', reason: 'Evicted' }, '0/1', 'Evicted'],
  ]
  for (const [name, spec, given, ready, state] of cases) {
    const row = tryRow(podResource, made(spec, given))
    assert.deepEqual([row['Ready'], row['Status']], [ready, state], name)
  }
  const leaving = made({}, { phase: 'Running' })
  leaving.metadata.deletionTimestamp = '2026-01-01T00:00:00Z'
  assert.equal(tryRow(podResource, leaving)['Status'], 'Terminating')
  const lastState = { terminated: { exitCode: 1, finishedAt: '2026-01-01T00:00:00Z' } }
  const restarted = made({}, { containerStatuses: [status('c', { running: {} }, { restartCount: 3, lastState })] })
  assert.equal(tryRow(podResource, restarted, Date.parse('2026-01-01T00:05:00Z'))['Restarts'], '3 (5m ago)')
})
