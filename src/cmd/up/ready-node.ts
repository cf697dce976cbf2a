import { Node } from '#api/core/v1/kinds.gen.ts'
import { isNodeReady } from '#api/core/v1/node/node-ready.ts'
import type { V1Node } from '#api/core/v1/types.gen.ts'
import type { Client } from '#client/client.ts'
import { waitFor } from '#client/retry.ts'
import type { ClusterSeams } from '#cmd/up/cluster.ts'

const longestMs = 15_000

/** Resolves when the node takes pods, or has had time enough for that: the cluster runs all the same, and `status` says what is wrong. */
export async function readyNode(
  client: Client,
  name: string,
  signal: AbortSignal,
  { clock, logger }: Pick<ClusterSeams, 'clock' | 'logger'>,
): Promise<void> {
  const isReady = (node: V1Node | undefined) => node !== undefined && isNodeReady(node)
  await waitFor(client, Node, { name }, isReady, { clock, signal, timeoutMs: longestMs }).catch((error: unknown) => {
    if (!signal.aborted) logger.warn('node is not ready yet', { node: name, error: String(error) })
  })
}
