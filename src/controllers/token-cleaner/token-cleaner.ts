import { Secret } from '#api/core/v1/kinds.gen.ts'
import type { V1Secret } from '#api/core/v1/types.gen.ts'
import { parseTime } from '#api/meta/time.ts'
import { defineController } from '#controllers/runtime/define-controller.ts'

/** Deletes bootstrap tokens that have expired. */
export const tokenCleaner = defineController({
  name: 'token-cleaner-controller',
  alias: 'tokencleaner',
  queueName: 'token_cleaner',
  serviceAccount: 'token-cleaner',
  isOffByDefault: true,
  for: Secret,
  concurrency: 1,
  ignores: (secret) => !isBootstrapToken(secret),

  async reconcile(secret, { client, clock, requeueAfter }) {
    const expiresMs = expiryMs(secret)
    if (!isBootstrapToken(secret) || expiresMs === undefined) return
    if (expiresMs > clock.now()) return requeueAfter(expiresMs - clock.now())
    const { uid } = secret.metadata
    await client.delete(Secret, secret.metadata, uid === undefined ? {} : { uid })
  },
})

const isBootstrapToken = ({ type, metadata }: V1Secret): boolean =>
  type === 'bootstrap.kubernetes.io/token' && metadata.namespace === 'kube-system'

/** Undefined for tokens that never expire; one that cannot be read has expired. */
function expiryMs({ data }: V1Secret): number | undefined {
  const text = Buffer.from(data?.['expiration'] ?? '', 'base64').toString()
  if (text === '') return undefined
  try {
    return parseTime(text)
  } catch {
    return 0
  }
}
