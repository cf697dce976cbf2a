/** Fills in cluster roles that are made of others (view, edit, admin), where no controller manager does. */
import { deepCopy } from '#api/meta/deep-copy.ts'
import { labelSelectorFrom } from '#api/meta/selector.ts'
import type { V1ClusterRole, V1PolicyRule } from '#api/rbac/v1/types.gen.ts'
import { serverContext } from '#apiserver/registry/registries.ts'
import { sameJson } from '#apiserver/registry/same-json.ts'
import type { ApiServer } from '#apiserver/server.ts'
import type { Logger } from '#base/log.ts'

const group = 'rbac.authorization.k8s.io'

export async function aggregateClusterRoles(server: ApiServer, logger: Logger): Promise<Disposable> {
  let pending = Promise.resolve()
  const settle = () => {
    pending = pending
      .then(() => aggregateAll(server))
      .catch((error: unknown) => logger.warn('cluster roles could not be aggregated', { error: String(error) }))
    return pending
  }
  const following = server.cluster.onChange(group, 'clusterroles', () => void settle())
  await settle()
  return following
}

async function aggregateAll(server: ApiServer): Promise<void> {
  const roles = server.cluster.list(group, 'clusterroles') as V1ClusterRole[]
  for (const role of roles) {
    if (role.aggregationRule === undefined) continue
    const rules = aggregatedRules(role, roles)
    if (sameJson(rules, role.rules ?? [])) continue
    const registry = server.registries.of(group, 'clusterroles')
    await registry.update(role.metadata?.name ?? '', serverContext(registry.definition, ''), {
      retriesConflicts: true,
      transform: (prev) => ({ ...deepCopy(prev), rules }) as V1ClusterRole,
    })
  }
}

/** The rules of all roles the selectors choose, in order of name, each once. */
export function aggregatedRules(role: V1ClusterRole, roles: readonly V1ClusterRole[]): V1PolicyRule[] {
  const rules: V1PolicyRule[] = []
  for (const selector of role.aggregationRule?.clusterRoleSelectors ?? []) {
    const chosen = labelSelectorFrom(selector)
    const sources = roles.filter((each) => each.metadata?.name !== role.metadata?.name && chosen.matches(each.metadata?.labels ?? {}))
    for (const source of sources.toSorted((left, right) => ((left.metadata?.name ?? '') < (right.metadata?.name ?? '') ? -1 : 1))) {
      for (const rule of source.rules ?? []) if (!rules.some((known) => sameJson(known, rule))) rules.push(rule)
    }
  }
  return rules
}
