import { Secret, ServiceAccount } from '#api/core/v1/kinds.gen.ts'
import type { V1Secret, V1ServiceAccount } from '#api/core/v1/types.gen.ts'
import { ignoreNotFound } from '#api/meta/server-response.ts'
import { defined } from '#base/defined.ts'
import { defineController } from '#controllers/runtime/define-controller.ts'
import { on } from '#controllers/runtime/triggers.ts'
import { isDeleting } from '#controllers/workload/pods.ts'

const tokenType = 'kubernetes.io/service-account-token'
const nameAnnotation = 'kubernetes.io/service-account.name'
const uidAnnotation = 'kubernetes.io/service-account.uid'
const byAccount = 'service account'

/** Fills secrets that ask for a token of a service account, and deletes them when the account is gone. */
export const serviceAccountTokenController = defineController({
  name: 'serviceaccount-token-controller',
  alias: 'serviceaccount-token',
  queueName: 'serviceaccount_tokens_service',
  // Nobody's: it must work before service accounts do.
  serviceAccount: '',
  eventComponent: 'tokens-controller',
  isNeeded: ({ signToken }) => signToken !== undefined,
  for: Secret,
  ignores: ({ type }) => type !== tokenType,
  indexes(cache) {
    cache.addIndex(Secret, byAccount, ({ type, metadata }) =>
      type === tokenType ? [`${metadata.namespace}/${metadata.annotations?.[nameAnnotation] ?? ''}`] : [],
    )
  },
  watches: [
    on(ServiceAccount, function* ({ metadata }, cache) {
      for (const secret of cache.byIndex(Secret, byAccount, `${metadata.namespace}/${metadata.name}`))
        yield `${secret.metadata.namespace}/${secret.metadata.name}`
    }),
  ],

  async reconcile(secret, { cache, client, settings }) {
    if (secret.type !== tokenType || isDeleting(secret)) return
    const { namespace = '', name = '', annotations = {} } = secret.metadata
    const accountName = annotations[nameAnnotation] ?? ''
    const account = cache.get(ServiceAccount, namespace, accountName) ?? (await found(client.get(ServiceAccount, namespace, accountName)))
    const wantedUid = annotations[uidAnnotation]
    if (account === undefined || (wantedUid !== undefined && wantedUid !== account.metadata.uid)) {
      const { uid } = secret.metadata
      await found(client.delete(Secret, { namespace, name }, uid === undefined ? {} : { uid }))
      return
    }
    const data = {
      ...secret.data,
      ...defined({ 'ca.crt': settings.rootCa === '' ? undefined : base64(settings.rootCa) }),
      namespace: secret.data?.['namespace'] ?? base64(namespace),
      token: secret.data?.['token'] ?? base64(settings.signToken?.(claimsOf(secret, account)) ?? ''),
    }
    const isFilled = Object.entries(data).every(([key, value]) => secret.data?.[key] === value) && wantedUid !== undefined
    if (isFilled) return
    const metadata = { ...secret.metadata, annotations: { ...annotations, [uidAnnotation]: account.metadata.uid ?? '' } }
    await client.update(Secret, { ...secret, metadata, data })
  },
})

const base64 = (text: string): string => Buffer.from(text).toString('base64')

function found<T>(promise: Promise<T>): Promise<T | undefined> {
  return promise.catch(ignoreNotFound)
}

function claimsOf({ metadata }: V1Secret, { metadata: account }: V1ServiceAccount): Record<string, string> {
  const prefix = 'kubernetes.io/serviceaccount'
  return {
    iss: 'kubernetes/serviceaccount',
    [`${prefix}/namespace`]: metadata.namespace ?? '',
    [`${prefix}/secret.name`]: metadata.name ?? '',
    [`${prefix}/service-account.name`]: account.name ?? '',
    [`${prefix}/service-account.uid`]: account.uid ?? '',
    sub: `system:serviceaccount:${account.namespace}:${account.name}`,
  }
}
