import type { NodeInfo } from '#scheduler/cache/node-info.ts'
import type { PodInfo } from '#scheduler/cache/pod-info.ts'

export type ExtenderFilterAnswer = {
  readonly feasible: readonly NodeInfo[]
  /** Why not, by node. */
  readonly failed: ReadonlyMap<string, string>
  readonly failedForGood: ReadonlyMap<string, string>
}

export type Victims = { readonly pods: readonly PodInfo[]; readonly budgetViolations: number }

/** Another program that has a say in where pods go. */
export type Extender = {
  readonly name: string
  /** Go on without it when it fails. */
  readonly isIgnorable: boolean
  readonly filters: boolean
  readonly prioritizes: boolean
  readonly binds: boolean
  readonly preempts: boolean
  readonly weight: number
  isInterested(pod: PodInfo): boolean
  filter(pod: PodInfo, nodes: readonly NodeInfo[]): Promise<ExtenderFilterAnswer>
  /** 0 to 10, by node. */
  prioritize(pod: PodInfo, nodes: readonly NodeInfo[]): Promise<ReadonlyMap<string, number>>
  bind(pod: PodInfo, nodeName: string): Promise<void>
  processPreemption(pod: PodInfo, victims: ReadonlyMap<string, Victims>): Promise<ReadonlyMap<string, Victims>>
}
