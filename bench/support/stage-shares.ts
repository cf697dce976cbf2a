/** Which part of the API server a profile's time was spent in. */

export type Profile = {
  nodes: { id: number; callFrame: { functionName: string; url: string }; children?: number[] }[]
  samples: number[]
}

/** Of a sample's frames the innermost that is of one of these says where it was; the first that fits a frame counts. */
const stages: readonly [string, RegExp][] = [
  ['watch cache, watches', /\/src\/apiserver\/(watch-cache|http\/watch)/],
  ['admission', /\/src\/apiserver\/(admission|webhooks)\//],
  ['authentication', /\/src\/apiserver\/authn\//],
  ['authorization', /\/src\/apiserver\/authz\//],
  ['flow control, fair use', /\/src\/apiserver\/(flow-control|fair-use)\/|request-turns/],
  ['audit', /\/src\/apiserver\/audit\//],
  ['who owns which field', /field-ownership|fields-ownership|\/src\/api\/meta\/(fields|managed)|\/src\/apiserver\/apply|field-set/],
  ['store', /\/src\/store\/|\/src\/base\/sqlite/],
  ['reading the body', /\/src\/apiserver\/http\/(decode|entry-limits)|\/src\/api\/codec\/.*(decode|read)/],
  [
    'encoding: what is stored, and the answer',
    /\/src\/apiserver\/http\/(encode|answers|asked-form|send|content-coding|table)|\/src\/api\/codec\//,
  ],
  ['defaults, validation', /\/src\/api\//],
  ['registry', /\/src\/apiserver\/registry\//],
  [
    'metrics, traces, logs',
    /\/src\/apiserver\/(metrics|watchdog)|request-record|\/src\/base\/(metrics|tracing|log|pino|text-logger|flight)|node_modules\/pino/,
  ],
  ['routing, request info', /\/src\/apiserver\//],
  ['HTTP/2 and TLS', /^node:(internal\/)?(http2|_http|http|tls|_tls|net|stream|js_stream|streams)|\/src\/base\/(http|frame|paced)/],
]

/** Of the time in which something was done: a share for each, the largest first. */
export function stageShares({ nodes, samples }: Profile): [string, number][] {
  const byId = new Map(nodes.map((node) => [node.id, node]))
  const parentOf = new Map(nodes.flatMap(({ id, children = [] }) => children.map((child) => [child, id] as const)))
  const known = new Map<number, string>()
  const stageOf = (id: number): string => {
    const cached = known.get(id)
    if (cached !== undefined) return cached
    const { functionName = '', url = '' } = byId.get(id)?.callFrame ?? {}
    const parent = parentOf.get(id)
    const own =
      functionName === '(garbage collector)'
        ? 'garbage collection'
        : (stages.find(([, pattern]) => pattern.test(url))?.[0] ??
          (parent === undefined ? 'outside JavaScript (sockets, TLS, event loop)' : stageOf(parent)))
    known.set(id, own)
    return own
  }
  const busy = samples.filter((id) => byId.get(id)?.callFrame.functionName !== '(idle)')
  const counts = Map.groupBy(busy, stageOf)
  return [...counts].map(([stage, of]): [string, number] => [stage, of.length / busy.length]).sort((one, other) => other[1] - one[1])
}
