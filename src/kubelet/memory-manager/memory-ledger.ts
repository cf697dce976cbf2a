/** How much memory of each kind is promised on each NUMA node, and to which containers; written down as it changes. */

import { isDeepStrictEqual } from 'node:util'
import type { Files } from '#base/files.ts'
import { omitEmpty } from '#base/omit-empty.ts'
import { CheckpointFile } from '#kubelet/checkpoint-file.ts'
import { hugePagesResource } from '#kubelet/node/huge-pages-resource.ts'
import type { NumaNode } from '#kubelet/topology/machine-topology.ts'

export type MemoryBlock = { numaAffinity: number[]; type: string; size: number }

type MemoryTable = { total: number; systemReserved: number; allocatable: number; reserved: number; free: number }

type NodeLedger = {
  numberOfAssignments: number
  memoryMap: Record<string, MemoryTable>
  /** The nodes that this one is used together with, itself included. */
  cells: number[]
}

type Written = {
  policyName: 'Static'
  machineState: Record<string, NodeLedger>
  entries?: Record<string, Record<string, MemoryBlock[]>>
}

/** By node and kind of memory, in bytes. */
export type ReservedMemory = ReadonlyMap<number, Readonly<Record<string, number>>>

export class MemoryLedger {
  readonly #file: CheckpointFile<Written>
  readonly #entries = new Map<string, Map<string, MemoryBlock[]>>()
  readonly #nodes: Map<number, NodeLedger>

  constructor(files: Files, path: string, nodes: readonly NumaNode[], reserved: ReservedMemory) {
    this.#file = new CheckpointFile(files, path)
    this.#nodes = new Map(nodes.map((node) => [node.id, emptyLedger(node, reserved.get(node.id) ?? {})]))
  }

  /** Throws where what was written down is not of this machine. */
  async load(): Promise<void> {
    const advice = `please drain this node and delete the memory manager checkpoint file "${this.#file.path}" before restarting Kubelet`
    const written = await this.#file.read().catch((error: unknown): never => {
      throw new Error(`could not restore state from checkpoint: ${String(error)}, ${advice}`)
    })
    if (written === undefined) return
    for (const [id, { memoryMap }] of Object.entries(written.machineState)) {
      const sizes = (tables: Record<string, MemoryTable>) =>
        Object.entries(tables).map(([type, { total, systemReserved }]) => [type, total, systemReserved])
      if (!isDeepStrictEqual(sizes(memoryMap), sizes(this.#nodes.get(Number(id))?.memoryMap ?? {}))) {
        throw new Error(`[memorymanager] the expected machine state is different from the real one, ${advice}`)
      }
    }
    for (const [uid, containers] of Object.entries(written.entries ?? {})) {
      for (const [name, blocks] of Object.entries(containers)) this.set(uid, name, blocks, blocks)
    }
    // Init containers' memory that others use again was counted once: the figures as they were are right.
    for (const [id, ledger] of Object.entries(written.machineState)) this.#nodes.set(Number(id), ledger)
  }

  save(): Promise<void> {
    const entries = Object.fromEntries([...this.#entries].map(([uid, containers]) => [uid, Object.fromEntries(containers)]))
    return this.#file.write({
      policyName: 'Static',
      machineState: Object.fromEntries(this.#nodes),
      ...omitEmpty({ entries }),
    })
  }

  get nodes(): ReadonlyMap<number, Readonly<NodeLedger>> {
    return this.#nodes
  }

  of(podUid: string, container: string): MemoryBlock[] | undefined {
    return this.#entries.get(podUid)?.get(container)
  }

  has(podUid: string): boolean {
    return this.#entries.has(podUid)
  }

  get podUids(): string[] {
    return [...this.#entries.keys()]
  }

  free(nodes: readonly number[], type: string): number {
    return nodes.reduce((sum, id) => sum + (this.#nodes.get(id)?.memoryMap[type]?.free ?? 0), 0)
  }

  allocatable(nodes: readonly number[], type: string): number {
    return nodes.reduce((sum, id) => sum + (this.#nodes.get(id)?.memoryMap[type]?.allocatable ?? 0), 0)
  }

  /** The container has these; of them, `added` is taken from what was free. */
  set(podUid: string, container: string, blocks: readonly MemoryBlock[], added: readonly MemoryBlock[]): void {
    const containers = this.#entries.get(podUid) ?? new Map<string, MemoryBlock[]>()
    containers.set(container, [...blocks])
    this.#entries.set(podUid, containers)
    for (const block of added) this.#move(block, 1)
  }

  /** Says how much of an earlier container's memory is now counted as another's. */
  shrink(podUid: string, container: string, blocks: MemoryBlock[]): void {
    this.#entries.get(podUid)?.set(container, blocks)
  }

  forget(podUid: string): void {
    for (const blocks of this.#entries.get(podUid)?.values() ?? []) for (const block of blocks) this.#move(block, -1)
    this.#entries.delete(podUid)
  }

  #move({ numaAffinity, type, size }: MemoryBlock, direction: 1 | -1): void {
    let rest = size
    for (const id of numaAffinity) {
      const ledger = this.#nodes.get(id)
      if (ledger === undefined) continue
      ledger.numberOfAssignments += direction
      if (direction > 0) ledger.cells = [...numaAffinity]
      else if (ledger.numberOfAssignments === 0) ledger.cells = [id]
      const table = ledger.memoryMap[type]
      if (table === undefined) continue
      const part = Math.min(rest, direction > 0 ? table.free : table.reserved)
      table.free -= direction * part
      table.reserved += direction * part
      rest -= part
    }
  }
}

function emptyLedger({ id, memoryBytes, hugePages }: NumaNode, reserved: Readonly<Record<string, number>>): NodeLedger {
  const memoryMap: Record<string, MemoryTable> = {}
  let hugeBytes = 0
  const add = (type: string, total: number, kept: number) => {
    const systemReserved = reserved[type] ?? 0
    const allocatable = Math.max(0, total - systemReserved - kept)
    memoryMap[type] = { total, systemReserved, allocatable, reserved: 0, free: allocatable }
  }
  for (const [kibibytes, count] of hugePages) {
    add(hugePagesResource(kibibytes), count * kibibytes * 1024, 0)
    hugeBytes += count * kibibytes * 1024
  }
  add('memory', memoryBytes, hugeBytes)
  return { numberOfAssignments: 0, memoryMap, cells: [id] }
}
