import type { V1Lease } from '#api/coordination/v1/types.gen.ts'

/** Times of servers are told in whole seconds, and a write may wait for its turn. */
const toleratedMs = 30_000

/**
 * How far the clocks of nodes are from that of the API server: a kubelet writes its own time into its lease, and the API server notes
 * when that was.
 */
export function clockProblems(nodeLeases: readonly V1Lease[]): string[] {
  return nodeLeases.flatMap(({ metadata, spec }) => {
    const renewedMs = Date.parse(spec?.renewTime ?? '')
    const notedMs = Math.max(...(metadata.managedFields ?? []).map(({ time }) => Date.parse(time ?? '')))
    const skewMs = renewedMs - notedMs
    // Who keeps no record of writers cannot tell.
    if (!Number.isFinite(skewMs) || Math.abs(skewMs) <= toleratedMs) return []
    const how = `${lengthOf(Math.abs(skewMs))} ${skewMs > 0 ? 'ahead of' : 'behind'}`
    return [
      `node ${metadata.name}: its clock is ${how} the API server's; certificates and tokens may be refused, let both follow a time server`,
    ]
  })
}

function lengthOf(ms: number): string {
  return ms < 120_000 ? `${Math.round(ms / 1000)} seconds` : `${Math.round(ms / 60_000)} minutes`
}
