/** Which processors of those that are free a container gets for itself: whole nodes, sockets and cores first, so that little is split. */
import type { CpuLayout } from '#kubelet/cpu-manager/cpu-layout.ts'
import { type CpuSet, noCpus, sortedCpus } from '#kubelet/topology/cpu-set.ts'

export type TakeOptions = {
  /** Fill up cores, or use as many of them as there are. */
  sorting: 'packed' | 'spread'
  prefersUncoreCache?: boolean
}

/** Throws where there are too few. */
export function takeCpus(machine: CpuLayout, available: CpuSet, count: number, options: TakeOptions): CpuSet {
  const taking = new Taking(machine, available, count, options)
  if (taking.isDone) return taking.result
  if (count > available.size) throw tooFew(count, available.size)
  for (const step of stepsOf(machine, options)) {
    step(taking)
    if (taking.isDone) return taking.result
  }
  throw new Error('failed to allocate cpus')
}

export const tooFew = (requested: number, available: number): Error =>
  new Error(`not enough cpus available to satisfy request: requested=${requested}, available=${available}`)

function stepsOf(machine: CpuLayout, { sorting, prefersUncoreCache }: TakeOptions): ((taking: Taking) => void)[] {
  // Where a socket has several nodes, sockets are the larger things.
  const largest = isNumaFirst(machine) ? (['numa', 'socket'] as const) : (['socket', 'numa'] as const)
  return [
    ...largest.map((part) => (taking: Taking) => taking.takeWhole(part)),
    ...(prefersUncoreCache ? [(taking: Taking) => taking.takeByCache()] : []),
    ...(sorting === 'packed' ? [(taking: Taking) => taking.takeWhole('core')] : []),
    (taking) => taking.takeRest(),
  ]
}

const isNumaFirst = (machine: CpuLayout): boolean => machine.ids('socket').length >= machine.ids('numa').length

/** Nodes in the order in which they are used up. */
export function sortedNodes(machine: CpuLayout, free: CpuLayout): number[] {
  if (isNumaFirst(machine)) return free.sorted('numa', free.ids('numa'))
  return sortedSockets(machine, free).flatMap((socket) => free.sorted('numa', free.idsWithin('numa', 'socket', socket)))
}

function sortedSockets(machine: CpuLayout, free: CpuLayout): number[] {
  if (!isNumaFirst(machine)) return free.sorted('socket', free.ids('socket'))
  return [...new Set(sortedNodes(machine, free).flatMap((node) => free.sorted('socket', free.idsWithin('socket', 'numa', node))))]
}

class Taking {
  readonly #machine: CpuLayout
  readonly #options: TakeOptions
  readonly #cpusPerCore: number
  #free: CpuLayout
  #missing: number
  result: CpuSet = noCpus

  constructor(machine: CpuLayout, available: CpuSet, count: number, options: TakeOptions) {
    this.#machine = machine
    this.#options = options
    this.#free = machine.only(available)
    this.#missing = count
    this.#cpusPerCore = Math.max(1, Math.floor(machine.places.size / Math.max(1, machine.ids('core').length)))
  }

  get isDone(): boolean {
    return this.#missing < 1
  }

  takeWhole(part: 'numa' | 'socket' | 'core' | 'uncore'): void {
    for (const id of this.#sorted(part)) {
      const whole = this.#machine.in(part, id)
      if (this.#free.in(part, id).size === whole.size && this.#missing >= whole.size) this.#take(whole)
    }
  }

  takeByCache(): void {
    const usual = Math.floor(this.#machine.places.size / Math.max(1, this.#machine.ids('uncore').length))
    for (const id of this.#sorted('uncore')) {
      if (this.#missing >= usual) this.takeWhole('uncore')
      if (this.isDone) return
      this.#takePartOfCache(id)
      if (this.isDone) return
    }
  }

  takeRest(): void {
    for (const cpu of this.#sortedCpus()) {
      this.#take(new Set([cpu]))
      if (this.isDone) return
    }
  }

  /** All that is missing, or nothing. */
  #takePartOfCache(id: number): void {
    const cores = sortedCpus(this.#free.idsWithin('core', 'uncore', id)).slice(0, Math.ceil(this.#missing / this.#cpusPerCore))
    let cpus = sortedCpus(this.#free.inAny('core', cores))
    if (this.#missing % 2 !== 0 && this.#cpusPerCore > 1 && cpus.length > this.#missing) cpus = cpus.slice(0, -1)
    if (cpus.length === this.#missing) this.#take(new Set(cpus))
  }

  #take(cpus: CpuSet): void {
    this.result = this.result.union(cpus)
    this.#free = this.#free.only(this.#free.cpus.difference(this.result))
    this.#missing -= cpus.size
  }

  #sorted(part: 'numa' | 'socket' | 'core' | 'uncore'): number[] {
    const free = this.#free
    if (part === 'numa') return sortedNodes(this.#machine, free)
    if (part === 'socket') return sortedSockets(this.#machine, free)
    if (part === 'uncore') {
      return sortedNodes(this.#machine, free).flatMap((node) => free.sorted('uncore', free.idsWithin('uncore', 'numa', node)))
    }
    const outer = isNumaFirst(this.#machine) ? 'socket' : 'numa'
    return this.#sorted(outer).flatMap((id) => free.sorted('core', free.idsWithin('core', outer, id)))
  }

  #sortedCpus(): number[] {
    if (this.#options.sorting === 'packed') return this.#sorted('core').flatMap((core) => sortedCpus(this.#free.in('core', core)))
    return this.#sorted('socket').flatMap((socket) => sortedCpus(this.#free.in('socket', socket)))
  }
}
