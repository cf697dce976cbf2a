/** The processors of a machine, or those of them that are free, by what they share. */

import type { CpuSet } from '#kubelet/topology/cpu-set.ts'
import type { CpuPlace, MachineTopology } from '#kubelet/topology/machine-topology.ts'

export type Part = 'core' | 'uncore' | 'socket' | 'numa'

export class CpuLayout {
  readonly places: ReadonlyMap<number, CpuPlace>
  readonly #groups = new Map<Part, Map<number, Set<number>>>()

  constructor(places: Iterable<CpuPlace>) {
    this.places = new Map([...places].map((place) => [place.cpu, place]))
  }

  static of({ cpus }: MachineTopology): CpuLayout {
    return new CpuLayout(cpus)
  }

  only(cpus: CpuSet): CpuLayout {
    return new CpuLayout([...this.places.values()].filter(({ cpu }) => cpus.has(cpu)))
  }

  get cpus(): CpuSet {
    return new Set(this.places.keys())
  }

  ids(part: Part): number[] {
    return [...this.#by(part).keys()]
  }

  in(part: Part, id: number): CpuSet {
    return this.#by(part).get(id) ?? new Set()
  }

  inAny(part: Part, ids: Iterable<number>): CpuSet {
    const all = new Set<number>()
    for (const id of ids) for (const cpu of this.in(part, id)) all.add(cpu)
    return all
  }

  /** Of one part, those that lie within one of another. */
  idsWithin(part: Part, outer: Part, outerId: number): number[] {
    const ids = new Set<number>()
    for (const cpu of this.in(outer, outerId)) ids.add((this.places.get(cpu) as CpuPlace)[part])
    return [...ids]
  }

  /** Those with the fewest processors first. */
  sorted(part: Part, ids: number[]): number[] {
    return ids.sort((left, right) => this.in(part, left).size - this.in(part, right).size || left - right)
  }

  #by(part: Part): Map<number, Set<number>> {
    const known = this.#groups.get(part)
    if (known !== undefined) return known
    const groups = new Map<number, Set<number>>()
    for (const place of this.places.values()) {
      const group = groups.get(place[part])
      if (group === undefined) groups.set(place[part], new Set([place.cpu]))
      else group.add(place.cpu)
    }
    this.#groups.set(part, groups)
    return groups
  }
}
