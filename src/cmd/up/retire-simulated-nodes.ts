import { Node, Pod } from '#api/core/v1/kinds.gen.ts'
import { isNotFound } from '#api/meta/server-response.ts'
import type { RunningApiServer } from '#apiserver/run-api-server.ts'
import { clientInProcess } from '#cmd/all-in-one/client-in-process.ts'
import { simulatedLabel } from '#cmd/up/ready-text.ts'

/** Simulated nodes that an earlier start had and this one has not leave, and their pods with them: nobody would look after them. */
export async function retireSimulatedNodes(apiServer: RunningApiServer, wanted: ReadonlySet<string>): Promise<void> {
  const { cluster } = apiServer.server
  const leaving = cluster
    .list(Node)
    .filter(({ metadata }) => metadata.labels?.[simulatedLabel] === 'true' && !wanted.has(metadata.name ?? ''))
  if (leaving.length === 0) return
  const names = new Set(leaving.map(({ metadata }) => metadata.name ?? ''))
  const client = clientInProcess(apiServer, 'system:typernetes', ['system:masters'])
  const ignoringGone = (error: unknown) => {
    if (!isNotFound(error)) throw error
  }
  for (const { metadata, spec } of cluster.list(Pod)) {
    if (names.has(spec.nodeName ?? '')) await client.delete(Pod, metadata, { gracePeriodSeconds: 0 }).catch(ignoringGone)
  }
  for (const { metadata } of leaving) await client.delete(Node, metadata).catch(ignoringGone)
}
