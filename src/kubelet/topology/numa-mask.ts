/** Sets of NUMA nodes as bits of a number: bit 3 is node 3. */

/** The kernel of no machine we know counts further; bits beyond would not fit. */
export const maxNumaNodes = 30

export type NumaMask = number

export const maskOf = (nodes: Iterable<number>): NumaMask => {
  let mask = 0
  for (const node of nodes) mask |= 1 << node
  return mask
}

export function nodesIn(mask: NumaMask): number[] {
  const nodes: number[] = []
  for (let node = 0; node < maxNumaNodes; node++) if (hasNode(mask, node)) nodes.push(node)
  return nodes
}

export const hasNode = (mask: NumaMask, node: number): boolean => node >= 0 && node < maxNumaNodes && (mask & (1 << node)) !== 0

export function nodeCount(mask: NumaMask): number {
  let count = 0
  for (let rest = mask; rest !== 0; rest &= rest - 1) count++
  return count
}

/** Fewer nodes; of as many, those with lower numbers. */
export function isNarrower(mask: NumaMask, than: NumaMask): boolean {
  const difference = nodeCount(mask) - nodeCount(than)
  return difference === 0 ? mask < than : difference < 0
}

/** Every set of at least one of the nodes, the smaller ones first. */
export function masksOver(nodes: readonly number[]): NumaMask[] {
  const masks: NumaMask[] = []
  const extend = (mask: NumaMask, from: number, missing: number): void => {
    if (missing === 0) {
      masks.push(mask)
      return
    }
    for (let index = from; index <= nodes.length - missing; index++) extend(mask | (1 << (nodes[index] as number)), index + 1, missing - 1)
  }
  for (let size = 1; size <= nodes.length; size++) extend(0, 0, size)
  return masks
}
