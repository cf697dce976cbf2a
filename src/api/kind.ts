/** What a kind is, apart from its rules: all that clients need to find its objects and to know their shape. */
import type { KubernetesObject } from '#api/resource.ts'

export type Verb = 'get' | 'list' | 'watch' | 'create' | 'update' | 'patch' | 'delete' | 'deletecollection'

export const allVerbs: readonly Verb[] = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch']

/** No value has this key: it carries the type of the kind's objects to whoever takes the kind. */
declare const shape: unique symbol

/** Carries the type of a kind's objects; at run time there is nothing. */
export type Shaped<T> = { readonly [shape]?: T }

export type Kind<T extends KubernetesObject = KubernetesObject> = {
  /** Empty for the core group. */
  group: string
  version: string
  kind: string
  plural: string
  /** The kind in lower case, unless said otherwise. */
  singular?: string
  /** `${kind}List` unless said otherwise. */
  listKind?: string
  shortNames?: readonly string[]
  categories?: readonly string[]
  scope: 'Namespaced' | 'Cluster'
  /** All eight unless said otherwise. */
  verbs?: readonly Verb[]
  /** Name of the type in the schema: `io.k8s.api.apps.v1.Deployment`. Empty for kinds whose schema arrives at run time. */
  schema: string
  /** Alpha, beta and legacy versions are served only when asked for, or by `--legacy-apis`. */
  stability?: 'alpha' | 'beta' | 'legacy'
} & Shaped<T>

export type NamespacedKind<T extends KubernetesObject = KubernetesObject> = Kind<T> & { scope: 'Namespaced' }

export type ClusterKind<T extends KubernetesObject = KubernetesObject> = Kind<T> & { scope: 'Cluster' }

/** Enough to know a kind by, whatever else is said about it. */
export type KindAddress = Pick<Kind, 'group' | 'version' | 'kind' | 'plural'> & { scope?: Kind['scope'] }

/** A kind of custom resources, or any other that is not generated. Namespaced unless said. */
export function defineKind<T extends KubernetesObject>({ scope = 'Namespaced', ...address }: KindAddress): Kind<T> {
  return { ...address, scope, schema: '' }
}
