/** Who loads whom when the program runs: imports of types alone do not count, nor do those that wait for a call. */
import { posix } from 'node:path'

/** Paths from the repository's root, by the path of the file that imports them. */
export type ImportGraph = ReadonlyMap<string, readonly string[]>

export function importGraph(files: Iterable<readonly [path: string, source: string]>): ImportGraph {
  const graph = new Map([...files].map(([path, source]) => [path, runtimeImports(path, source)]))
  for (const [path, targets] of graph) {
    graph.set(
      path,
      targets.filter((target) => graph.has(target)),
    )
  }
  return graph
}

export function runtimeImports(path: string, source: string): string[] {
  const code = source.replace(/\/\*.*?\*\//gs, '')
  const found: string[] = []
  for (const [, what = '', target = ''] of code.matchAll(/^(?:import|export)\s+(?:([^'"`;]*?)\s*from\s*)?'([#.][^']+)'/gm)) {
    if (!isOfTypes(what)) found.push(target.startsWith('#') ? `src/${target.slice(1)}` : posix.join(posix.dirname(path), target))
  }
  return found
}

/** `type { A }`, or `{ type A, type B }`. */
function isOfTypes(what: string): boolean {
  if (/^type\s/.test(what)) return true
  const names = /^\{(.*)\}$/s
    .exec(what)?.[1]
    ?.split(',')
    .map((name) => name.trim())
  return (names?.some(Boolean) && names.every((name) => name === '' || name.startsWith('type '))) ?? false
}

/** The groups of files that import each other in a circle (Tarjan's strongly connected components). */
export function importCycles(graph: ImportGraph): string[][] {
  const order = new Map<string, number>()
  const lowest = new Map<string, number>()
  const open: string[] = []
  const cycles: string[][] = []
  const visit = (path: string): number => {
    const own = order.size
    order.set(path, own)
    lowest.set(path, own)
    open.push(path)
    for (const target of graph.get(path) ?? []) {
      const reached = order.has(target) ? (open.includes(target) ? (order.get(target) ?? own) : own) : visit(target)
      lowest.set(path, Math.min(lowest.get(path) ?? own, reached))
    }
    const low = lowest.get(path) ?? own
    if (low === own) {
      const group = open.splice(open.indexOf(path))
      if (group.length > 1 || graph.get(path)?.includes(path)) cycles.push(group)
    }
    return low
  }
  for (const path of graph.keys()) if (!order.has(path)) visit(path)
  return cycles
}

/** The shortest way from the file to one that is looked for, or undefined. */
export function importPath(graph: ImportGraph, from: string, isWanted: (path: string) => boolean): string[] | undefined {
  const cameFrom = new Map<string, string | undefined>([[from, undefined]])
  for (const path of cameFrom.keys()) {
    if (isWanted(path)) {
      const way: string[] = []
      for (let step: string | undefined = path; step !== undefined; step = cameFrom.get(step)) way.unshift(step)
      return way
    }
    for (const target of graph.get(path) ?? []) if (!cameFrom.has(target)) cameFrom.set(target, path)
  }
  return undefined
}
