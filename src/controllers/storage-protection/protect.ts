import type { Kind } from '#api/kind.ts'
import { ignoreNotFound } from '#api/meta/server-response.ts'
import type { KubernetesObject } from '#api/resource.ts'
import type { ReconcileContext } from '#controllers/runtime/define-controller.ts'
import { isDeleting } from '#controllers/workload/pods.ts'

/** The object cannot go while it is used. Admission puts the finalizer on; here it comes off, and on what is older than that. */
export async function protect<T extends KubernetesObject>(
  kind: Kind<T>,
  object: T,
  finalizer: string,
  isUsed: () => boolean | Promise<boolean>,
  { client }: Pick<ReconcileContext, 'client'>,
): Promise<void> {
  if (!needsLook(object, finalizer)) return
  const { finalizers = [] } = object.metadata ?? {}
  const write = (next: string[]) => client.update(kind, { ...object, metadata: { ...object.metadata, finalizers: next } })
  if (!isDeleting(object)) await write([...finalizers, finalizer])
  // Whoever took the last other finalizer off may have ended it in the meantime.
  else if (!(await isUsed())) await write(finalizers.filter((each) => each !== finalizer)).catch(ignoreNotFound)
}

/** Whether anything is to be done about the object at all. */
export const needsLook = (object: KubernetesObject, finalizer: string): boolean =>
  isDeleting(object) === (object.metadata?.finalizers?.includes(finalizer) ?? false)
