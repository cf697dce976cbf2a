import type { PodInfo } from '#scheduler/cache/pod-info.ts'

/** A pod that waits for a node, and what became of its attempts so far. */
export type QueuedPod = {
  info: PodInfo
  /** When it came into the queue the last time. */
  queuedAtMs: number
  /** Breaks ties, so that equals leave in the order in which they came. */
  order: number
  attempts: number
  firstAttemptAtMs: number | undefined
  unschedulableCount: number
  /** In a row. */
  errorCount: number
  /** Plugins that turned it down the last time: only what concerns these can help. */
  rejectedBy: ReadonlySet<string>
  pendingFor: ReadonlySet<string>
  /** The plugin whose `preEnqueue` holds it back. */
  gatedBy: string | undefined
  /** Something happened that would have moved it, had it not been held back. */
  movesOnceUngated: boolean
  wasFlushed: boolean
  /** Grows from pod to pod that is parked: what happened before it was parked is no news to it. */
  parkedOrder: number
  place: 'active' | 'backoff' | 'unschedulable' | 'in-flight' | 'gone'
  backoffUntilMs: number
}
