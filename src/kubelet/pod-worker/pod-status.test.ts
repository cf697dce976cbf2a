import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { V1PodSpec, V1PodStatus } from '#api/core/v1/types.gen.ts'
import { type PodStatusOptions, podStatus } from '#kubelet/pod-worker/pod-status.ts'
import { allWell, aPod, observed, startMs } from '#kubelet/pod-worker/testing/pod-worker.ts'

const init = { name: 'init', image: 'i' }
const proxy = { name: 'proxy', image: 'i', restartPolicy: 'Always' }

type Case = {
  name: string
  spec?: Partial<V1PodSpec>
  seen?: readonly string[]
  options?: Partial<PodStatusOptions>
  phase: string
  /** Initialized, Ready, ContainersReady; a reason after a colon. */
  conditions?: readonly [string, string, string]
  state?: string
}

const none = 'False:ContainersNotReady'
const failed = 'False:PodFailed'
const done = 'False:PodCompleted'
const over = { isEnding: true, isOver: true }

const cases: Case[] = [
  {
    name: '[PW20] a pod that ends while its container is being made does not tell of an end that may be taken back',
    options: { isEnding: true },
    phase: 'Pending',
    state: 'waiting ContainerCreating',
  },
  {
    name: '[PW20] a container that was made and never started has ended with its pod',
    seen: ['app created'],
    options: over,
    phase: 'Failed',
    state: 'terminated 137',
  },
  { name: '[PW20] nothing is there yet', phase: 'Pending', conditions: ['True', none, none], state: 'waiting ContainerCreating' },
  {
    name: '[PW20] init containers are awaited',
    spec: { initContainers: [init] },
    seen: ['init running'],
    phase: 'Pending',
    conditions: ['False:ContainersNotInitialized', none, none],
    state: 'waiting PodInitializing',
  },
  { name: '[PW20] all runs', seen: ['app running'], phase: 'Running', conditions: ['True', 'True', 'True'], state: 'running' },
  {
    name: '[PW21] a container that is not ready makes the pod not ready',
    seen: ['app running'],
    options: { probes: { isStarted: () => true, isReady: () => false } },
    phase: 'Running',
    conditions: ['True', none, none],
  },
  {
    name: '[PW21] a readiness gate nobody has spoken of holds the pod back',
    spec: { readinessGates: [{ conditionType: 'example.com/gate' }] },
    seen: ['app running'],
    phase: 'Running',
    conditions: ['True', 'False:ReadinessGatesNotReady', 'True'],
  },
  {
    name: '[PW20] a container that will be restarted leaves the pod running',
    seen: ['app exited 1'],
    phase: 'Running',
    state: 'terminated 1',
  },
  {
    name: '[PW22] back-off is told',
    seen: ['app exited 1'],
    options: { waiting: new Map([['app', { reason: 'CrashLoopBackOff', message: 'back-off' }]]) },
    phase: 'Running',
    state: 'waiting CrashLoopBackOff',
  },
  {
    name: '[PW20] success',
    spec: { restartPolicy: 'Never' },
    seen: ['app exited 0'],
    options: { isOver: true },
    phase: 'Succeeded',
    conditions: ['True:PodCompleted', done, done],
  },
  {
    name: '[PW20] failure',
    spec: { restartPolicy: 'Never' },
    seen: ['app exited 1'],
    options: { isOver: true },
    phase: 'Failed',
    conditions: ['True', failed, failed],
  },
  {
    name: '[PW20] an end is not told while a sidecar runs',
    spec: { restartPolicy: 'Never', initContainers: [proxy] },
    seen: ['app exited 0', 'proxy running'],
    options: { previous: { phase: 'Running' } },
    phase: 'Running',
  },
  {
    name: '[PW20] a sidecar that is started again leaves the pod running',
    spec: { initContainers: [proxy] },
    seen: ['app running', 'proxy exited 1'],
    phase: 'Running',
  },
  {
    name: '[PW20] a failed init container fails a pod that is never restarted',
    spec: { restartPolicy: 'Never', initContainers: [init] },
    seen: ['init exited 1'],
    options: { isOver: true },
    phase: 'Failed',
  },
  { name: '[PW23] a deleted pod whose containers ended well has succeeded', seen: ['app exited 0'], options: over, phase: 'Succeeded' },
  { name: '[PW23] a deleted pod whose containers were killed has failed', seen: ['app exited 137'], options: over, phase: 'Failed' },
  { name: '[PW23] a deleted pod that never ran has failed', options: over, phase: 'Failed', state: 'terminated 137' },
  {
    name: '[PW21] a deleted pod that still serves is ready',
    seen: ['app running'],
    options: { isEnding: true },
    phase: 'Running',
    conditions: ['True', 'True', 'True'],
  },
  { name: '[PW20] nothing leaves an end', seen: ['app running'], options: { previous: { phase: 'Failed' } }, phase: 'Failed' },
]

const usual = { waiting: new Map(), previous: {}, nowMs: startMs, hostIps: ['198.18.0.1'], isEnding: false, isOver: false }

for (const { name, spec, seen = [], options = {}, phase, conditions, state } of cases) {
  test(name, () => {
    const status = podStatus(aPod(spec), { observed: observed(seen), probes: allWell, ...usual, ...options })
    assert.equal(status.phase, phase)
    if (conditions !== undefined)
      assert.deepEqual(
        ['Initialized', 'Ready', 'ContainersReady'].map((type) => conditionText(status, type)),
        conditions,
      )
    if (state !== undefined) assert.equal(stateText(status), state)
  })
}

test('[PW25] addresses, times and generations are told', () => {
  const status = podStatus(aPod(), { observed: observed(['app running']), probes: allWell, ...usual })
  const { podIP, podIPs, hostIP, hostIPs, startTime, observedGeneration, qosClass } = status
  assert.deepEqual(
    { podIP, podIPs, hostIP, hostIPs, startTime, observedGeneration, qosClass },
    {
      ...{ podIP: '100.64.0.2', podIPs: [{ ip: '100.64.0.2' }], hostIP: '198.18.0.1', hostIPs: [{ ip: '198.18.0.1' }] },
      ...{ startTime: '2026-01-01T00:00:00Z', observedGeneration: 1, qosClass: 'BestEffort' },
    },
  )
  assert.deepEqual(
    status.conditions?.map(({ type }) => type),
    ['PodReadyToStartContainers', 'Initialized', 'Ready', 'ContainersReady', 'PodScheduled'],
  )
})

test('[PW25] mounts are told, and that what lies below a read-only one is not', () => {
  const volumeMounts = [
    { name: 'data', mountPath: '/data' },
    { name: 'token', mountPath: '/token', readOnly: true },
  ]
  const pod = aPod({ containers: [{ name: 'app', image: 'app:1', volumeMounts }] })
  const status = podStatus(pod, { observed: observed(['app running']), probes: allWell, ...usual })
  assert.deepEqual(status.containerStatuses?.[0]?.volumeMounts, [
    { name: 'data', mountPath: '/data' },
    { name: 'token', mountPath: '/token', readOnly: true, recursiveReadOnly: 'Disabled' },
  ])
})

test('[PW25] pods of the host network have its addresses', () => {
  const status = podStatus(aPod({ hostNetwork: true }), { observed: observed([]), probes: allWell, ...usual })
  assert.deepEqual([status.podIP, status.podIPs], ['198.18.0.1', [{ ip: '198.18.0.1' }]])
})

test('[PW24] the time of a condition changes with its status alone', () => {
  const first = podStatus(aPod(), { observed: observed([]), probes: allWell, ...usual })
  const later = { ...usual, nowMs: startMs + 60_000, previous: first }
  const second = podStatus(aPod(), { observed: observed(['app running']), probes: allWell, ...later })
  const times = Object.fromEntries((second.conditions ?? []).map(({ type, lastTransitionTime }) => [type, lastTransitionTime]))
  assert.equal(times['Ready'], '2026-01-01T00:01:00Z')
  assert.equal(times['PodScheduled'], '2026-01-01T00:00:00Z')
})

test('[PW22] a restarted container remembers how it ended before', () => {
  const status = podStatus(aPod(), { observed: observed(['app running', 'app exited 7']), probes: allWell, ...usual })
  const container = status.containerStatuses?.[0]
  assert.deepEqual([container?.restartCount, container?.lastState?.terminated?.exitCode], [1, 7])
})

function conditionText({ conditions }: V1PodStatus, wanted: string): string {
  const { status, reason } = conditions?.find(({ type }) => type === wanted) ?? {}
  return reason ? `${status}:${reason}` : `${status}`
}

function stateText({ containerStatuses }: V1PodStatus): string {
  const { waiting, terminated } = containerStatuses?.[0]?.state ?? {}
  if (waiting) return `waiting ${waiting.reason}`
  return terminated ? `terminated ${terminated.exitCode}` : 'running'
}
