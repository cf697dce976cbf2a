import { Pod } from '#api/core/v1/pod/pod.ts'
import { Secret } from '#api/core/v1/secret/secret.ts'
import { ServiceAccount } from '#api/core/v1/service-account.ts'
import type { V1Secret } from '#api/core/v1/types.gen.ts'
import { isNotFound } from '#api/meta/server-response.ts'
import type { Cache } from '#controllers/runtime/cache.ts'
import { defineLoop } from '#controllers/runtime/define-loop.ts'
import { createdMs } from '#controllers/workload/pods.ts'

const lastUsedLabel = 'kubernetes.io/legacy-token-last-used'
const invalidSinceLabel = 'kubernetes.io/legacy-token-invalid-since'
const dayMs = 24 * 3_600_000

/** Switches off, and a period later deletes, tokens that were made for service accounts by themselves and that nobody uses. */
export const legacyTokenCleaner = defineLoop({
  name: 'legacy-serviceaccount-token-cleaner-controller',
  alias: 'legacy-service-account-token-cleaner',
  serviceAccount: 'legacy-service-account-token-cleaner',
  reads: [Secret, ServiceAccount, Pod],
  periodMs: () => dayMs,

  begin({ cache, client, clock, settings }) {
    return async () => {
      const limitMs = clock.now() - settings.legacyTokenCleanUpPeriodMs
      for (const secret of cache.list(Secret)) {
        if (secret.type !== 'kubernetes.io/service-account-token' || !isAutoMade(secret, cache) || isMounted(secret, cache)) continue
        const { labels = {}, uid } = secret.metadata
        if (Math.max(createdMs(secret), dateMs(labels[lastUsedLabel])) > limitMs) continue
        const invalidSince = labels[invalidSinceLabel]
        if (invalidSince === undefined) {
          const today = new Date(clock.now()).toISOString().slice(0, 10)
          await client.patch(Secret, secret.metadata, { metadata: { labels: { [invalidSinceLabel]: today } } })
        } else if (dateMs(invalidSince) <= limitMs) {
          await client.delete(Secret, secret.metadata, uid === undefined ? {} : { uid }).catch((error: unknown) => {
            if (!isNotFound(error)) throw error
          })
        }
      }
    }
  },
})

const dateMs = (date: string | undefined): number => (date === undefined ? 0 : Date.parse(`${date}T00:00:00Z`) || 0)

/** Tokens that somebody asked for are not listed in their service account. */
function isAutoMade({ metadata }: V1Secret, cache: Cache): boolean {
  const { namespace = '', annotations = {} } = metadata
  const account = cache.get(ServiceAccount, namespace, annotations['kubernetes.io/service-account.name'] ?? '')
  if (account?.metadata.uid !== annotations['kubernetes.io/service-account.uid']) return false
  return (account?.secrets ?? []).some(({ name }) => name === metadata.name)
}

function isMounted({ metadata }: V1Secret, cache: Cache): boolean {
  return cache
    .list(Pod, metadata.namespace ?? '')
    .some(({ spec }) => (spec.volumes ?? []).some(({ secret }) => secret?.secretName === metadata.name))
}
