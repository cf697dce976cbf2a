import type { KubernetesObject } from '#api/resource.ts'

/** Owners named twice are kept once, and the client is told. */
export function dropRepeatedOwners(object: KubernetesObject, warn: (text: string) => void, isAfterAdmission = false): void {
  const owners = object.metadata?.ownerReferences
  if (owners === undefined || owners.length < 2 || object.metadata === undefined) return
  const seen = new Set<string>()
  const repeated = new Set<string>()
  const kept = owners.filter((owner) => {
    const { apiVersion, kind, name, uid, controller, blockOwnerDeletion } = owner
    const written = JSON.stringify([apiVersion, kind, name, uid, controller, blockOwnerDeletion])
    if (seen.has(written)) repeated.add(uid)
    return !seen.has(written) && seen.add(written)
  })
  if (kept.length === owners.length) return
  object.metadata.ownerReferences = kept
  const when = isAfterAdmission ? ' after mutating admission happens' : ''
  warn(
    `.metadata.ownerReferences contains duplicate entries${when}; API server dedups owner references in 1.20+, and may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: ${[...repeated].join(', ')}`,
  )
}
