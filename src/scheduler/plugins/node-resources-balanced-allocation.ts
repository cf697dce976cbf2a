import { defineSchedulerPlugin, maxNodeScore } from '#scheduler/framework/plugin.ts'
import { type ScoredResource, scoredCapacity, scoredRequest, scoredUse } from '#scheduler/plugins/resource-scoring.ts'

export type NodeResourcesBalancedAllocationArgs = { resources?: ScoredResource[] }

/** Prefers nodes on which the pod makes the use of the resources more even, rather than exhausting one and stranding the rest. */
export function nodeResourcesBalancedAllocation(args: NodeResourcesBalancedAllocationArgs) {
  const names = (args.resources ?? [{ name: 'cpu' }, { name: 'memory' }]).map(({ name }) => name)
  const withPod = new Float64Array(names.length)
  const withoutPod = new Float64Array(names.length)

  return defineSchedulerPlugin<undefined, number[]>({
    name: 'NodeResourcesBalancedAllocation',

    preScore(pod) {
      const requests = names.map((name) => scoredRequest(pod, name, false))
      // Pods that ask for nothing leave the balance as it is.
      return requests.every((request) => request === 0) ? 'skip' : requests
    },
    score(_, node, requests) {
      let count = 0
      for (let index = 0; index < names.length; index++) {
        const name = names[index] as string
        const request = requests[index] as number
        const capacity = scoredCapacity(node, name, request)
        if (capacity === 0) continue
        const used = scoredUse(node, name, false)
        withPod[count] = Math.min((used + request) / capacity, 1)
        withoutPod[count] = Math.min(used / capacity, 1)
        count++
      }
      const gain = evenness(withPod, count) - evenness(withoutPod, count)
      return maxNodeScore / 2 + Math.trunc((maxNodeScore / 2 + gain) / 2)
    },
  })
}

/** 100 when all are used alike, 50 at worst. */
function evenness(fractions: Float64Array, count: number): number {
  let deviation = 0
  if (count === 2) deviation = Math.abs(((fractions[0] as number) - (fractions[1] as number)) / 2)
  else if (count > 2) {
    let mean = 0
    for (let index = 0; index < count; index++) mean += (fractions[index] as number) / count
    let squares = 0
    for (let index = 0; index < count; index++) squares += ((fractions[index] as number) - mean) ** 2
    deviation = Math.sqrt(squares / count)
  }
  return Math.trunc((1 - deviation) * maxNodeScore)
}
