/** What the first versions of workloads took from the labels of their pods. */
import type { V1PodTemplateSpec } from '#api/core/v1/types.gen.ts'
import type { V1LabelSelector, V1ObjectMeta } from '#api/meta/v1/types.gen.ts'

type Workload = { metadata?: V1ObjectMeta; spec?: { selector?: V1LabelSelector; template?: V1PodTemplateSpec } }

/** Selects the pods of the template unless told otherwise, and has their labels unless it has some of its own. */
export function defaultFromTemplateLabels(workload: Workload): void {
  const labels = workload.spec?.template?.metadata?.labels
  if (workload.spec === undefined || labels === undefined) return
  workload.spec.selector ??= { matchLabels: { ...labels } }
  workload.metadata ??= {}
  if (Object.keys(workload.metadata.labels ?? {}).length === 0) workload.metadata.labels = { ...labels }
}
