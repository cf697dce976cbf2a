import { Node } from '#api/core/v1/kinds.gen.ts'
import type { Clock } from '#base/clock.ts'
import type { Client } from '#client/client.ts'

const firstPauseMs = 50
const longestPauseMs = 1000
const patienceMs = 120_000

/** Resolves when the node's status says that the volume is in use here, and attached: in this order the cluster will not detach it. */
export async function waitForAttach(
  uniqueName: string,
  nodeName: string,
  { client, clock }: { client: Client; clock: Clock },
): Promise<void> {
  const deadlineMs = clock.now() + patienceMs
  for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(longestPauseMs, pauseMs * 2)) {
    const { status } = await client.get(Node, '', nodeName)
    const isInUse = status?.volumesInUse?.includes(uniqueName) ?? false
    const isAttached = status?.volumesAttached?.some(({ name }) => name === uniqueName) ?? false
    if (isInUse && isAttached) return
    if (clock.now() >= deadlineMs) {
      throw new Error(
        isInUse
          ? `volume not attached according to node status (UniqueName: "${uniqueName}")`
          : `volume has not been added to the list of VolumesInUse in the node's volume status (UniqueName: "${uniqueName}")`,
      )
    }
    await clock.sleep(pauseMs)
  }
}
