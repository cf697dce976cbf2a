import { nodeNetworkFor } from '#cmd/up/api-for-pods.ts'
import type { ClusterSeams } from '#cmd/up/cluster.ts'
import { chooseRuntime, type RuntimeChoice } from '#cmd/up/container-runtime.ts'
import type { UpOptions } from '#cmd/up/options.ts'
import type { NodeNetwork } from '#network/node-network.ts'

export type NodeChoice = { runtime: RuntimeChoice; network: NodeNetwork | undefined }

/** Which container runtime the real nodes use, and the network by which their pods reach the API. */
export async function chooseNode(options: UpOptions, seams: ClusterSeams): Promise<NodeChoice> {
  const runtime = await chooseRuntime(options, seams)
  return { runtime, network: runtime.kind === 'none' ? undefined : await nodeNetworkFor(options, seams) }
}
