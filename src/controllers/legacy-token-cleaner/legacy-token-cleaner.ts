import { ConfigMap, Pod, Secret, ServiceAccount } from '#api/core/v1/kinds.gen.ts'
import type { V1Secret } from '#api/core/v1/types.gen.ts'
import { ignoreNotFound, isConflict, isNotFound } from '#api/meta/server-response.ts'
import type { Client } from '#client/client.ts'
import type { Cache } from '#controllers/runtime/cache.ts'
import { defineLoop, type LoopContext } from '#controllers/runtime/define-loop.ts'
import { createdMs, isDeleting } from '#controllers/workload/pods.ts'

const lastUsedLabel = 'kubernetes.io/legacy-token-last-used'
const invalidSinceLabel = 'kubernetes.io/legacy-token-invalid-since'
const trackingConfigMap = 'kube-apiserver-legacy-service-account-token-tracking'
const dayMs = 24 * 3_600_000

/** Switches off, and a period later deletes, tokens that were made for service accounts by themselves and that nobody uses. */
export const legacyTokenCleaner = defineLoop({
  name: 'legacy-serviceaccount-token-cleaner-controller',
  alias: 'legacy-service-account-token-cleaner',
  serviceAccount: 'legacy-service-account-token-cleaner',
  reads: [Secret, ServiceAccount, Pod],
  periodMs: () => dayMs,

  begin: (context) => () => cleanUpTokens(context),
})

type TokenCleanerContext = Pick<LoopContext, 'clock' | 'logger' | 'settings'> & { cache: Reads; client: Writes }
type Reads = Pick<Cache, 'list' | 'get'>
type Writes = Pick<Client, 'get' | 'patch' | 'delete'>

export async function cleanUpTokens({ cache, client, clock, logger, settings }: TokenCleanerContext): Promise<void> {
  const limitMs = clock.now() - settings.legacyTokenCleanUpPeriodMs
  const trackedMs = await trackedSinceMs(client)
  if (trackedMs === undefined || trackedMs > limitMs) return
  // The day of the limit is not over; what was used on it is kept.
  const limitDay = dayOf(limitMs)
  for (const secret of cache.list(Secret)) {
    if (secret.type !== 'kubernetes.io/service-account-token' || isDeleting(secret) || createdMs(secret) >= limitMs) continue
    const { labels = {}, resourceVersion = '' } = secret.metadata
    const lastUsed = labels[lastUsedLabel]
    if (lastUsed !== undefined && (!isDay(lastUsed) || lastUsed >= limitDay)) continue
    if (!isAutoMade(secret, cache) || isMounted(secret, cache)) continue
    const invalidSince = labels[invalidSinceLabel] ?? ''
    if (isDay(invalidSince) && invalidSince >= limitDay) continue
    const step = isDay(invalidSince)
      ? client.delete(Secret, secret.metadata, { resourceVersion })
      : client.patch(Secret, secret.metadata, { metadata: { labels: { [invalidSinceLabel]: dayOf(clock.now()) } } }, { type: 'merge' })
    await step.catch((error: unknown) => {
      if (!isConflict(error) && !isNotFound(error))
        logger.warn('failed to clean up an unused legacy service account token', { error: String(error) })
    })
  }
}

/** Since when the server writes down which tokens are used; undefined when it does not. The day itself may be incomplete. */
async function trackedSinceMs(client: Writes): Promise<number | undefined> {
  const map = await client.get(ConfigMap, 'kube-system', trackingConfigMap).catch(ignoreNotFound)
  const since = map?.data?.['since']
  return since !== undefined && isDay(since) ? Date.parse(`${since}T00:00:00Z`) + dayMs : undefined
}

const dayOf = (ms: number): string => new Date(ms).toISOString().slice(0, 10)
const isDay = (text: string): boolean => /^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(Date.parse(`${text}T00:00:00Z`))

/** Tokens that somebody asked for are not listed in their service account. */
function isAutoMade({ metadata }: V1Secret, cache: Reads): boolean {
  const { namespace = '', annotations = {} } = metadata
  const account = cache.get(ServiceAccount, namespace, annotations['kubernetes.io/service-account.name'] ?? '')
  if (account?.metadata.uid !== annotations['kubernetes.io/service-account.uid']) return false
  return (account?.secrets ?? []).some(({ name }) => name === metadata.name)
}

function isMounted({ metadata }: V1Secret, cache: Reads): boolean {
  return cache
    .list(Pod, metadata.namespace ?? '')
    .some(({ spec }) => (spec.volumes ?? []).some(({ secret }) => secret?.secretName === metadata.name))
}
