import { createHash } from 'node:crypto'
import { ClusterTrustBundle } from '#api/certificates/v1beta1/kinds.gen.ts'
import { Namespace } from '#api/core/v1/kinds.gen.ts'
import { ignoreNotFound } from '#api/meta/server-response.ts'
import { defineController, type ReconcileContext } from '#controllers/runtime/define-controller.ts'
import { measuredSyncs } from '#controllers/runtime/measured-syncs.ts'
import { on } from '#controllers/runtime/triggers.ts'
import { whereServed } from '#controllers/runtime/where-served.ts'

const signerName = 'kubernetes.io/kube-apiserver-serving'
/** Always there, and so always looked at once, also in a cluster without any bundle. */
const home = 'kube-system'

const measured = measuredSyncs('clustertrustbundle_publisher')

/** Publishes the authority of the API server's certificate as a bundle that pods can mount, and removes those of earlier authorities. */
export const clusterTrustBundlePublisher = whereServed(
  ClusterTrustBundle,
  defineController({
    name: 'kube-apiserver-serving-clustertrustbundle-publisher-controller',
    queueName: 'ca_cert_publisher_cluster_trust_bundles',
    serviceAccount: 'kube-apiserver-serving-clustertrustbundle-publisher',
    isNeeded: ({ rootCa, isEnabled }) => rootCa !== '' && isEnabled('ClusterTrustBundle'),
    for: Namespace,
    concurrency: 1,
    ignores: ({ metadata }, prev) => metadata.name !== home || prev !== undefined,
    watches: [on(ClusterTrustBundle, ({ spec }) => (spec.signerName === signerName ? [home] : []))],

    async reconcile(namespace, context) {
      if (namespace.metadata.name === home) await measured(context, () => published(context))
    },
  }),
)

async function published({ cache, client, settings }: ReconcileContext): Promise<void> {
  const trustBundle = settings.rootCa
  const name = bundleName(trustBundle)
  const existing = cache.get(ClusterTrustBundle, '', name)
  if (existing === undefined) await client.create(ClusterTrustBundle, { metadata: { name }, spec: { signerName, trustBundle } })
  else if (existing.spec.trustBundle !== trustBundle)
    await client.update(ClusterTrustBundle, { ...existing, spec: { ...existing.spec, trustBundle } })
  const old = cache.list(ClusterTrustBundle).filter(({ spec, metadata }) => spec.signerName === signerName && metadata.name !== name)
  for (const { metadata } of old) {
    await client.delete(ClusterTrustBundle, { name: metadata.name ?? '' }).catch(ignoreNotFound)
  }
}

/** By content, so that the next one is there before this one goes. */
const bundleName = (trustBundle: string): string =>
  `${signerName.replaceAll('/', ':')}:${createHash('sha256').update(trustBundle).digest('hex').slice(0, 24)}`
