/** What processes have used of processors so far, by /proc. */
import { readdirSync, readFileSync } from 'node:fs'

export type ProcessCpu = {
  pid: number
  parent: number
  command: string
  /** Its own. */
  seconds: number
  /** That of its children that have ended and were waited for. */
  childSeconds: number
}

/** Linux counts in hundredths of a second. */
const ticks = 100

/** All there are now; one that ends meanwhile is left out. */
export function processCpus(): ProcessCpu[] {
  const found: ProcessCpu[] = []
  for (const name of readdirSync('/proc').filter((each) => /^\d+$/.test(each))) {
    try {
      const stat = readFileSync(`/proc/${name}/stat`, 'utf8')
      // The name of the program is in brackets and may hold anything.
      const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
      const seconds = (first: number) => (Number(fields[first]) + Number(fields[first + 1])) / ticks
      const command = readFileSync(`/proc/${name}/cmdline`, 'utf8').replaceAll('\0', ' ')
      found.push({ pid: Number(name), parent: Number(fields[1]), command, seconds: seconds(11), childSeconds: seconds(13) })
    } catch {
      // It has ended.
    }
  }
  return found
}

/** Of the processes that have the directory in their command line, with those they have started: a container runtime and its containers. */
export function cpuSecondsOf(directory: string): number {
  const all = processCpus()
  const own = new Set(all.filter(({ command }) => command.includes(directory)).map(({ pid }) => pid))
  let sum = 0
  for (const { pid, parent, seconds, childSeconds } of all) {
    if (own.has(pid)) sum += seconds + childSeconds
    else if (own.has(parent)) sum += seconds
  }
  return sum
}
