/** Processors taken evenly from as few NUMA nodes as will do, so that work which waits for its slowest part has no slow one. */
import type { CpuLayout } from '#kubelet/cpu-manager/cpu-layout.ts'
import { sortedNodes, type TakeOptions, takeCpus, tooFew } from '#kubelet/cpu-manager/take-cpus.ts'
import { type CpuSet, noCpus } from '#kubelet/topology/cpu-set.ts'

/** Throws where there are too few. Processors are handed out `groupSize` at a time. */
export function distributeCpus(machine: CpuLayout, available: CpuSet, count: number, groupSize: number, options: TakeOptions): CpuSet {
  const packed = () => takeCpus(machine, available, count, { sorting: options.sorting })
  if (count < 1 || count % groupSize !== 0) return packed()
  if (count > available.size) throw tooFew(count, available.size)
  const free = machine.only(available)
  const nodes = sortedNodes(machine, free)
  const groupsPerNode = Math.ceil(Math.ceil(machine.places.size / groupSize) / machine.ids('numa').length)
  const groups = Math.ceil(count / groupSize)
  const fewest = Math.ceil(groups / groupsPerNode)
  for (let size = fewest; size <= Math.min(groups, nodes.length); size++) {
    const best = bestCombination(free, nodes, size, count, groupSize)
    if (best !== undefined) return takeFrom(machine, free, best, count, groupSize, options)
  }
  return packed()
}

type Combination = { nodes: readonly number[]; remainder: readonly number[]; balance: number }

/** That which leaves the nodes as equally free as can be. */
function bestCombination(
  free: CpuLayout,
  nodes: readonly number[],
  size: number,
  count: number,
  groupSize: number,
): Combination | undefined {
  const freeOn = (node: number) => free.in('numa', node).size
  const share = Math.floor(count / size / groupSize) * groupSize
  let best: Combination | undefined
  for (const chosen of combinations(nodes, size)) {
    if (best?.balance === 0) break
    const wholeGroups = chosen.reduce((sum, node) => sum + Math.floor(freeOn(node) / groupSize), 0)
    if (wholeGroups * groupSize < count || chosen.some((node) => freeOn(node) < share)) continue
    const left = new Map(nodes.map((node) => [node, freeOn(node) - (chosen.includes(node) ? share : 0)]))
    const rest = bestRemainder(left, chosen, count - share * size, groupSize)
    if (rest.balance < (best?.balance ?? Number.POSITIVE_INFINITY)) best = { nodes: chosen, ...rest }
  }
  return best
}

function bestRemainder(
  left: ReadonlyMap<number, number>,
  chosen: readonly number[],
  remainder: number,
  groupSize: number,
): Pick<Combination, 'remainder' | 'balance'> {
  if (remainder === 0) return { remainder: [], balance: standardDeviation([...left.values()]) }
  const candidates = chosen.filter((node) => (left.get(node) ?? 0) >= groupSize)
  let best: Pick<Combination, 'remainder' | 'balance'> = { remainder: [], balance: Number.POSITIVE_INFINITY }
  for (let size = candidates.length; size >= 1; size--) {
    for (const subset of combinations(candidates, size)) {
      const after = new Map(left)
      const room = subset.reduce((sum, node) => sum + Math.floor((after.get(node) ?? 0) / groupSize) * groupSize, 0)
      if (room < remainder) continue
      for (const node of dealt(after, subset, remainder, groupSize)) after.set(node, (after.get(node) ?? 0) - groupSize)
      const balance = standardDeviation([...after.values()])
      if (balance < best.balance) best = { remainder: subset, balance }
    }
  }
  return best
}

/** In turn, from those that have enough, until all is dealt: the node of each group. */
function dealt(left: ReadonlyMap<number, number>, nodes: readonly number[], count: number, groupSize: number): number[] {
  const room = new Map(left)
  const turns: number[] = []
  for (let missing = count; missing > 0; ) {
    for (const node of nodes) {
      if (missing <= 0) break
      const has = room.get(node) ?? 0
      if (has < groupSize) continue
      room.set(node, has - groupSize)
      missing -= groupSize
      turns.push(node)
    }
  }
  return turns
}

function takeFrom(
  machine: CpuLayout,
  free: CpuLayout,
  { nodes, remainder }: Combination,
  count: number,
  groupSize: number,
  options: TakeOptions,
): CpuSet {
  const share = Math.floor(count / nodes.length / groupSize) * groupSize
  const left = new Map(remainder.map((node) => [node, free.in('numa', node).size - share]))
  const wanted = new Map(nodes.map((node) => [node, share]))
  for (const node of dealt(left, remainder, count - share * nodes.length, groupSize)) wanted.set(node, (wanted.get(node) ?? 0) + groupSize)
  let result = noCpus
  for (const [node, size] of wanted) {
    // The share first and then group by group, as if each were asked for by itself: cores fill up in that order.
    let taken = takeCpus(machine, free.in('numa', node), share, { sorting: options.sorting })
    while (taken.size < size) {
      taken = taken.union(takeCpus(machine, free.in('numa', node).difference(taken), groupSize, { sorting: options.sorting }))
    }
    result = result.union(taken)
  }
  return result
}

function* combinations(items: readonly number[], size: number, from = 0): Generator<number[]> {
  if (size === 0) {
    yield []
    return
  }
  for (let index = from; index <= items.length - size; index++) {
    for (const rest of combinations(items, size - 1, index + 1)) yield [items[index] as number, ...rest]
  }
}

/** To three places, so that what differs by rounding alone is equal. */
function standardDeviation(values: readonly number[]): number {
  const rounded = (value: number) => Math.round(value * 1000) / 1000
  const mean = rounded(values.reduce((sum, value) => sum + value, 0) / values.length)
  return rounded(Math.sqrt(values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / values.length))
}
