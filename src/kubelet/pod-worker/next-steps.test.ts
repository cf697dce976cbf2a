import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { V1PodSpec } from '#api/core/v1/types.gen.ts'
import { nextSteps } from '#kubelet/pod-worker/next-steps.ts'
import type { PodStep, Stopping, WorkerMemory } from '#kubelet/pod-worker/pod-steps.ts'
import { allWell, aPod, observed, startMs } from '#kubelet/pod-worker/testing/pod-worker.ts'
import type { ProbeResults } from '#kubelet/runtimes/runtime.ts'

const init = { name: 'init', image: 'i' }
const second = { name: 'second', image: 'i' }
const proxy = { name: 'proxy', image: 'i', restartPolicy: 'Always' }
const never = { restartPolicy: 'Never' }
const debugged = { ephemeralContainers: [{ name: 'debugger' }] }
const hooked = { containers: [{ name: 'app', image: 'app:1', lifecycle: { preStop: { sleep: { seconds: 5 } } } }] }
const restarter = { name: 'app', restartPolicyRules: [{ action: 'RestartAllContainers', exitCodes: { operator: 'In', values: [9] } }] }
const failing = (probe: 'liveness' | 'startup'): ProbeResults => ({ isStarted: () => true, isReady: () => true, failed: () => probe })
const stopping = (stage: Stopping['stage'], forMs: number, comesBack = false): Map<string, Stopping> =>
  new Map([['sim://app-0', { stage, untilMs: startMs + forMs, comesBack }]])
const asked = (forMs: number, id = 'sim://app-0'): Map<string, Stopping> =>
  new Map([[id, { stage: 'asked', untilMs: startMs + forMs, comesBack: false }]])
const ending = { endsByMs: startMs + 30_000 }

type Case = {
  name: string
  spec?: Partial<V1PodSpec>
  seen?: readonly string[]
  memory?: Partial<WorkerMemory>
  probes?: ProbeResults
  hasSandbox?: boolean
  sandbox?: 'dead'
  steps: readonly string[]
  isOver?: boolean
  wakesAfterMs?: number
}

const cases: Case[] = [
  { name: '[PW1] a pod of which nothing is there gets a sandbox', hasSandbox: false, steps: ['runSandbox'] },
  { name: '[PW1] nothing is begun while something starts', hasSandbox: false, memory: { isStarting: true }, steps: [] },
  {
    name: 'a sandbox that could not be made is tried again later',
    hasSandbox: false,
    memory: { failures: new Map([['', { reason: 'r', message: 'm', retryAtMs: startMs + 10_000 }]]) },
    steps: [],
    wakesAfterMs: 10_000,
  },
  { name: '[PW1] the container follows the sandbox', steps: ['start app 0'] },
  { name: 'a pod that runs as it shall needs nothing', seen: ['app running'], steps: [] },
  { name: 'a container that was made and not started is made anew', seen: ['app created'], steps: ['remove sim://app-0', 'start app 0'] },
  { name: '[PW1] containers start one after the other', spec: { containers: [{ name: 'app' }, { name: 'b' }] }, steps: ['start app 0'] },
  {
    name: 'the second container follows',
    spec: { containers: [{ name: 'app' }, { name: 'b' }] },
    seen: ['app running'],
    steps: ['start b 0'],
  },

  { name: '[PW1] the first init container comes first', spec: { initContainers: [init, second] }, steps: ['start init 0'] },
  { name: '[PW1] all wait for an init container', spec: { initContainers: [init, second] }, seen: ['init running'], steps: [] },
  {
    name: '[PW1] the next one follows success',
    spec: { initContainers: [init, second] },
    seen: ['init exited 0'],
    steps: ['start second 0'],
  },
  { name: '[PW1] the app follows the last one', spec: { initContainers: [init] }, seen: ['init exited 0'], steps: ['start app 0'] },
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
    name: '[PW2] a sidecar lets the next one start once it has started',
    spec: { initContainers: [proxy] },
    seen: ['proxy running'],
    steps: ['start app 0'],
  },
  {
    name: '[PW2] a sidecar whose startup probe has not succeeded holds the others up',
    spec: { initContainers: [proxy] },
    seen: ['proxy running'],
    probes: { isStarted: () => false, isReady: () => false },
    steps: [],
  },
  {
    name: '[PW2] a sidecar that ended is started again, whatever the policy of the pod',
    spec: { ...never, initContainers: [proxy] },
    seen: ['app running', 'proxy exited 0'],
    steps: ['start proxy 1'],
  },

  { name: '[PW3] Always restarts success', seen: ['app exited 0'], steps: ['start app 1'] },
  { name: '[PW3] OnFailure restarts failure', spec: { restartPolicy: 'OnFailure' }, seen: ['app exited 2'], steps: ['start app 1'] },
  {
    name: '[PW3] OnFailure leaves success',
    spec: { restartPolicy: 'OnFailure' },
    seen: ['app exited 0'],
    steps: ['stopSandbox'],
    isOver: true,
  },
  { name: '[PW3] Never leaves failure', spec: never, seen: ['app exited 2'], steps: ['stopSandbox'], isOver: true },
  {
    name: '[PW3] a rule for the exit code outdoes Never',
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
    name: '[PW2] a pod whose work is done stops its sidecar',
    spec: { ...never, initContainers: [proxy] },
    seen: ['app exited 0', 'proxy running'],
    steps: ['stop proxy'],
  },

  {
    name: '[PW4] back-off is waited for',
    seen: ['app exited 1', 'app exited 1'],
    memory: { backOffs: new Map([['app', { delayMs: 10_000, sinceMs: startMs }]]), nowMs: startMs + 4000 },
    steps: [],
    wakesAfterMs: 10_000,
  },
  {
    name: '[PW4] back-off ends',
    seen: ['app exited 1', 'app exited 1'],
    memory: { backOffs: new Map([['app', { delayMs: 10_000, sinceMs: startMs }]]), nowMs: startMs + 10_000 },
    steps: ['start app 2'],
  },
  {
    name: '[PW3] of a container the last two are kept',
    seen: ['app running', 'app exited 1', 'app exited 1'],
    steps: ['remove sim://app-0'],
  },

  {
    name: '[PW5] an ephemeral container is started beside the others, and once',
    spec: { ephemeralContainers: [{ name: 'debugger' }] },
    seen: ['app running'],
    steps: ['start debugger 0'],
  },
  { name: '[PW5] an ephemeral container that has ended stays so', spec: debugged, seen: ['debugger exited 1', 'app running'], steps: [] },
  {
    name: '[PW5] an ephemeral container does not keep a pod alive',
    spec: { ...never, ...debugged },
    seen: ['debugger running', 'app exited 0'],
    steps: ['stop debugger'],
  },

  {
    name: '[PW6] a preStop hook runs before a container is asked to end',
    spec: hooked,
    seen: ['app running'],
    memory: ending,
    steps: ['hook app'],
    wakesAfterMs: 30_000,
  },
  {
    name: '[PW6] a container is not asked to end while its hook runs',
    spec: hooked,
    seen: ['app running'],
    memory: { ...ending, stopping: stopping('hook', 30_000) },
    steps: [],
    wakesAfterMs: 30_000,
  },
  {
    name: '[PW6] a container is asked to end when its hook has run',
    spec: hooked,
    seen: ['app running'],
    memory: { ...ending, stopping: stopping('waits', 30_000) },
    steps: ['stop app'],
  },
  {
    name: '[PW6] a hook that takes all the grace is not waited for',
    spec: hooked,
    seen: ['app running'],
    memory: { ...ending, nowMs: startMs + 30_000, stopping: stopping('hook', 30_000) },
    steps: ['stop app'],
  },

  { name: '[PW7] a container that fails its liveness probe ends', seen: ['app running'], probes: failing('liveness'), steps: ['stop app'] },
  {
    name: '[PW7] a container that a probe has killed comes back, whatever its code',
    spec: { restartPolicy: 'OnFailure' },
    seen: ['app exited 0'],
    memory: { stopping: stopping('asked', 30_000, true) },
    steps: ['start app 1'],
  },
  {
    name: '[PW7] a container that a probe has killed under Never is the end of the pod',
    spec: never,
    seen: ['app exited 0'],
    memory: { stopping: stopping('asked', 30_000) },
    steps: ['stopSandbox'],
    isOver: true,
  },
  {
    name: '[PW7] a sidecar that fails its startup probe ends, and holds the others up',
    spec: { initContainers: [proxy] },
    seen: ['proxy running'],
    probes: { ...failing('startup'), isStarted: () => false },
    steps: ['stop proxy'],
  },

  {
    name: '[PW8] another image means a restart',
    seen: ['app running'],
    memory: { images: new Map([['sim://app-0', 'app:0']]) },
    steps: ['stop app'],
  },
  {
    name: '[PW8] other resources are given to a running container',
    spec: { containers: [{ name: 'app', image: 'app:1', resources: { requests: { cpu: '2' } } }] },
    seen: ['app running'],
    memory: { actuated: new Map([['sim://app-0', { requests: { cpu: '1' } }]]) },
    steps: ['resize app'],
  },
  {
    name: '[PW8] a pod gets other resources as a whole, after its containers',
    spec: {
      containers: [{ name: 'app', image: 'app:1', resources: { requests: { cpu: '2' } } }],
      resources: { limits: { cpu: '4' } },
    },
    seen: ['app running'],
    memory: { actuated: new Map([['sim://app-0', { requests: { cpu: '1' } }]]), podResources: { limits: { cpu: '3' } } },
    steps: ['resize app', 'resize pod with app'],
  },
  {
    name: '[PW8] a pod that could not be resized is tried again later',
    spec: { resources: { limits: { memory: '1Gi' } } },
    seen: ['app running'],
    memory: { podResources: { limits: { memory: '2Gi' } }, resizeRetryAtMs: startMs + 7000 },
    steps: [],
    wakesAfterMs: 7000,
  },
  {
    name: 'resources that are the same in other words are no change',
    spec: { containers: [{ name: 'app', image: 'app:1', resources: { requests: { cpu: '1' } } }] },
    seen: ['app running'],
    memory: { actuated: new Map([['sim://app-0', { requests: { cpu: '1000m' } }]]) },
    steps: [],
  },
  {
    name: '[PW8] a container may want to be restarted for other resources',
    spec: {
      containers: [
        {
          ...{ name: 'app', image: 'app:1', resources: { requests: { memory: '2Gi' } } },
          resizePolicy: [{ resourceName: 'memory', restartPolicy: 'RestartContainer' }],
        },
      ],
    },
    seen: ['app running'],
    memory: { actuated: new Map([['sim://app-0', { requests: { memory: '1Gi' } }]]) },
    steps: ['stop app'],
  },

  {
    name: '[PW9] a sandbox that died is replaced once nothing runs any more',
    sandbox: 'dead',
    seen: ['app running'],
    steps: ['stop app'],
  },
  {
    name: '[PW9] init containers run again in the new sandbox',
    sandbox: 'dead',
    spec: { initContainers: [init] },
    seen: ['app exited 137', 'init exited 0'],
    steps: ['runSandbox for s1 without sim://init-0'],
  },
  {
    name: '[PW9] a pod that never restarts ends with its sandbox',
    sandbox: 'dead',
    spec: never,
    seen: ['app exited 137'],
    steps: [],
    isOver: true,
  },

  {
    name: 'an end by rule takes all containers along',
    spec: { initContainers: [init], containers: [restarter, { name: 'b' }] },
    seen: ['b running', 'app exited 9', 'init exited 0'],
    steps: ['stop b'],
  },
  {
    name: 'all containers are removed, the one that began it last',
    spec: { initContainers: [init], containers: [restarter, { name: 'b' }] },
    seen: ['b exited 137', 'app exited 9', 'init exited 0'],
    steps: ['remove sim://b-0', 'remove sim://init-0', 'remove sim://app-0'],
  },

  {
    name: 'an end by rule waits for containers that have not had their turn yet',
    spec: { initContainers: [init], containers: [restarter, { name: 'b' }] },
    seen: ['app exited 9', 'init exited 0'],
    steps: ['start b 0'],
  },
  {
    name: 'an end by rule does not wait for containers that cannot be started',
    spec: { initContainers: [init], containers: [restarter, { name: 'b' }] },
    seen: ['app exited 9', 'init exited 0'],
    memory: { failures: new Map([['b', { reason: 'ErrImagePull', message: '', retryAtMs: startMs + 1000 }]]) },
    steps: ['remove sim://init-0', 'remove sim://app-0'],
  },

  { name: 'a pod that ends stops its containers', seen: ['app running'], memory: ending, steps: ['stop app'] },
  {
    name: 'sidecars end after the containers they serve',
    spec: { initContainers: [proxy] },
    seen: ['app running', 'proxy running'],
    memory: { ...ending, stopping: asked(30_000) },
    steps: ['wait proxy'],
    wakesAfterMs: 30_000,
  },
  {
    name: 'sidecars end in the reverse of their order',
    spec: { initContainers: [proxy, { ...proxy, name: 'later' }] },
    seen: ['app exited 0', 'later running', 'proxy running'],
    memory: ending,
    steps: ['stop later', 'wait proxy'],
    wakesAfterMs: 30_000,
  },
  {
    name: 'less grace than before is told',
    seen: ['app running'],
    memory: { ...ending, stopping: asked(60_000) },
    steps: ['stop app'],
  },
  { name: 'nothing is started in a pod that ends', memory: ending, steps: ['stopSandbox'], isOver: true },
  { name: 'the end waits for a start that is given up', memory: { ...ending, isStarting: true }, steps: [], isOver: false },
  { name: 'a pod that never began is over at once', hasSandbox: false, memory: ending, steps: [], isOver: true },
]

for (const {
  name,
  spec,
  seen = [],
  memory = {},
  probes = allWell,
  hasSandbox = true,
  sandbox,
  steps,
  isOver = false,
  wakesAfterMs,
} of cases) {
  test(name, () => {
    const nothing = { nowMs: startMs, backOffs: new Map(), isStarting: false, stopping: new Map(), failures: new Map() }
    const next = nextSteps(aPod(spec), observed(seen, { hasSandbox, isReady: sandbox !== 'dead' }), { ...nothing, ...memory }, probes)
    assert.deepEqual(next.steps.map(shortly), steps)
    assert.equal(next.isOver, isOver)
    assert.equal(next.wakeAtMs, wakesAfterMs === undefined ? undefined : startMs + wakesAfterMs)
  })
}

function shortly(step: PodStep): string {
  if (step.do === 'startContainer') return `start ${step.container.name} ${step.attempt}`
  if (step.do === 'stopContainer') return `stop ${step.name}`
  if (step.do === 'resizeContainer') return `resize ${step.container.name}`
  if (step.do === 'resizePod') return `resize pod with ${step.containers.map(({ container }) => container.name)}`
  if (step.do === 'runSandbox' && step.replaces.length > 0) return `runSandbox for ${step.replaces} without ${step.purges}`
  if (step.do === 'prepareStop') return `${step.hook ? 'hook' : 'wait'} ${step.name}`
  return step.do === 'removeContainer' ? `remove ${step.id}` : step.do
}
