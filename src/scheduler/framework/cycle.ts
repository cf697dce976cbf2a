import type { PodInfo } from '#scheduler/cache/pod-info.ts'
import type { AnyPlugin } from '#scheduler/framework/plugin.ts'
import type { Tally } from '#scheduler/framework/plugin-metrics.ts'

/** One attempt to place one pod: which plugins take part, and what they worked out about it. */
export class Cycle {
  readonly pod: PodInfo
  /** Those that did not skip, with their states in the same order. */
  filters: readonly AnyPlugin[] = []
  filterStates: unknown[] = []
  filterTallies: readonly Tally[] = []
  /** Whether each plugin is timed: that is too dear to be done for all pods. */
  readonly isSampled: boolean
  readonly states: Map<AnyPlugin, unknown>

  constructor(pod: PodInfo, isSampled = false, states: Map<AnyPlugin, unknown> = new Map()) {
    this.pod = pod
    this.isSampled = isSampled
    this.states = states
  }

  /** To try pods on and off a node without a trace in the original. */
  clone(): Cycle {
    const copy = new Cycle(this.pod, this.isSampled, new Map(this.states))
    copy.filters = this.filters
    copy.filterTallies = this.filterTallies
    copy.filterStates = this.filters.map((plugin, index) => {
      const state = this.filterStates[index]
      if (plugin.cloneState === undefined || state === undefined) return state
      const cloned = plugin.cloneState(state)
      copy.states.set(plugin, cloned)
      return cloned
    })
    return copy
  }
}
