import { Node } from '#api/core/v1/kinds.gen.ts'
import type { V1Node } from '#api/core/v1/types.gen.ts'
import type { Clock } from '#base/clock.ts'
import type { Client } from '#client/client.ts'
import { waitFor } from '#client/retry.ts'
import type { Runtime } from '#kubelet/runtimes/runtime.ts'

export type LayNetworkOptions = {
  nodeName: string
  client: Client
  clock: Clock
  runtime: Pick<Runtime, 'health'>
  lay(podCidrs: readonly string[]): Promise<void>
  /** The runtime has seen it, or takes long to. */
  onLaid(): void
  signal: AbortSignal
}

const networkPatienceMs = [20, 50, 100, 200, 400, 800, 1600, 3200]

/** Lays the network of pods once the node has its ranges of addresses. The node is ready once the runtime has seen it, which is told at once. */
export async function layNetwork({ nodeName: name, client, clock, runtime, lay, onLaid, signal }: LayNetworkOptions): Promise<void> {
  const hasRanges = (node: V1Node | undefined) => (node?.spec?.podCIDRs ?? []).length > 0
  const node = await waitFor(client, Node, { name }, hasRanges, { clock, signal, timeoutMs: Number.MAX_SAFE_INTEGER })
  await lay(node?.spec?.podCIDRs ?? [])
  for (const pauseMs of networkPatienceMs) {
    const { networkProblem } = (await runtime.health?.()) ?? {}
    if (networkProblem === undefined) break
    await clock.sleep(pauseMs, signal)
  }
  onLaid()
}
