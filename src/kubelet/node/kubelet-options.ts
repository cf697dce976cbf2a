import type { V1Container, V1Node, V1Pod, V1ResourceStatus } from '#api/core/v1/types.gen.ts'
import type { Clock } from '#base/clock.ts'
import type { Logger } from '#base/log.ts'
import type { Random } from '#base/random.ts'
import type { Client } from '#client/client.ts'
import type { EventRecorder } from '#client/events/event-recorder.ts'
import type { HookRunner } from '#kubelet/hooks/hook-runner.ts'
import type { PodMetrics } from '#kubelet/metrics/pod-metrics.ts'
import type { NodeDescription } from '#kubelet/node/node-object.ts'
import type { Waiting } from '#kubelet/pod-worker/pod-steps.ts'
import type { RuntimeHelper } from '#kubelet/pod-worker/runtime-helper.ts'
import type { PodProbes } from '#kubelet/probes/pod-probes.ts'
import type { NodeResources } from '#kubelet/resources/node-resources.ts'
import type { Runtime } from '#kubelet/runtimes/runtime.ts'
import type { PodSource, StaticPodSource } from '#kubelet/sources/pod-source.ts'

export type KubeletOptions = {
  client: Client
  clock: Clock
  random: Random
  logger: Logger
  node: NodeDescription
  /** Looks at the machine again, so that the API is told what has changed; absent where nothing does. */
  describe?: () => Promise<NodeDescription>
  runtime: Runtime
  runtimeHelper?: RuntimeHelper
  probes: PodProbes
  hooks?: HookRunner
  /** One of its own where absent. */
  events?: EventRecorder
  /** The API's pods; started before the agent is. */
  pods: PodSource
  /** Started before the agent is. */
  staticPods?: readonly StaticPodSource[]
  /** Why the node takes no such pod while it has too little of something. */
  rejectionUnderPressure?: (pod: V1Pod) => Waiting | undefined
  /** Hands out what containers have for themselves; absent where there is nothing of the kind. */
  resources?: Pick<NodeResources, 'concerns' | 'admit' | 'settled' | 'release' | 'healthOf'>
  /** How devices that a container has by claims are. */
  claimHealthOf?: (pod: V1Pod, container: V1Container) => V1ResourceStatus[]
  /** Settings of the kernel that pods may change beside the safe ones. */
  allowedUnsafeSysctls?: readonly string[]
  metrics?: PodMetrics
  /** There is no API server: static pods are all there is. */
  isStandalone?: boolean
  /** Pods of the API that run before it answers, as it knew them last. */
  checkpointed?: readonly V1Pod[]
  /** Hears of the node's object whenever it was read. */
  onNode?: (node: V1Node) => void
  /** What keeps the node from being ready, beside its runtime. */
  problems?: () => readonly string[]
  makesNode?: boolean
  /** Containers that end again and again are started again after this long at the latest. */
  longestBackOffMs?: number
  /** How often the node looks at itself, tells though nothing has changed, and how long its sign of life is good for. */
  rhythm?: { checkMs: number; heartbeatMs: number; leaseSeconds: number }
  /** Goes on trying to register while the API server does not answer; static pods run meanwhile. */
  isPatient?: boolean
  /** How often to look for what events of the runtime have missed; absent where they miss nothing. */
  relistMs?: number
  /** How often files that mirror objects are brought up to date; absent where there are none. */
  refreshMs?: number
}
