import type { AdmissionContext } from '#apiserver/admission/admission.ts'

const group = 'admissionregistration.k8s.io'

type Policy = { metadata?: { name?: string } }
type Binding = { metadata?: { name?: string }; spec: { policyName?: string } }
export type Bound<P, B> = { readonly policy: P; readonly bindings: readonly B[] }

/** The policies that have a binding, by name, as the cluster has them now. A policy without one does nothing. */
export function followPolicies<P extends Policy, B extends Binding>(
  cluster: AdmissionContext['cluster'],
  kind: 'validating' | 'mutating',
): () => readonly Bound<P, B>[] {
  const policies = new Map<string, P>()
  const bindings = new Map<string, B>()
  let bound: readonly Bound<P, B>[] = []
  const follow = <T extends Policy>(resource: string, known: Map<string, T>) =>
    cluster.onChange(group, resource, (object, isDeleted) => {
      const name = object.metadata?.name ?? ''
      if (isDeleted) known.delete(name)
      else known.set(name, object as T)
      bound = boundOf(policies, bindings)
    })
  follow(`${kind}admissionpolicies`, policies)
  follow(`${kind}admissionpolicybindings`, bindings)
  return () => bound
}

function boundOf<P extends Policy, B extends Binding>(policies: ReadonlyMap<string, P>, bindings: ReadonlyMap<string, B>): Bound<P, B>[] {
  const byPolicy = Map.groupBy(bindings.values(), ({ spec }) => spec.policyName ?? '')
  return [...policies.keys()].toSorted().flatMap((name) => {
    const policy = policies.get(name)
    const own = byPolicy.get(name)
    return policy === undefined || own === undefined ? [] : [{ policy, bindings: own }]
  })
}
