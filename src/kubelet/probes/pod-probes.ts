import type { V1Pod } from '#api/core/v1/types.gen.ts'
import type { ObservedPod, ProbeResults } from '#kubelet/runtimes/runtime.ts'

/** What a probe manager is told at every look at a pod. */
export type PodSight = {
  pod: V1Pod
  observed: ObservedPod
  /** The pod's first address; empty when it has none. */
  ip: string
  /** Its containers shall end: nobody asks any more whether they live. */
  isEnding: boolean
}

/** Results, and where the agent probes itself, what it must be told for that. */
export type PodProbes = ProbeResults & {
  follow?(sight: PodSight): void
  forget?(podUid: string): void
  /** Tells when a result of one of the pod's containers has changed. */
  onResult?(listener: (podUid: string) => void): Disposable
}
