/** Who owns whom: every object of a namespace, found by its owner. */
import type { ApiObject, Call } from '#cli/call.ts'
import { resourcePath } from '#cli/session/resource-types.ts'
import type { ResourceType } from '#cli/session/served-resources.ts'

export type Owned = { object: ApiObject; type: ResourceType }

/** Kinds that own nothing and that nobody looks for in a tree. */
const skipped = new Set(['events', 'bindings', 'localsubjectaccessreviews', 'podmetrics'])

/** All objects of the namespace that have owners, by the owner's uid. */
export async function ownedObjects(call: Call, namespace: string): Promise<Map<string, Owned[]>> {
  const { resources } = await (await call.session.types).all()
  const rest = await call.session.rest
  const first = new Map<string, ResourceType>()
  for (const type of resources)
    if (type.isNamespaced && type.verbs.includes('list') && !skipped.has(type.plural) && !first.has(`${type.plural}.${type.group}`))
      first.set(`${type.plural}.${type.group}`, type)
  const owned = new Map<string, Owned[]>()
  const seen = new Set<string | undefined>()
  await Promise.all(
    [...first.values()].map(async (type) => {
      // What may not be read is not shown.
      const list = await rest
        .json<{ items?: ApiObject[]; apiVersion?: string }>({ path: resourcePath(type, namespace), isQuiet: true })
        .catch(() => undefined)
      for (const item of list?.items ?? []) {
        const object = { kind: type.kind, apiVersion: list?.apiVersion ?? '', ...item }
        // The same object may be served in several groups.
        if (seen.has(item.metadata?.uid)) continue
        seen.add(item.metadata?.uid)
        for (const { uid } of item.metadata?.ownerReferences ?? []) owned.set(uid, [...(owned.get(uid) ?? []), { object, type }])
      }
    }),
  )
  return owned
}

type Condition = { type: string; status: string; reason?: string; message?: string }

/** `True`, `False` or nothing, and why, of the condition that tells how an object fares. */
export function readinessOf(object: ApiObject): { ready: string; reason: string } {
  const status = (object['status'] ?? {}) as { conditions?: Condition[]; phase?: string; readyReplicas?: number; replicas?: number }
  const condition = ['Ready', 'Available', 'Complete', 'Established']
    .map((type) => status.conditions?.find((each) => each.type === type))
    .find((each) => each !== undefined)
  if (condition !== undefined) return { ready: condition.status, reason: condition.status === 'True' ? '' : (condition.reason ?? '') }
  if (object.kind === 'ReplicaSet' || object.kind === 'StatefulSet' || object.kind === 'ReplicationController') {
    const wanted = (object['spec'] as { replicas?: number } | undefined)?.replicas ?? 0
    return {
      ready: (status.readyReplicas ?? 0) >= wanted ? 'True' : 'False',
      reason: (status.readyReplicas ?? 0) >= wanted ? '' : `${status.readyReplicas ?? 0} of ${wanted} ready`,
    }
  }
  return { ready: '', reason: status.phase ?? '' }
}
