import { Namespace, ServiceAccount } from '#api/core/v1/kinds.gen.ts'
import { isAlreadyExists } from '#api/meta/server-response.ts'
import { defineController } from '#controllers/runtime/define-controller.ts'
import { on } from '#controllers/runtime/triggers.ts'
import { isNamespaceTerminating } from '#controllers/workload/pod-writes.ts'

const everyNamespaceHas = ['default']

/** Sees to it that every namespace has a service account for the pods that ask for none. */
export const serviceAccountController = defineController({
  name: 'serviceaccount-controller',
  alias: 'serviceaccount',
  serviceAccount: 'service-account-controller',
  for: Namespace,
  concurrency: 1,
  watches: [
    on(ServiceAccount, ({ metadata }, _cache, { isGone }) =>
      isGone && everyNamespaceHas.includes(metadata.name ?? '') ? [metadata.namespace ?? ''] : [],
    ),
  ],

  async reconcile(namespace, { cache, client }) {
    if (namespace.status?.phase === 'Terminating') return
    for (const name of everyNamespaceHas) {
      if (cache.get(ServiceAccount, namespace.metadata.name ?? '', name) !== undefined) continue
      await client.create(ServiceAccount, { metadata: { namespace: namespace.metadata.name ?? '', name } }).catch((error: unknown) => {
        if (!isAlreadyExists(error) && !isNamespaceTerminating(error)) throw error
      })
    }
  },
})
