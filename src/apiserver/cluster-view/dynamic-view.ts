import type { KubernetesObject, ResourceDefinition } from '#api/resource.ts'
import type { ServedVersion } from '#apiserver/registry/field-ownership.ts'

/** Also `caughtUp`, for who is told gradually: absent once there is nothing to wait for. */
export type Following = Disposable & { readonly caughtUp?: Promise<void> | undefined }

/** The cluster by group and plural name, for those who learn these at run time only. Objects are frozen, in their stored version. */
export type DynamicView = {
  get(group: string, resource: string, namespace: string, name: string): KubernetesObject | undefined
  list(group: string, resource: string, namespace?: string): KubernetesObject[]
  /** As `get` would tell, for those who ask at every write and need no more of the object; absent where that costs the same. */
  labels?(group: string, resource: string, namespace: string, name: string): Readonly<Record<string, string>> | undefined
  getFresh(group: string, resource: string, namespace: string, name: string): Promise<KubernetesObject | undefined>
  /** Writes as the server itself, which owns what it changes. */
  replace(group: string, resource: string, object: KubernetesObject): Promise<KubernetesObject>
  replaceStatus(group: string, resource: string, object: KubernetesObject): Promise<KubernetesObject>
  create(group: string, resource: string, object: KubernetesObject): Promise<KubernetesObject>
  /** All versions in which objects of a stored kind are served, of other groups as well. */
  versionsOf(stored: ResourceDefinition): readonly ServedVersion[]
  /** The resources whose objects are of the kind; none when it is not served. */
  resourcesOfKind(group: string, version: string, kind: string): { readonly resource: string; readonly isNamespaced: boolean }[]
  onChange(
    group: string,
    resource: string,
    callback: (object: KubernetesObject, isDeleted: boolean) => void,
    isGradual?: boolean,
  ): Following
}
