/** Fills in cluster roles that are made of others (view, edit, admin), where no controller manager does. */

import { deepCopy } from '#api/meta/deep-copy.ts'
import { equalJson } from '#api/meta/patch/json-value.ts'
import { aggregatedRules } from '#api/rbac/v1/aggregated-rules.ts'
import { ClusterRole } from '#api/rbac/v1/kinds.gen.ts'
import { serverContext } from '#apiserver/registry/registries.ts'
import type { ApiServer } from '#apiserver/server.ts'
import type { Logger } from '#base/log.ts'

export async function aggregateClusterRoles(server: ApiServer, logger: Logger): Promise<Disposable> {
  let isDue = false
  let running: Promise<void> | undefined
  const run = async () => {
    // Changes that come together are looked at together.
    while (isDue) {
      await undefined
      isDue = false
      await aggregateAll(server)
    }
  }
  const settle = () => {
    isDue = true
    running ??= run()
      .catch((error: unknown) => logger.warn('failed to aggregate ClusterRoles', { error: String(error) }))
      .finally(() => {
        running = undefined
      })
    return running
  }
  const following = server.cluster.onChange(ClusterRole, () => void settle())
  await settle()
  return following
}

async function aggregateAll(server: ApiServer): Promise<void> {
  const roles = server.cluster.list(ClusterRole)
  for (const role of roles) {
    // Users' own are left to the controller manager.
    if (role.aggregationRule === undefined || role.metadata?.labels?.['kubernetes.io/bootstrapping'] === undefined) continue
    const rules = aggregatedRules(role, roles)
    if (rules === undefined || equalJson(rules, role.rules ?? [])) continue
    const registry = server.registries.of(ClusterRole)
    await registry.change(role.metadata?.name ?? '', serverContext(registry.definition, ''), {
      retriesConflicts: true,
      tracksFields: true,
      transform: (prev) => ({ ...deepCopy(prev), rules }),
    })
  }
}
