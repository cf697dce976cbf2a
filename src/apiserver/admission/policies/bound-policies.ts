import type { Kind } from '#api/kind.ts'
import type { KubernetesObject } from '#api/resource.ts'
import type { ClusterView } from '#apiserver/cluster-view/cluster-view.ts'

type Binding = KubernetesObject & { spec: { policyName?: string } }
export type Bound<P, B> = { readonly policy: P; readonly bindings: readonly B[] }

/** The policies that have a binding, by name, as the cluster has them now. A policy without one does nothing. */
export function followPolicies<P extends KubernetesObject, B extends Binding>(
  cluster: ClusterView,
  kinds: { policy: Kind<P>; binding: Kind<B> },
): () => readonly Bound<P, B>[] {
  const policies = new Map<string, P>()
  const bindings = new Map<string, B>()
  let bound: readonly Bound<P, B>[] = []
  const follow = <T extends KubernetesObject>(kind: Kind<T>, known: Map<string, T>) =>
    cluster.onChange(kind, (object, isDeleted) => {
      const name = object.metadata?.name ?? ''
      if (isDeleted) known.delete(name)
      else known.set(name, object)
      bound = boundOf(policies, bindings)
    })
  follow(kinds.policy, policies)
  follow(kinds.binding, bindings)
  return () => bound
}

function boundOf<P, B extends Binding>(policies: ReadonlyMap<string, P>, bindings: ReadonlyMap<string, B>): Bound<P, B>[] {
  const byPolicy = Map.groupBy(bindings.values(), ({ spec }) => spec.policyName ?? '')
  return [...policies.keys()].toSorted().flatMap((name) => {
    const policy = policies.get(name)
    const own = byPolicy.get(name)
    return policy === undefined || own === undefined ? [] : [{ policy, bindings: own }]
  })
}
