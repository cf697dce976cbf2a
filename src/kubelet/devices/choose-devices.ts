/** Which devices a container gets: those its init containers had, then those near it, as the plugin prefers. */

import { errorMessage } from '#base/error-message.ts'
import type { DevicePool } from '#kubelet/devices/device-pool.ts'
import type { NumaMask } from '#kubelet/topology/numa-mask.ts'

export type DeviceChoice = {
  resource: string
  count: number
  pool: DevicePool
  reusable: ReadonlySet<string>
  inUse: ReadonlySet<string>
  affinity: NumaMask | undefined
}

/** Rejects where there are too few. */
export async function chooseDevices({ resource, count, pool, reusable, inUse, affinity }: DeviceChoice): Promise<Set<string>> {
  const chosen = new Set([...reusable].slice(0, count))
  if (chosen.size === count) return chosen
  const available = pool.healthy.difference(inUse).difference(chosen)
  const missing = count - chosen.size
  if (available.size < missing) {
    throw new Error(`requested number of devices unavailable for ${resource}. Requested: ${missing}, Available: ${available.size}`)
  }
  const take = (ids: Iterable<string>) => {
    for (const id of ids) if (chosen.size < count) chosen.add(id)
  }
  const { near, far, anywhere } = pool.sorted(available, affinity)
  if (missing < near.size) {
    take((await preferred(pool, near, chosen, count)).intersection(near))
    take(near)
    return chosen
  }
  take(near)
  if (chosen.size === count) return chosen
  take((await preferred(pool, available, chosen, count)).intersection(available))
  take(far)
  take(anywhere)
  return chosen
}

async function preferred(
  pool: DevicePool,
  available: ReadonlySet<string>,
  chosen: ReadonlySet<string>,
  count: number,
): Promise<Set<string>> {
  const { plugin } = pool
  if (plugin === undefined || !plugin.options.getPreferredAllocationAvailable) return new Set()
  try {
    return await plugin.preferred([...available.union(chosen)], [...chosen], count)
  } catch (error) {
    throw new Error(`device plugin GetPreferredAllocation rpc failed with err: ${errorMessage(error)}`)
  }
}
