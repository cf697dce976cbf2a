/** Sets of processors as the kernel writes them: `0-3,8`. */

export type CpuSet = ReadonlySet<number>

export const noCpus: CpuSet = new Set()

/** Throws where the text is no such list. */
export function parseCpuSet(text: string): CpuSet {
  const cpus = new Set<number>()
  for (const part of text.trim().split(',').filter(Boolean)) {
    const range = /^(\d+)(?:-(\d+))?$/.exec(part.trim())
    if (range === null) throw new Error(`${JSON.stringify(text)} is no list of CPUs`)
    const first = Number(range[1])
    const last = Number(range[2] ?? first)
    // A list that a machine could not have is a mistake, and would take for ever.
    if (last < first || last > 65_535) throw new Error(`${JSON.stringify(text)} is no list of CPUs`)
    for (let cpu = first; cpu <= last; cpu++) cpus.add(cpu)
  }
  return cpus
}

export function formatCpuSet(cpus: CpuSet): string {
  const ranges: [number, number][] = []
  for (const cpu of sortedCpus(cpus)) {
    const last = ranges.at(-1)
    if (last !== undefined && last[1] === cpu - 1) last[1] = cpu
    else ranges.push([cpu, cpu])
  }
  return ranges.map(([first, last]) => (first === last ? `${first}` : `${first}-${last}`)).join(',')
}

export const sortedCpus = (cpus: Iterable<number>): number[] => [...cpus].sort((left, right) => left - right)

export const sameCpus = (one: CpuSet, other: CpuSet): boolean => one.size === other.size && one.isSubsetOf(other)
