/** Which of several node groups shall grow. */
import type { V1Node } from '#api/core/v1/types.gen.ts'
import { parseQuantity } from '#api/meta/quantity.ts'
import type { Random } from '#base/random.ts'
import type { NodeGroup } from '#cluster-autoscaler/provider/node-group.ts'
import type { PodInfo } from '#scheduler/cache/pod-info.ts'

/** A group, how many nodes it would get, and the pods that would run on them. */
export type ExpansionOption = {
  readonly group: NodeGroup
  readonly nodeCount: number
  readonly pods: readonly PodInfo[]
  readonly template: V1Node
}

/** Keeps the best of the options; several when they are equally good, all when it cannot tell. */
export type Expander = { readonly name: string; best(options: readonly ExpansionOption[]): Promise<readonly ExpansionOption[]> }

export const mostPods: Expander = {
  name: 'most-pods',
  async best(options) {
    const most = Math.max(...options.map(({ pods }) => pods.length))
    return options.filter(({ pods }) => pods.length === most)
  },
}

export const leastNodes: Expander = {
  name: 'least-nodes',
  async best(options) {
    const least = Math.min(...options.map(({ nodeCount }) => nodeCount))
    return options.filter(({ nodeCount }) => nodeCount === least)
  },
}

/** The least processor and memory that nobody asked for, both as shares of what is added. */
export const leastWaste: Expander = {
  name: 'least-waste',
  async best(options) {
    const wastes = options.map(({ pods, nodeCount, template }) => {
      const { cpu = '0', memory = '0' } = template.status?.capacity ?? {}
      const [availableCpu, availableMemory] = [parseQuantity(cpu).milliValue() * nodeCount, parseQuantity(memory).value() * nodeCount]
      let [cpuMillis, bytes] = [0, 0]
      for (const { requests } of pods) {
        cpuMillis += requests.cpuMillis
        bytes += requests.memory
      }
      return (availableCpu - cpuMillis) / availableCpu + (availableMemory - bytes) / availableMemory
    })
    const least = Math.min(...wastes)
    return options.filter((_, index) => wastes[index] === least)
  },
}

/** One expander after the other, until one option is left; then chance. */
export async function chooseOption(
  options: readonly ExpansionOption[],
  expanders: readonly Expander[],
  random: Random,
): Promise<ExpansionOption | undefined> {
  let left = options
  for (const expander of expanders) {
    if (left.length <= 1) break
    left = await expander.best(left)
  }
  return left.length === 0 ? undefined : left[random.int(left.length)]
}
