import { Secret } from '#api/core/v1/kinds.gen.ts'
import { defineController } from '#controllers/runtime/define-controller.ts'
import { expiryMs, isBootstrapToken } from '#controllers/token-cleaner/bootstrap-token.ts'

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
