/** The cluster as the parts of the server see it: from memory, frozen, typed by kind. */
import type { ClusterKind, Kind, NamespacedKind } from '#api/kind.ts'
import type { KubernetesObject } from '#api/resource.ts'
import type { DynamicView, Following } from '#apiserver/cluster-view/dynamic-view.ts'

/** Kinds are those of the stored version: objects come as they are stored. A resource that is not served has no objects. */
export class ClusterView {
  readonly dynamic: DynamicView

  constructor(dynamic: DynamicView) {
    this.dynamic = dynamic
  }

  get<T extends KubernetesObject>(kind: ClusterKind<T>, name: string): T | undefined
  get<T extends KubernetesObject>(kind: NamespacedKind<T>, namespace: string, name: string): T | undefined
  get<T extends KubernetesObject>({ group, plural }: Kind<T>, ...place: [string] | [string, string]): T | undefined {
    return this.dynamic.get(group, plural, ...namespaceAndName(place)) as T | undefined
  }

  /** Undefined where there is no such object. */
  labels<T extends KubernetesObject>(kind: ClusterKind<T>, name: string): Readonly<Record<string, string>> | undefined {
    if (this.dynamic.labels !== undefined) return this.dynamic.labels(kind.group, kind.plural, '', name)
    const object = this.get(kind, name)
    return object && (object.metadata?.labels ?? {})
  }

  list<T extends KubernetesObject>({ group, plural }: Kind<T>, namespace?: string): T[] {
    return this.dynamic.list(group, plural, namespace) as T[]
  }

  /** Like `get`, but first waits until the cache holds everything committed so far. */
  getFresh<T extends KubernetesObject>(kind: ClusterKind<T>, name: string): Promise<T | undefined>
  getFresh<T extends KubernetesObject>(kind: NamespacedKind<T>, namespace: string, name: string): Promise<T | undefined>
  getFresh<T extends KubernetesObject>({ group, plural }: Kind<T>, ...place: [string] | [string, string]): Promise<T | undefined> {
    return this.dynamic.getFresh(group, plural, ...namespaceAndName(place)) as Promise<T | undefined>
  }

  /** Replaces the object if it is still at its resourceVersion, without admission; resolves to what is stored then, or throws a conflict. */
  replace<T extends KubernetesObject>({ group, plural }: Kind<T>, object: T): Promise<T> {
    return this.dynamic.replace(group, plural, object) as Promise<T>
  }

  replaceStatus<T extends KubernetesObject>({ group, plural }: Kind<T>, object: T): Promise<T> {
    return this.dynamic.replaceStatus(group, plural, object) as Promise<T>
  }

  /** Writes through the server's own identity, with admission: for plugins that provision. */
  create<T extends KubernetesObject>({ group, plural }: Kind<T>, object: T): Promise<T> {
    return this.dynamic.create(group, plural, object) as Promise<T>
  }

  /**
   * Calls back with each change to the resource, after replaying what exists; or, gradually, while doing so: whoever needs all
   * of it waits for `caughtUp`.
   */
  onChange<T extends KubernetesObject>(
    { group, plural }: Kind<T>,
    callback: (object: T, isDeleted: boolean) => void,
    isGradual?: boolean,
  ): Following {
    return this.dynamic.onChange(group, plural, callback as (object: KubernetesObject, isDeleted: boolean) => void, isGradual)
  }
}

/** Objects of cluster-scoped kinds are in no namespace. */
function namespaceAndName(place: [string] | [string, string]): [namespace: string, name: string] {
  return place.length === 1 ? ['', place[0]] : place
}
