/** Objects that an object of ours stands behind: made, kept as declared, and gone with it. */

import type { Kind } from '#api/kind.ts'
import { controllerReference, isControlledBy } from '#api/meta/owner-references.ts'
import { ignoreNotFound } from '#api/meta/server-response.ts'
import type { KubernetesObject } from '#api/resource.ts'
import { defined } from '#base/defined.ts'
import type { Applied } from '#client/client.ts'
import type { ReconcileContext } from '#controllers/runtime/define-controller.ts'

/** An object of that name is there, and not ours. Trying again is of no use until it goes; the controller then looks again. */
export class NotControlledError extends Error {
  override name = 'NotControlledError'
}

export type OwnedObjectsOptions<T extends KubernetesObject> = {
  owner: T
  kind: Kind<T>
  context: Pick<ReconcileContext, 'client' | 'cache'>
  /** Who the fields belong to; the owner's kind unless said. */
  fieldManager?: string
}

export type OwnedObjects = {
  /** Brings the object to what is declared, by server-side apply; fields that are not declared stay with whoever set them. */
  apply<K extends KubernetesObject>(kind: Kind<K>, object: Applied<NoInfer<K>>): Promise<K>
  /** Those of the kind that the owner controls, as last seen. */
  list<K extends KubernetesObject>(kind: Kind<K>): readonly K[]
  /** Deletes those of the kind whose names are not among these. */
  keepOnly<K extends KubernetesObject>(kind: Kind<K>, names: Iterable<string>): Promise<void>
}

/** The kinds are to be among those that the controller `owns`. */
export function ownedObjects<T extends KubernetesObject>({
  owner,
  kind: ownerKind,
  context,
  ...options
}: OwnedObjectsOptions<T>): OwnedObjects {
  const { client, cache } = context
  const { fieldManager = ownerKind.kind.toLowerCase() } = options
  const remove = async (kind: Kind, { metadata }: KubernetesObject) => {
    const { namespace, name, uid } = metadata ?? {}
    await client.delete(kind, { namespace, name }, uid === undefined ? {} : { uid }).catch(ignoreNotFound)
  }
  return {
    async apply(kind, object) {
      const declared = object as KubernetesObject
      const { name = '', namespace = owner.metadata?.namespace } = declared.metadata ?? {}
      const present = cache.get(kind, namespace ?? '', name)
      if (present !== undefined && !isControlledBy(present, owner)) {
        throw new NotControlledError(
          `${kind.kind} "${name}" already exists and is not managed by ${ownerKind.kind} "${owner.metadata?.name}"`,
        )
      }
      const metadata = {
        ...declared.metadata,
        ...defined({ namespace }),
        ownerReferences: [controllerReference(owner, ownerKind)],
      }
      return client.apply(kind, { ...declared, metadata } as Applied<KubernetesObject> as never, { fieldManager, force: true })
    },
    list: (kind) => cache.controlledBy(kind, owner),
    async keepOnly(kind, names) {
      const kept = new Set(names)
      const others = cache.controlledBy(kind, owner).filter(({ metadata }) => !kept.has(metadata?.name ?? ''))
      await Promise.all(others.filter(({ metadata }) => metadata?.deletionTimestamp === undefined).map((each) => remove(kind, each)))
    },
  }
}
