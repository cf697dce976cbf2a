import { ConfigMap, Namespace } from '#api/core/v1/kinds.gen.ts'
import type { V1Namespace } from '#api/core/v1/types.gen.ts'
import { isAlreadyExists, isNotFound } from '#api/meta/server-response.ts'
import { defineController, type ReconcileContext } from '#controllers/runtime/define-controller.ts'
import { measuredSyncs } from '#controllers/runtime/measured-syncs.ts'
import { on } from '#controllers/runtime/triggers.ts'
import { isNamespaceTerminating } from '#controllers/workload/pod-writes.ts'

const name = 'kube-root-ca.crt'
const description = {
  'kubernetes.io/description':
    'Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes clusters.',
}

const measured = measuredSyncs('root_ca_cert_publisher')

/** Puts the authority of the API server's certificate into every namespace, for its pods to mount. */
export const rootCaPublisher = defineController({
  name: 'root-ca-certificate-publisher-controller',
  alias: 'root-ca-cert-publisher',
  queueName: 'root_ca_cert_publisher',
  serviceAccount: 'root-ca-cert-publisher',
  isNeeded: ({ rootCa }) => rootCa !== '',
  for: Namespace,
  concurrency: 1,
  watches: [on(ConfigMap, ({ metadata }) => (metadata.name === name ? [metadata.namespace ?? ''] : []))],

  reconcile: (namespace, context) => measured(context, () => published(namespace, context)),
})

async function published(namespace: V1Namespace, { cache, client, settings }: ReconcileContext): Promise<void> {
  if (namespace.status?.phase === 'Terminating') return
  const data = { 'ca.crt': settings.rootCa }
  const existing = cache.get(ConfigMap, namespace.metadata.name ?? '', name)
  if (existing === undefined) {
    const metadata = { namespace: namespace.metadata.name ?? '', name, annotations: description }
    await client.create(ConfigMap, { metadata, data }).catch((error: unknown) => {
      if (!isAlreadyExists(error) && !isNotFound(error) && !isNamespaceTerminating(error)) throw error
    })
    return
  }
  const { annotations = {} } = existing.metadata
  const isRight =
    Object.keys(existing.data ?? {}).length === 1 &&
    existing.data?.['ca.crt'] === settings.rootCa &&
    Object.entries(description).every(([key, value]) => annotations[key] === value)
  if (isRight) return
  await client.update(ConfigMap, {
    ...existing,
    data,
    metadata: { ...existing.metadata, annotations: { ...annotations, ...description } },
  })
}
