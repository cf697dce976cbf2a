/** Which part of the program the thread of the event loop was busy with, out of the samples of the profiler. */
import type { Profiler } from 'node:inspector'

/** Shares of the time that it was busy, by part. */
export type Parts = Record<string, number>

/** The first that fits the function on top of the stack, or the one that called it, and so on. */
const parts: readonly (readonly [part: string, pattern: RegExp])[] = [
  ['owners of fields (managedFields)', /src\/api\/meta\/apply\/|managed-fields-ownership/],
  ['admission', /src\/apiserver\/(admission|metrics\/admission-metrics)/],
  ['JSON and copies', /src\/api\/codec\/|deep-copy|json-copy|own-bytes/],
  ['rules and validation', /before-(create|update)|src\/api\//],
  ['store', /src\/store\//],
  ['watch cache and watches', /src\/apiserver\/(watch-cache|http\/watch)/],
  [
    'access, fair use, metrics, records',
    /src\/apiserver\/(authn|authz|flow-control|fair-use|metrics|http\/(request-record|tracked-exchange))/,
  ],
  ['requests and registries', /src\/apiserver\//],
  ['informers, queues, clients', /src\/client\//],
  ['scheduler', /src\/scheduler\//],
  ['nodes', /src\/kubelet\//],
  ['controllers', /src\/controllers\//],
]

export function partsOf({ nodes, samples = [], timeDeltas = [] }: Profiler.Profile): Parts {
  const parents = new Map<number, number>()
  const frames = new Map(nodes.map(({ id, callFrame }) => [id, callFrame]))
  for (const { id, children = [] } of nodes) for (const child of children) parents.set(child, id)
  const partOfNode = new Map<number, string>()
  const partOf = (leaf: number): string => {
    const name = frames.get(leaf)?.functionName
    if (name === '(garbage collector)') return 'collecting garbage'
    for (let id: number | undefined = leaf; id !== undefined; id = parents.get(id)) {
      const url = frames.get(id)?.url ?? ''
      const found = parts.find(([, pattern]) => pattern.test(url))
      if (found !== undefined) return found[0]
    }
    return name === '(idle)' ? 'idle' : 'Node.js itself, sockets, the rest'
  }
  const times = new Map<string, number>()
  let busy = 0
  for (const [index, id] of samples.entries()) {
    let part = partOfNode.get(id)
    if (part === undefined) {
      part = partOf(id)
      partOfNode.set(id, part)
    }
    if (part === 'idle') continue
    const delta = timeDeltas[index] ?? 0
    busy += delta
    times.set(part, (times.get(part) ?? 0) + delta)
  }
  const sorted = [...times].sort(([, left], [, right]) => right - left)
  return Object.fromEntries(sorted.map(([part, time]) => [part, time / busy]))
}
