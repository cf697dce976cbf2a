import { createHmac } from 'node:crypto'
import { ConfigMap, Secret } from '#api/core/v1/kinds.gen.ts'
import type { V1Secret } from '#api/core/v1/types.gen.ts'
import { ignoreNotFound } from '#api/meta/server-response.ts'
import { defineController } from '#controllers/runtime/define-controller.ts'
import { on } from '#controllers/runtime/triggers.ts'
import { expiryMs, isBootstrapToken, tokenField } from '#controllers/token-cleaner/bootstrap-token.ts'

const place = { namespace: 'kube-public', name: 'cluster-info' }
const signaturePrefix = 'jws-kubeconfig-'

/** Signs the config map `cluster-info` with each bootstrap token: a node that knows one can tell whether to believe the address in it. */
export const bootstrapSigner = defineController({
  name: 'bootstrap-signer-controller',
  alias: 'bootstrapsigner',
  queueName: 'bootstrap_signer_queue',
  serviceAccount: 'bootstrap-signer',
  isOffByDefault: true,
  for: ConfigMap,
  concurrency: 1,
  ignores: ({ metadata }) => metadata.namespace !== place.namespace || metadata.name !== place.name,
  watches: [on(Secret, (secret) => (isBootstrapToken(secret) ? [`${place.namespace}/${place.name}`] : []))],

  async reconcile(map, { cache, client, clock, requeueAfter }) {
    const { namespace, name } = map.metadata
    const content = map.data?.['kubeconfig']
    if (namespace !== place.namespace || name !== place.name || content === undefined) return
    const data = Object.fromEntries(Object.entries(map.data ?? {}).filter(([key]) => !key.startsWith(signaturePrefix)))
    for (const secret of cache.list(Secret, 'kube-system')) {
      if (!isBootstrapToken(secret) || !isForSigning(secret)) continue
      const leftMs = (expiryMs(secret) ?? Number.POSITIVE_INFINITY) - clock.now()
      if (leftMs <= 0) continue
      if (leftMs !== Number.POSITIVE_INFINITY) requeueAfter(leftMs)
      const id = tokenField(secret, 'token-id')
      data[`${signaturePrefix}${id}`] ??= detachedSignature(content, id, tokenField(secret, 'token-secret'))
    }
    const keys = Object.keys(data)
    const isSigned = keys.length === Object.keys(map.data ?? {}).length && keys.every((key) => data[key] === map.data?.[key])
    if (isSigned) return
    await client.update(ConfigMap, { ...map, data }).catch(ignoreNotFound)
  },
})

/** A secret that has not the name of its token could be there twice. */
function isForSigning(secret: V1Secret): boolean {
  const id = /^bootstrap-token-([a-z0-9]{6})$/.exec(secret.metadata.name ?? '')?.[1]
  return (
    id !== undefined &&
    id === tokenField(secret, 'token-id') &&
    tokenField(secret, 'token-secret') !== '' &&
    tokenField(secret, 'usage-bootstrap-signing') === 'true'
  )
}

/** RFC 7515, appendix F: a compact JWS without the content, which is known. */
function detachedSignature(content: string, id: string, secret: string): string {
  const encode = (text: string) => Buffer.from(text).toString('base64url')
  const header = encode(JSON.stringify({ alg: 'HS256', kid: id }))
  return `${header}..${createHmac('sha256', secret)
    .update(`${header}.${encode(content)}`)
    .digest('base64url')}`
}
