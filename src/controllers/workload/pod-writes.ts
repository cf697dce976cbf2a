/** Pods that controllers make and end, with the events that tell of it. */

import { Pod } from '#api/core/v1/kinds.gen.ts'
import type { V1Pod, V1PodTemplateSpec } from '#api/core/v1/types.gen.ts'
import type { Kind } from '#api/kind.ts'
import { deepCopy } from '#api/meta/deep-copy.ts'
import { controllerReference } from '#api/meta/owner-references.ts'
import { isNotFound } from '#api/meta/server-response.ts'
import { StatusError } from '#api/meta/status-error.ts'
import type { KubernetesObject } from '#api/resource.ts'
import { defined } from '#base/defined.ts'
import { errorMessage } from '#base/error-message.ts'
import type { ReconcileContext } from '#controllers/runtime/define-controller.ts'

type Owner<T extends KubernetesObject> = { kind: Kind<T>; object: T }

/** A pod as the owner's template says, belonging to it. */
export function podFromTemplate<T extends KubernetesObject>({ kind, object }: Owner<T>, template: V1PodTemplateSpec): V1Pod {
  const { labels = {}, annotations = {}, finalizers } = template.metadata ?? {}
  return {
    metadata: {
      namespace: object.metadata?.namespace ?? '',
      generateName: `${object.metadata?.name}-`,
      labels: { ...labels },
      annotations: { ...annotations },
      ...defined({ finalizers: finalizers && [...finalizers] }),
      ownerReferences: [controllerReference(object, kind)],
    },
    spec: deepCopy(template.spec),
  }
}

/** What comes back is shared, and stays as it is. */
export async function createPod<T extends KubernetesObject>(
  { client, events }: ReconcileContext,
  { kind, object }: Owner<T>,
  pod: V1Pod,
): Promise<V1Pod> {
  try {
    const created = await client.create(Pod, pod, { onlyReadsAnswer: true })
    events.normal(kind, object, 'SuccessfulCreate', `Created pod: ${created.metadata.name}`)
    return created
  } catch (error) {
    if (!isNamespaceTerminating(error)) events.warning(kind, object, 'FailedCreate', `Error creating: ${errorMessage(error)}`)
    throw error
  }
}

/** A pod that is gone already is as good as deleted. */
export async function deletePod<T extends KubernetesObject>(
  { client, events }: ReconcileContext,
  { kind, object }: Owner<T>,
  { metadata }: V1Pod,
): Promise<void> {
  try {
    await client.delete(Pod, metadata)
    events.normal(kind, object, 'SuccessfulDelete', `Deleted pod: ${metadata.name}`)
  } catch (error) {
    if (isNotFound(error)) return
    events.warning(kind, object, 'FailedDelete', `Error deleting: ${errorMessage(error)}`)
    throw error
  }
}

/** Nothing can be made in a namespace that is going away: no reason to try again. */
export function isNamespaceTerminating(error: unknown): boolean {
  if (!(error instanceof StatusError)) return false
  return (error.status.details?.causes ?? []).some(({ reason }) => reason === 'NamespaceTerminating')
}
