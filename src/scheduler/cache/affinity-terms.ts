/** Terms of pod affinity and anti-affinity, made ready to match many pods. */
import type { V1Pod, V1PodAffinityTerm, V1WeightedPodAffinityTerm } from '#api/core/v1/types.gen.ts'
import type { Labels } from '#api/meta/label-requirement.ts'
import { everything, type LabelSelector, labelSelectorFrom, nothing } from '#api/meta/selector.ts'

export type AffinityTerm = {
  readonly topologyKey: string
  readonly selector: LabelSelector
  readonly namespaces: ReadonlySet<string>
  /** Matches nothing when the term names no namespace selector. */
  readonly namespaceSelector: LabelSelector
}

export type WeightedAffinityTerm = AffinityTerm & { readonly weight: number }

export type PodAffinityTerms = {
  readonly required: readonly AffinityTerm[]
  readonly requiredAnti: readonly AffinityTerm[]
  readonly preferred: readonly WeightedAffinityTerm[]
  readonly preferredAnti: readonly WeightedAffinityTerm[]
}

const noTerms: PodAffinityTerms = { required: [], requiredAnti: [], preferred: [], preferredAnti: [] }

/** Throws a SelectorError when a selector cannot be understood. */
export function affinityTermsOf(pod: V1Pod): PodAffinityTerms {
  const affinity = pod.spec.affinity
  if (!affinity?.podAffinity && !affinity?.podAntiAffinity) return noTerms
  const plain = (term: V1PodAffinityTerm) => affinityTerm(pod, term)
  const weighted = ({ weight, podAffinityTerm }: V1WeightedPodAffinityTerm) => ({ ...affinityTerm(pod, podAffinityTerm), weight })
  return {
    required: (affinity.podAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? []).map(plain),
    requiredAnti: (affinity.podAntiAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? []).map(plain),
    preferred: (affinity.podAffinity?.preferredDuringSchedulingIgnoredDuringExecution ?? []).map(weighted),
    preferredAnti: (affinity.podAntiAffinity?.preferredDuringSchedulingIgnoredDuringExecution ?? []).map(weighted),
  }
}

function affinityTerm(pod: V1Pod, term: V1PodAffinityTerm): AffinityTerm {
  const isOwnNamespace = !term.namespaces?.length && !term.namespaceSelector
  return {
    topologyKey: term.topologyKey,
    selector: labelSelectorFrom(term.labelSelector),
    namespaces: new Set(isOwnNamespace ? [pod.metadata.namespace ?? ''] : term.namespaces),
    namespaceSelector: labelSelectorFrom(term.namespaceSelector),
  }
}

/** The namespace's labels matter only to terms that select namespaces by label. */
export function termMatches(term: AffinityTerm, pod: V1Pod, namespaceLabels: Labels | undefined): boolean {
  const { namespace = '', labels } = pod.metadata
  const isInNamespace =
    term.namespaces.has(namespace) || (term.namespaceSelector !== nothing && term.namespaceSelector.matches(namespaceLabels))
  return isInNamespace && term.selector.matches(labels)
}

/** Which namespaces a term means: all of them, or a set. */
export function namespacesOfTerm(
  term: AffinityTerm,
  all: Iterable<{ metadata: { name?: string; labels?: Labels } }>,
): ReadonlySet<string> | 'all' {
  if (term.namespaceSelector === nothing) return term.namespaces
  if (term.namespaceSelector === everything || term.namespaceSelector.isEmpty) return 'all'
  const names = new Set(term.namespaces)
  for (const { metadata } of all) if (term.namespaceSelector.matches(metadata.labels)) names.add(metadata.name ?? '')
  return names
}
