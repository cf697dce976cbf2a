import { Lease } from '#api/coordination/v1/kinds.gen.ts'
import type { V1Lease } from '#api/coordination/v1/types.gen.ts'
import { StorageVersion } from '#api/internal/v1alpha1/kinds.gen.ts'
import type { V1alpha1ServerStorageVersion, V1alpha1StorageVersion } from '#api/internal/v1alpha1/types.gen.ts'
import { findCondition } from '#api/meta/find-condition.ts'
import { isNotFound } from '#api/meta/server-response.ts'
import { formatTime } from '#api/meta/time.ts'
import type { Clock } from '#base/clock.ts'
import { defined } from '#base/defined.ts'
import { defineController, type ReconcileContext } from '#controllers/runtime/define-controller.ts'
import { on } from '#controllers/runtime/triggers.ts'
import { whereServed } from '#controllers/runtime/where-served.ts'

/** Forgets what API servers that are gone said they store. */
export const storageVersionGc = whereServed(
  StorageVersion,
  defineController({
    name: 'storageversion-garbage-collector-controller',
    alias: 'storage-version-gc',
    queueName: 'storage_version_garbage_collector',
    serviceAccount: 'storage-version-garbage-collector',
    isNeeded: ({ isEnabled }) => isEnabled('APIServerIdentity') && isEnabled('StorageVersionAPI'),
    for: StorageVersion,
    watches: [
      on(Lease, (lease, cache, { isGone }) =>
        isGone && isIdentity(lease) ? cache.list(StorageVersion).map(({ metadata }) => metadata.name ?? '') : [],
      ),
    ],
    async reconcile(version, context) {
      const servers = version.status?.storageVersions ?? []
      const alive: V1alpha1ServerStorageVersion[] = []
      for (const server of servers) if (await isAlive(server.apiServerID, context)) alive.push(server)
      if (alive.length === servers.length) return
      const { name = '' } = version.metadata
      if (alive.length > 0)
        await context.client.updateStatus(StorageVersion, { ...version, status: statusOf(version, alive, context.clock) })
      else await context.client.delete(StorageVersion, { name })
    },
  }),
)

const isIdentity = ({ metadata }: V1Lease): boolean =>
  metadata.namespace === 'kube-system' && metadata.labels?.['apiserver.kubernetes.io/identity'] === 'kube-apiserver'

/** The server is asked where the cache knows of none: a server that has just started is not to be forgotten. */
async function isAlive(id: string, { cache, client }: ReconcileContext): Promise<boolean> {
  const known = cache.get(Lease, 'kube-system', id)
  if (known !== undefined && isIdentity(known)) return true
  try {
    return isIdentity(await client.get(Lease, 'kube-system', id))
  } catch (error) {
    if (isNotFound(error)) return false
    throw error
  }
}

/** The version that all servers write, if there is one. */
function statusOf(
  { metadata, status }: V1alpha1StorageVersion,
  servers: V1alpha1ServerStorageVersion[],
  clock: Clock,
): V1alpha1StorageVersion['status'] & object {
  const [first] = servers
  const common = servers.every((server) => server.encodingVersion === first?.encodingVersion) ? first?.encodingVersion : undefined
  const type = 'AllEncodingVersionsEqual'
  const before = findCondition(status?.conditions, type)
  const next = common === undefined ? 'False' : 'True'
  const isSame = before?.status === next && (status?.commonEncodingVersion === common || common === undefined)
  const condition = {
    ...{ type, status: next, lastTransitionTime: isSame ? (before.lastTransitionTime ?? null) : formatTime(clock.now()) },
    reason: common === undefined ? 'CommonEncodingVersionUnset' : 'CommonEncodingVersionSet',
    message: common === undefined ? 'Common encoding version unset' : 'Common encoding version set',
    ...defined({ observedGeneration: metadata.generation }),
  }
  const conditions = [...(status?.conditions ?? []).filter((each) => each !== before), condition]
  return { storageVersions: servers, conditions, ...defined({ commonEncodingVersion: common }) }
}
