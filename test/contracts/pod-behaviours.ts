/** What pods do under a kubelet, whatever runs their containers: a table of recipes, and of what must come of them. */
import type { V1Container, V1ResourceRequirements } from '#api/core/v1/types.gen.ts'

/** A container in terms that every runtime can act out. */
export type ActedContainer = Pick<V1Container, 'restartPolicy' | 'restartPolicyRules' | 'resources' | 'resizePolicy'> & {
  name: string
  /** How long it runs; for ever where absent. */
  runsMs?: number
  /** Its exit code, one for each attempt; the last one stays. */
  exits?: readonly number[]
  /** How long it takes to end when asked to; `never` needs a kill. */
  stopsAfterMs?: number | 'never'
  /** Its liveness probe fails from then on, in the first attempt. */
  sickAfterMs?: number
  /** Its readiness probe succeeds from then on. */
  readyAfterMs?: number
  /** Its startup probe succeeds from then on. */
  startedAfterMs?: number
  postStart?: 'succeeds' | 'fails'
  /** Seconds of sleep. */
  preStop?: number
}

export type Expectation = {
  phase?: string
  reason?: string
  ready?: boolean
  gone?: boolean
  /** By container: `running`, `waiting REASON`, `exited CODE`, or `… or …`; `lately` tells of the one before. */
  states?: Record<string, string>
  lately?: Record<string, string>
  restarts?: Record<string, number>
  /** At least this many. */
  restartsOver?: Record<string, number>
  /** By type: its status and, after a colon, its reason; `absent`. */
  conditions?: Record<string, string>
  allocated?: Record<string, Record<string, string>>
}

export type Resize = { container: string; resources: V1ResourceRequirements }

export type Act =
  | { until: Expectation; withinMs?: number }
  /** For a while, which may be missed where the going is rough. */
  | { meanwhile: Expectation }
  /** Time passes even where the going is too rough to look. */
  | { stays: Expectation; forMs: number }
  | { deletes: { graceSeconds?: number } }
  /** The time from the deletion until the pod is gone. */
  | { goneAfterMs: [least: number, most: number] }
  | { resizes: Resize }
  /** Another pod takes that much of the node's eight cores; with nothing, it is deleted. */
  | { occupies: Record<string, string> }
  /** Another image for the container. */
  | { changesImage: string }
  | { debugs: string }
  | { killsSandbox: true }
  /** With a resize while it is away. */
  | { restartsAgent: true; resizes?: Resize }
  /** Containers in the order they were started in. */
  | { started: readonly string[] }
  /** Containers in the order they were first asked to end in. */
  | { asked: readonly string[] }
  /** Events that were recorded, in any order: `REASON MESSAGE`, or the beginning of it. */
  | { events: readonly string[] }

export type PodBehaviour = {
  name: string
  restartPolicy?: 'Always' | 'OnFailure' | 'Never'
  graceSeconds?: number
  deadlineSeconds?: number
  nodeSelector?: Record<string, string>
  init?: readonly ActedContainer[]
  containers: readonly ActedContainer[]
  acts: readonly Act[]
  /** Takes too long, or needs what only a simulation has. */
  isForSimulation?: boolean
}

const app = { name: 'app' }
const running = { phase: 'Running', ready: true }
const whileRunning: Act = { until: running }
const once = { restartPolicy: 'Never' as const }
const gone: Act = { until: { gone: true } }
const restartsAll = [{ action: 'RestartAllContainers', exitCodes: { operator: 'In', values: [9] } }]

export const podBehaviours: readonly PodBehaviour[] = [
  // Starting
  {
    name: 'a pod runs, and is ready',
    containers: [app],
    acts: [{ until: { ...running, states: { app: 'running' }, restarts: { app: 0 } } }, { events: ['Created', 'Started'] }],
  },
  { name: 'containers start in order', containers: [{ name: 'b' }, { name: 'a' }], acts: [whileRunning, { started: ['b', 'a'] }] },
  {
    name: 'init containers run one after the other, then the containers',
    init: [
      { name: 'first', runsMs: 300 },
      { name: 'second', runsMs: 300 },
    ],
    containers: [app],
    acts: [
      {
        meanwhile: {
          phase: 'Pending',
          states: { app: 'waiting PodInitializing' },
          conditions: { Initialized: 'False:ContainersNotInitialized' },
        },
      },
      { until: { ...running, conditions: { Initialized: 'True' }, states: { first: 'exited 0', second: 'exited 0' } } },
      { started: ['first', 'second', 'app'] },
    ],
  },
  {
    name: 'a sidecar starts before what comes after it, and stays',
    init: [
      { name: 'proxy', restartPolicy: 'Always' },
      { name: 'setup', runsMs: 200 },
    ],
    containers: [app],
    acts: [{ until: { ...running, states: { proxy: 'running', setup: 'exited 0' } } }, { started: ['proxy', 'setup', 'app'] }],
  },
  {
    name: 'what comes after a sidecar waits for its startup probe',
    init: [{ name: 'proxy', restartPolicy: 'Always', startedAfterMs: 4000 }],
    containers: [app],
    acts: [
      { meanwhile: { phase: 'Pending', states: { proxy: 'running', app: 'waiting PodInitializing' } } },
      { stays: { states: { app: 'waiting PodInitializing' } }, forMs: 1000 },
      { until: running },
    ],
  },
  {
    name: 'an init container that fails is tried again',
    init: [{ name: 'setup', runsMs: 200, exits: [1, 0] }],
    containers: [app],
    acts: [{ until: { ...running, restarts: { setup: 1 } } }],
  },
  {
    name: 'an init container that fails ends a pod that is never restarted',
    ...once,
    init: [{ name: 'setup', runsMs: 200, exits: [3] }],
    containers: [app],
    acts: [{ until: { phase: 'Failed', states: { setup: 'exited 3' } } }, { started: ['setup'] }],
  },
  {
    name: 'a pod is not ready before its readiness probe says so',
    containers: [{ ...app, readyAfterMs: 4000 }],
    acts: [
      {
        meanwhile: {
          phase: 'Running',
          ready: false,
          states: { app: 'running' },
          conditions: { ContainersReady: 'False:ContainersNotReady' },
        },
      },
      { until: running },
    ],
  },

  // Ends and restarts
  {
    name: 'a container that ends is started again',
    containers: [{ ...app, runsMs: 500, exits: [0] }],
    acts: [{ until: { phase: 'Running', restartsOver: { app: 1 }, lately: { app: 'exited 0' } } }],
  },
  {
    name: 'OnFailure starts again until success',
    restartPolicy: 'OnFailure',
    containers: [{ ...app, runsMs: 200, exits: [1, 0] }],
    acts: [
      {
        until: {
          ...{ phase: 'Succeeded', restarts: { app: 1 }, states: { app: 'exited 0' }, lately: { app: 'exited 1' } },
          conditions: { Ready: 'False:PodCompleted', Initialized: 'True:PodCompleted' },
        },
      },
    ],
  },
  {
    name: 'Never takes success and failure as they come',
    ...once,
    containers: [
      { name: 'good', runsMs: 200, exits: [0] },
      { name: 'bad', runsMs: 300, exits: [7] },
    ],
    acts: [{ until: { phase: 'Failed', states: { good: 'exited 0', bad: 'exited 7' }, conditions: { Ready: 'False:PodFailed' } } }],
  },
  {
    name: 'a pod whose work is done ends its sidecars',
    ...once,
    init: [{ name: 'proxy', restartPolicy: 'Always' }],
    containers: [{ ...app, runsMs: 300 }],
    acts: [{ until: { phase: 'Succeeded', states: { app: 'exited 0' } } }, { asked: ['proxy'] }],
  },
  {
    name: 'a container that crashes waits longer each time',
    containers: [{ ...app, runsMs: 200, exits: [2] }],
    acts: [
      { until: { phase: 'Running', restartsOver: { app: 1 }, states: { app: 'waiting CrashLoopBackOff' }, lately: { app: 'exited 2' } } },
      { stays: { restarts: { app: 1 } }, forMs: 5000 },
      { events: ['BackOff Back-off restarting failed container app in pod'] },
    ],
  },
  {
    name: 'back-off doubles up to five minutes',
    isForSimulation: true,
    containers: [{ ...app, runsMs: 1000, exits: [2] }],
    acts: [
      { until: { restarts: { app: 3 } }, withinMs: 60_000 },
      { until: { restarts: { app: 6 } }, withinMs: 600_000 },
      { until: { restarts: { app: 7 } }, withinMs: 310_000 },
      { stays: { restarts: { app: 7 } }, forMs: 290_000 },
    ],
  },
  {
    name: 'a rule for the exit code outdoes Never',
    ...once,
    containers: [
      {
        ...{ ...app, runsMs: 200, exits: [42, 0], restartPolicy: 'Never' },
        restartPolicyRules: [{ action: 'Restart', exitCodes: { operator: 'In', values: [42] } }],
      },
    ],
    acts: [{ until: { phase: 'Succeeded', restarts: { app: 1 } } }],
  },
  {
    name: 'an end by rule starts the whole pod anew',
    init: [{ name: 'setup', runsMs: 200 }],
    containers: [
      { name: 'worker', runsMs: 3000, exits: [9, 0], restartPolicy: 'Never', restartPolicyRules: restartsAll },
      { name: 'other', stopsAfterMs: 100 },
    ],
    acts: [
      { until: { restarts: { worker: 1, setup: 1 }, states: { worker: 'exited 0', other: 'running' } } },
      { stays: { restarts: { other: 1 } }, forMs: 100 },
    ],
  },
  {
    name: 'a pod that runs past its deadline fails',
    deadlineSeconds: 3,
    containers: [app],
    acts: [{ until: { phase: 'Failed', reason: 'DeadlineExceeded' } }],
  },

  // Probes and hooks
  {
    name: 'a container that fails its liveness probe is killed, and started again',
    containers: [{ ...app, sickAfterMs: 1500, stopsAfterMs: 100 }],
    acts: [
      { until: { phase: 'Running', restartsOver: { app: 1 } } },
      { events: ['Killing Container app failed liveness probe, will be restarted'] },
    ],
  },
  {
    name: 'a sick container of a pod that is never restarted ends it',
    ...once,
    containers: [{ ...app, sickAfterMs: 1500 }],
    acts: [{ until: { states: { app: 'exited 0' }, phase: 'Succeeded' } }, { events: ['Killing Container app failed liveness probe'] }],
  },
  {
    name: 'a postStart hook comes before the container is told to run',
    containers: [{ ...app, postStart: 'succeeds' }],
    acts: [whileRunning],
  },
  {
    name: 'a container whose postStart hook fails is killed',
    containers: [{ ...app, postStart: 'fails' }],
    acts: [
      { meanwhile: { states: { app: 'waiting PostStartHookError' } } },
      { until: { restartsOver: { app: 1 } } },
      { events: ['FailedPostStartHook PostStartHook failed', 'Killing FailedPostStartHook'] },
    ],
  },
  {
    name: 'a preStop hook counts against the grace',
    graceSeconds: 20,
    containers: [{ ...app, preStop: 2 }],
    acts: [whileRunning, { deletes: {} }, gone, { goneAfterMs: [2000, 8000] }],
  },
  {
    name: 'a preStop hook that takes all the grace is not waited for',
    graceSeconds: 120,
    containers: [{ ...app, preStop: 60 }],
    acts: [whileRunning, { deletes: { graceSeconds: 2 } }, gone, { goneAfterMs: [2000, 8000] }],
  },

  // Deletion
  { name: 'a pod is deleted before it runs', containers: [app], acts: [{ deletes: {} }, gone] },
  {
    name: 'a pod is deleted while it is set up',
    init: [{ name: 'setup' }],
    containers: [app],
    acts: [{ until: { states: { setup: 'running' } } }, { deletes: {} }, gone, { started: ['setup'] }],
  },
  { name: 'a pod is deleted while it runs', containers: [app], acts: [whileRunning, { deletes: {} }, gone] },
  {
    name: 'a pod is deleted while it waits to be started again',
    containers: [{ ...app, runsMs: 200, exits: [1] }],
    acts: [{ until: { states: { app: 'waiting CrashLoopBackOff' } } }, { deletes: {} }, gone],
  },
  {
    name: 'a pod that has ended is deleted',
    ...once,
    containers: [{ ...app, runsMs: 200 }],
    acts: [{ until: { phase: 'Succeeded' } }, { deletes: {} }, gone],
  },
  {
    name: 'a container that does not want to end is killed when the grace is over',
    graceSeconds: 3,
    containers: [{ ...app, stopsAfterMs: 'never' }],
    acts: [whileRunning, { deletes: {} }, gone, { goneAfterMs: [2900, 8000] }],
  },
  {
    name: 'a second deletion with less grace is heeded',
    graceSeconds: 300,
    containers: [{ ...app, stopsAfterMs: 'never' }],
    acts: [whileRunning, { deletes: {} }, { stays: { phase: 'Running' }, forMs: 1000 }, { deletes: { graceSeconds: 1 } }, gone],
  },
  {
    // Its containers still have the grace of their pod.
    name: 'a pod that shall be gone at once is',
    graceSeconds: 2,
    containers: [{ ...app, stopsAfterMs: 'never' }],
    acts: [whileRunning, { deletes: { graceSeconds: 0 } }, gone],
  },
  {
    name: 'sidecars end after the containers they serve, in the reverse of their order',
    init: [
      { name: 'one', restartPolicy: 'Always' },
      { name: 'two', restartPolicy: 'Always' },
    ],
    containers: [{ ...app, stopsAfterMs: 500 }],
    acts: [whileRunning, { deletes: {} }, gone, { asked: ['app', 'two', 'one'] }],
  },

  // Changes
  {
    name: 'a running container is given other resources',
    containers: [{ ...app, resources: { requests: { cpu: '100m', memory: '32Mi' }, limits: { cpu: '200m', memory: '64Mi' } } }],
    acts: [
      whileRunning,
      { resizes: { container: 'app', resources: { requests: { cpu: '150m', memory: '32Mi' }, limits: { cpu: '300m', memory: '64Mi' } } } },
      { until: { allocated: { app: { cpu: '150m' } }, restarts: { app: 0 }, conditions: { PodResizeInProgress: 'absent' } } },
      { events: ['ResizeStarted Pod resize started: ', 'ResizeCompleted Pod resize completed: '] },
    ],
  },
  {
    name: 'a container may want to be started again for other resources, more of one and less of another',
    containers: [
      {
        ...{ ...app, stopsAfterMs: 100, resources: { requests: { cpu: '50m', memory: '48Mi' }, limits: { cpu: '200m', memory: '96Mi' } } },
        resizePolicy: [{ resourceName: 'memory', restartPolicy: 'RestartContainer' }],
      },
    ],
    acts: [
      whileRunning,
      { resizes: { container: 'app', resources: { requests: { cpu: '100m', memory: '32Mi' }, limits: { cpu: '400m', memory: '64Mi' } } } },
      { until: { ...running, allocated: { app: { cpu: '100m', memory: '32Mi' } }, restarts: { app: 1 } } },
      { events: ['Killing Container app resize requires restart'] },
    ],
  },
  {
    name: 'more than there is has to wait',
    containers: [{ ...app, resources: { requests: { cpu: '100m' } } }],
    acts: [
      whileRunning,
      { occupies: { cpu: '7' } },
      { resizes: { container: 'app', resources: { requests: { cpu: '2' } } } },
      { until: { allocated: { app: { cpu: '100m' } }, conditions: { PodResizePending: 'True:Deferred' } } },
      { occupies: {} },
      { until: { allocated: { app: { cpu: '2' } }, conditions: { PodResizePending: 'absent', PodResizeInProgress: 'absent' } } },
    ],
  },
  {
    name: 'a container of another image is started anew',
    containers: [{ ...app, stopsAfterMs: 100 }],
    acts: [
      whileRunning,
      { changesImage: 'app' },
      { until: { ...running, restarts: { app: 1 } } },
      { events: ['Killing Container app definition changed, will be restarted'] },
    ],
  },
  {
    name: 'an ephemeral container joins a running pod, and stays as it ends',
    containers: [app],
    acts: [whileRunning, { debugs: 'debugger' }, { until: { ...running, states: { debugger: 'exited 0' }, restarts: { app: 0 } } }],
  },
  {
    name: 'a pod whose sandbox dies gets another one, and begins anew',
    init: [{ name: 'setup', runsMs: 200 }],
    containers: [{ ...app, stopsAfterMs: 100 }],
    acts: [
      whileRunning,
      { killsSandbox: true },
      { until: { ...running, restartsOver: { app: 1 } } },
      { events: ['SandboxChanged Pod sandbox changed, it will be killed and re-created.'] },
    ],
  },
  {
    name: 'a pod that does not fit its node fails',
    containers: [{ ...app, resources: { requests: { cpu: '5000' } } }],
    acts: [{ until: { phase: 'Failed', reason: 'OutOfcpu' } }, { deletes: {} }, gone],
  },
  {
    name: 'a pod that wants another node fails',
    nodeSelector: { disk: 'ssd' },
    containers: [app],
    acts: [
      { until: { phase: 'Failed', reason: 'NodeAffinity' } },
      { events: ["NodeAffinity Predicate NodeAffinity failed: node(s) didn't match"] },
    ],
  },

  // The agent itself
  {
    name: 'a pod does not notice that its agent was started again',
    init: [{ name: 'setup', runsMs: 200 }],
    containers: [app],
    acts: [
      whileRunning,
      { restartsAgent: true },
      { stays: { ...running, restarts: { app: 0, setup: 0 } }, forMs: 2000 },
      { started: ['setup', 'app'] },
    ],
  },
  {
    name: 'what ends while no agent looks is seen later',
    ...once,
    containers: [{ ...app, runsMs: 1500, exits: [4] }],
    acts: [
      { until: { states: { app: 'running or exited 4' } } },
      { restartsAgent: true },
      { until: { phase: 'Failed', states: { app: 'exited 4' } } },
    ],
  },
  {
    name: 'a resize that was asked for while no agent looked is done later',
    containers: [{ ...app, resources: { requests: { cpu: '100m' } } }],
    acts: [
      whileRunning,
      { restartsAgent: true, resizes: { container: 'app', resources: { requests: { cpu: '150m' } } } },
      { until: { ...running, allocated: { app: { cpu: '150m' } }, restarts: { app: 0 }, conditions: { PodResizeInProgress: 'absent' } } },
      { events: ['ResizeStarted Pod resize started: ', 'ResizeCompleted Pod resize completed: '] },
    ],
  },

  // Deletion at every moment of a life that has everything
  ...[0, 30, 60, 130, 260, 400, 900, 1600, 2600, 3300, 4500, 7000].map(
    (afterMs): PodBehaviour => ({
      name: `a pod is deleted ${afterMs} ms after it was made`,
      isForSimulation: true,
      graceSeconds: 5,
      init: [
        { name: 'proxy', restartPolicy: 'Always', startedAfterMs: 300, preStop: 1 },
        { name: 'setup', runsMs: 500, exits: [1, 0] },
      ],
      containers: [
        { name: 'app', postStart: 'succeeds', preStop: 2, readyAfterMs: 500, stopsAfterMs: 300 },
        { name: 'crash', runsMs: 700, exits: [1] },
        { name: 'stubborn', stopsAfterMs: 'never' },
      ],
      acts: [{ stays: {}, forMs: afterMs }, { deletes: {} }, gone],
    }),
  ),
]
