/** Which work for a driver is done by somebody else already: by upstream's sidecars, beside the driver or alone. */

import { Lease } from '#api/coordination/v1/kinds.gen.ts'
import { Pod } from '#api/core/v1/kinds.gen.ts'
import { parseTime } from '#api/meta/time.ts'
import type { V1CSIDriver } from '#api/storage/v1/types.gen.ts'
import type { Clock } from '#base/clock.ts'
import type { Client } from '#client/client.ts'

export type Role = 'provisioner' | 'attacher' | 'resizer' | 'snapshotter'

const roles: readonly Role[] = ['provisioner', 'attacher', 'resizer', 'snapshotter']
/** `built-in`: all is done here, whatever else runs. `external`: nothing is. */
const annotation = 'typernetes.dev/csi-controller'
const freshMs = 60_000

/**
 * A sidecar is known by the lease it holds for the driver. One without a lease is known by its image: while any runs in the cluster,
 * nobody here does that work for drivers whose CSIDriver does not say `built-in`.
 */
export async function rolesOfSidecars(
  driver: string,
  rules: V1CSIDriver | undefined,
  client: Pick<Client, 'list'>,
  clock: Clock,
): Promise<Set<Role>> {
  const said = rules?.metadata?.annotations?.[annotation]
  if (said === 'built-in') return new Set()
  if (said === 'external') return new Set(roles)
  const taken = new Set<Role>()
  const { items: leases } = await client.list(Lease)
  const known = leasesOf(driver)
  for (const { metadata, spec } of leases) {
    const role = known.get(metadata?.name ?? '')
    const isFresh = spec?.holderIdentity && spec.renewTime !== undefined && clock.now() - parseTime(spec.renewTime) < freshMs
    if (role !== undefined && isFresh) taken.add(role)
  }
  const { items: pods } = await client.list(Pod)
  for (const { spec, status } of pods) {
    if (status?.phase !== 'Running') continue
    for (const { image = '' } of spec.containers) {
      const role = roles.find((each) => new RegExp(`(?:^|/)csi-${each}(?:[:@]|$)`).test(image))
      if (role !== undefined) taken.add(role)
    }
  }
  return taken
}

/** As upstream's sidecars name theirs. */
function leasesOf(driver: string): Map<string, Role> {
  const plain = driver.replaceAll('/', '-')
  const dashed = driver.replace(/[^a-zA-Z0-9-]/g, '-')
  return new Map([
    [plain, 'provisioner'],
    [dashed, 'provisioner'],
    [`external-attacher-leader-${dashed}`, 'attacher'],
    [`external-resizer-${dashed}`, 'resizer'],
    [`external-snapshotter-leader-${dashed}`, 'snapshotter'],
  ])
}
