import type { V1Affinity, V1PodAffinityTerm } from '#api/core/v1/types.gen.ts'

/** Whether the pod looks for, or avoids, pods of other namespaces. */
export function usesOtherNamespaces(affinity: V1Affinity | undefined): boolean {
  return [affinity?.podAffinity, affinity?.podAntiAffinity].some(
    (terms) =>
      terms?.requiredDuringSchedulingIgnoredDuringExecution?.some(namesNamespaces) ||
      terms?.preferredDuringSchedulingIgnoredDuringExecution?.some(({ podAffinityTerm }) => namesNamespaces(podAffinityTerm)),
  )
}

const namesNamespaces = ({ namespaces, namespaceSelector }: V1PodAffinityTerm): boolean =>
  (namespaces ?? []).length > 0 || namespaceSelector !== undefined
