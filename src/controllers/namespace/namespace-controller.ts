import { Namespace } from '#api/core/v1/kinds.gen.ts'
import { equalityOf } from '#api/meta/equality.ts'
import { ignoreNotFound } from '#api/meta/server-response.ts'
import { discover } from '#client/discovery.ts'
import { conditionsOf } from '#controllers/namespace/conditions.ts'
import { emptyNamespace } from '#controllers/namespace/empty-namespace.ts'
import { defineController } from '#controllers/runtime/define-controller.ts'
import { isDeleting } from '#controllers/workload/pods.ts'

const sameConditions = equalityOf(Namespace).at('status').at('conditions')

const ourFinalizer = 'kubernetes'

/** A pod may ask for years of grace, and be gone after a second all the same. */
const longestWaitMs = 5 * 60_000

/** Empties namespaces that are being deleted, and lets them go when nothing is left in them. */
export const namespaceController = defineController({
  name: 'namespace-controller',
  alias: 'namespace',
  serviceAccount: 'namespace-controller',
  for: Namespace,
  concurrency: 10,
  ignores: (namespace) => !isDeleting(namespace) || !(namespace.spec?.finalizers ?? []).includes(ourFinalizer),

  async reconcile({ metadata }, { client, clock, requeueAfter }) {
    const found = await client.get(Namespace, '', metadata.name ?? '').catch(ignoreNotFound)
    if (found === undefined || found.metadata.uid !== metadata.uid || !isDeleting(found)) return
    if (!(found.spec?.finalizers ?? []).includes(ourFinalizer)) return
    let namespace = found
    if (namespace.status?.phase !== 'Terminating') {
      namespace = await client.updateStatus(Namespace, { ...namespace, status: { ...namespace.status, phase: 'Terminating' } })
    }
    const emptied = await emptyNamespace(client, namespace, await discover(client), clock.now())
    const conditions = conditionsOf(namespace, emptied, clock.now())
    if (!sameConditions(conditions, namespace.status?.conditions)) {
      namespace = await client.updateStatus(Namespace, { ...namespace, status: { ...namespace.status, conditions } })
    }
    if (emptied.estimateSeconds === undefined) {
      const finalizers = (namespace.spec?.finalizers ?? []).filter((finalizer) => finalizer !== ourFinalizer)
      await client.update(Namespace, { ...namespace, spec: { ...namespace.spec, finalizers } }, { subresource: 'finalize' })
      return
    }
    if (emptied.deletionFailures.length > 0) throw new Error(emptied.deletionFailures.join(', '))
    requeueAfter(Math.min((Math.floor(emptied.estimateSeconds / 2) + 1) * 1000, longestWaitMs))
  },
})
