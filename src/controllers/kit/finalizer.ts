import type { Kind } from '#api/kind.ts'
import type { V1ObjectMeta } from '#api/meta/v1/types.gen.ts'
import type { KubernetesObject } from '#api/resource.ts'
import type { ReconcileContext } from '#controllers/runtime/define-controller.ts'

type Reconcile<T> = (object: T, context: ReconcileContext) => Promise<void>

export type FinalizerOptions<T extends KubernetesObject> = {
  for: Kind<T>
  /** With a domain: `example.com/backup`. */
  name: string
  /** Called when the object is being deleted, until it succeeds. `pending`: nothing failed, but it is not over; a change or `requeueAfter` calls again. */
  cleanup(object: T, context: ReconcileContext): Promise<undefined | 'pending'>
  /** Called as long as the object is not being deleted; the finalizer is on it by then. */
  reconcile: Reconcile<T>
}

/**
 * A `reconcile` for objects that leave something behind which has to be tidied up. The finalizer is on the object before anything
 * is made for it, and stays until `cleanup` succeeds.
 */
export function withFinalizer<T extends KubernetesObject>({ for: kind, name, cleanup, reconcile }: FinalizerOptions<T>): Reconcile<T> {
  return async (object, context) => {
    const finalizers = object.metadata?.finalizers ?? []
    const isOurs = finalizers.includes(name)
    const write = (next: string[]): Promise<T> => {
      const { namespace, name: objectName, resourceVersion = '', uid = '' } = object.metadata ?? ({} as V1ObjectMeta)
      // The resourceVersion makes it a Conflict where somebody else has changed the list meanwhile.
      const patch = { metadata: { finalizers: next, resourceVersion, uid } }
      return context.client.patch(kind, { namespace, name: objectName }, patch, { type: 'merge' })
    }
    if (object.metadata?.deletionTimestamp === undefined) {
      await reconcile(isOurs ? object : await write([...finalizers, name]), context)
    } else if (isOurs && (await cleanup(object, context)) !== 'pending') {
      await write(finalizers.filter((each) => each !== name))
    }
  }
}
