import type { V1Node } from '#api/core/v1/types.gen.ts'
import { parseQuantity } from '#api/meta/quantity.ts'
import type { AutoscalerOptions } from '#cluster-autoscaler/options.ts'

type Amounts = { cores: number; bytes: number }

function capacityOf({ status }: V1Node): Amounts {
  const { cpu = '0', memory = '0' } = status?.capacity ?? {}
  return { cores: parseQuantity(cpu).milliValue() / 1000, bytes: parseQuantity(memory).value() }
}

/** What the cluster may have at most and at least, all groups together: `--cores-total`, `--memory-total`. */
export class ResourceLimits {
  readonly #options: Pick<AutoscalerOptions, 'coresTotal' | 'memoryTotalBytes'>
  readonly total: Amounts = { cores: 0, bytes: 0 }

  constructor(options: Pick<AutoscalerOptions, 'coresTotal' | 'memoryTotalBytes'>, nodes: readonly V1Node[]) {
    this.#options = options
    for (const node of nodes) this.add(node, 1)
  }

  add(node: V1Node, count: number): void {
    const { cores, bytes } = capacityOf(node)
    this.total.cores += cores * count
    this.total.bytes += bytes * count
  }

  /** How many more nodes like this there may be. */
  roomFor(node: V1Node): number {
    const { coresTotal, memoryTotalBytes } = this.#options
    const { cores, bytes } = capacityOf(node)
    const byCores = cores > 0 ? (coresTotal.max - this.total.cores) / cores : Number.POSITIVE_INFINITY
    const byMemory = bytes > 0 ? (memoryTotalBytes.max - this.total.bytes) / bytes : Number.POSITIVE_INFINITY
    return Math.max(0, Math.floor(Math.min(byCores, byMemory)))
  }

  /** Which of the two stand in the way of one more. */
  exceededBy(node: V1Node): string[] {
    const { coresTotal, memoryTotalBytes } = this.#options
    const { cores, bytes } = capacityOf(node)
    const exceeded: string[] = []
    if (this.total.cores + cores > coresTotal.max) exceeded.push('cpu')
    if (this.total.bytes + bytes > memoryTotalBytes.max) exceeded.push('memory')
    return exceeded
  }

  /** Whether the cluster has enough left without this node. */
  allowsRemoval(node: V1Node): boolean {
    const { coresTotal, memoryTotalBytes } = this.#options
    const { cores, bytes } = capacityOf(node)
    return this.total.cores - cores >= coresTotal.min && this.total.bytes - bytes >= memoryTotalBytes.min
  }
}
