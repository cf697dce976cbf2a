import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { V1PodSpec } from '#api/core/v1/types.gen.ts'
import { nextSteps, type PodStep, type WorkerMemory } from '#kubelet/pod-worker/next-steps.ts'
import { allWell, aPod, observed, startMs } from '#kubelet/pod-worker/pod-worker.testing.ts'
import type { ProbeResults } from '#kubelet/runtimes/runtime.ts'

const init = { name: 'init', image: 'i' }
const second = { name: 'second', image: 'i' }
const proxy = { name: 'proxy', image: 'i', restartPolicy: 'Always' }
const never = { restartPolicy: 'Never' }
const ending = { endsByMs: startMs + 30_000 }

type Case = {
  name: string
  spec?: Partial<V1PodSpec>
  seen?: readonly string[]
  memory?: Partial<WorkerMemory>
  probes?: ProbeResults
  hasSandbox?: boolean
  steps: readonly string[]
  isOver?: boolean
  wakesAfterMs?: number
}

const cases: Case[] = [
  { name: 'a pod of which nothing is there gets a sandbox', hasSandbox: false, steps: ['runSandbox'] },
  { name: 'nothing is begun while something starts', hasSandbox: false, memory: { isStarting: true }, steps: [] },
  {
    name: 'a sandbox that could not be made is tried again later',
    hasSandbox: false,
    memory: { failures: new Map([['', { reason: 'r', message: 'm', retryAtMs: startMs + 10_000 }]]) },
    steps: [],
    wakesAfterMs: 10_000,
  },
  { name: 'the container follows the sandbox', steps: ['start app 0'] },
  { name: 'a pod that runs as it shall needs nothing', seen: ['app running'], steps: [] },
  { name: 'a container that was made and not started is started', seen: ['app created'], steps: ['start app 0'] },
  { name: 'containers start one after the other', spec: { containers: [{ name: 'app' }, { name: 'b' }] }, steps: ['start app 0'] },
  {
    name: 'the second container follows',
    spec: { containers: [{ name: 'app' }, { name: 'b' }] },
    seen: ['app running'],
    steps: ['start b 0'],
  },

  { name: 'the first init container comes first', spec: { initContainers: [init, second] }, steps: ['start init 0'] },
  { name: 'all wait for an init container', spec: { initContainers: [init, second] }, seen: ['init running'], steps: [] },
  { name: 'the next one follows success', spec: { initContainers: [init, second] }, seen: ['init exited 0'], steps: ['start second 0'] },
  { name: 'the app follows the last one', spec: { initContainers: [init] }, seen: ['init exited 0'], steps: ['start app 0'] },
  { name: 'a failed init container is tried again', spec: { initContainers: [init] }, seen: ['init exited 1'], steps: ['start init 1'] },
  {
    name: 'a failed init container ends a pod that is never restarted',
    spec: { ...never, initContainers: [init] },
    seen: ['init exited 1'],
    steps: ['stopSandbox'],
    isOver: true,
  },
  { name: 'init containers that were removed do not run again', spec: { initContainers: [init] }, seen: ['app running'], steps: [] },

  {
    name: 'a sidecar lets the next one start once it has started',
    spec: { initContainers: [proxy] },
    seen: ['proxy running'],
    steps: ['start app 0'],
  },
  {
    name: 'a sidecar whose startup probe has not succeeded holds the others up',
    spec: { initContainers: [proxy] },
    seen: ['proxy running'],
    probes: { isStarted: () => false, isReady: () => false },
    steps: [],
  },
  {
    name: 'a sidecar that ended is started again, whatever the policy of the pod',
    spec: { ...never, initContainers: [proxy] },
    seen: ['app running', 'proxy exited 0'],
    steps: ['start proxy 1'],
  },

  { name: 'Always restarts success', seen: ['app exited 0'], steps: ['start app 1'] },
  { name: 'OnFailure restarts failure', spec: { restartPolicy: 'OnFailure' }, seen: ['app exited 2'], steps: ['start app 1'] },
  { name: 'OnFailure leaves success', spec: { restartPolicy: 'OnFailure' }, seen: ['app exited 0'], steps: ['stopSandbox'], isOver: true },
  { name: 'Never leaves failure', spec: never, seen: ['app exited 2'], steps: ['stopSandbox'], isOver: true },
  {
    name: 'a rule for the exit code outdoes Never',
    spec: {
      ...never,
      containers: [
        { name: 'app', restartPolicy: 'Never', restartPolicyRules: [{ action: 'Restart', exitCodes: { operator: 'In', values: [42] } }] },
      ],
    },
    seen: ['app exited 42'],
    steps: ['start app 1'],
  },
  {
    name: 'a pod whose work is done stops its sidecar',
    spec: { ...never, initContainers: [proxy] },
    seen: ['app exited 0', 'proxy running'],
    steps: ['stop proxy'],
  },

  {
    name: 'back-off is waited for',
    seen: ['app exited 1', 'app exited 1'],
    memory: { backOffs: new Map([['app', { delayMs: 10_000, sinceMs: startMs }]]), nowMs: startMs + 4000 },
    steps: [],
    wakesAfterMs: 10_000,
  },
  {
    name: 'back-off ends',
    seen: ['app exited 1', 'app exited 1'],
    memory: { backOffs: new Map([['app', { delayMs: 10_000, sinceMs: startMs }]]), nowMs: startMs + 10_000 },
    steps: ['start app 2'],
  },
  { name: 'of a container the last two are kept', seen: ['app running', 'app exited 1', 'app exited 1'], steps: ['remove sim://app-0'] },

  { name: 'a pod that ends stops its containers', seen: ['app running'], memory: ending, steps: ['stop app'] },
  {
    name: 'sidecars end after the containers they serve',
    spec: { initContainers: [proxy] },
    seen: ['app running', 'proxy running'],
    memory: { ...ending, stopping: new Map([['sim://app-0', startMs + 30_000]]) },
    steps: [],
  },
  {
    name: 'sidecars end in the reverse of their order',
    spec: { initContainers: [proxy, { ...proxy, name: 'later' }] },
    seen: ['app exited 0', 'later running', 'proxy running'],
    memory: ending,
    steps: ['stop later'],
  },
  {
    name: 'less grace than before is told',
    seen: ['app running'],
    memory: { ...ending, stopping: new Map([['sim://app-0', startMs + 60_000]]) },
    steps: ['stop app'],
  },
  { name: 'nothing is started in a pod that ends', memory: ending, steps: ['stopSandbox'], isOver: true },
  { name: 'the end waits for a start that is given up', memory: { ...ending, isStarting: true }, steps: [], isOver: false },
  { name: 'a pod that never began is over at once', hasSandbox: false, memory: ending, steps: [], isOver: true },
]

for (const { name, spec, seen = [], memory = {}, probes = allWell, hasSandbox = true, steps, isOver = false, wakesAfterMs } of cases) {
  test(name, () => {
    const nothing = { nowMs: startMs, backOffs: new Map(), isStarting: false, stopping: new Map(), failures: new Map() }
    const next = nextSteps(aPod(spec), observed(seen, { hasSandbox }), { ...nothing, ...memory }, probes)
    assert.deepEqual(next.steps.map(shortly), steps)
    assert.equal(next.isOver, isOver)
    assert.equal(next.wakeAtMs, wakesAfterMs === undefined ? undefined : startMs + wakesAfterMs)
  })
}

function shortly(step: PodStep): string {
  if (step.do === 'startContainer') return `start ${step.container.name} ${step.attempt}`
  if (step.do === 'stopContainer') return `stop ${step.name}`
  return step.do === 'removeContainer' ? `remove ${step.id}` : step.do
}
