/** Pods of stateful sets have names, and claims that stay when they go. */
import { StatefulSet } from '#api/apps/v1/kinds.gen.ts'
import type { V1ControllerRevision, V1StatefulSet } from '#api/apps/v1/types.gen.ts'
import type { V1PersistentVolumeClaim, V1Pod, V1PodTemplateSpec } from '#api/core/v1/types.gen.ts'
import { deepCopy } from '#api/meta/deep-copy.ts'
import { podFromTemplate } from '#controllers/workload/pod-writes.ts'
import { hashLabel, templateOf } from '#controllers/workload/revisions.ts'

const podNameLabel = 'statefulset.kubernetes.io/pod-name'
const podIndexLabel = 'apps.kubernetes.io/pod-index'

export const startOrdinal = ({ spec }: V1StatefulSet): number => spec?.ordinals?.start ?? 0
export const replicasOf = ({ spec }: V1StatefulSet): number => spec?.replicas ?? 1

/** -1 for pods that are none of the set's. */
export function ordinalOf(pod: V1Pod, { metadata }: V1StatefulSet): number {
  const match = /^(.*)-(\d+)$/.exec(pod.metadata.name ?? '')
  return match?.[1] === metadata.name ? Number(match?.[2]) : -1
}

export const revisionOf = ({ metadata }: V1Pod): string => metadata.labels?.[hashLabel] ?? ''

const claimName = (template: V1PersistentVolumeClaim, { metadata }: V1StatefulSet, ordinal: number): string =>
  `${template.metadata.name}-${metadata.name}-${ordinal}`

export function claimsOf(set: V1StatefulSet, ordinal: number): V1PersistentVolumeClaim[] {
  return (set.spec?.volumeClaimTemplates ?? []).map((template) => ({
    ...deepCopy(template),
    metadata: {
      ...template.metadata,
      namespace: set.metadata.namespace ?? '',
      name: claimName(template, set, ordinal),
      labels: { ...template.metadata.labels, ...set.spec?.selector.matchLabels },
    },
  }))
}

/** The pod with this ordinal, made from the template of the revision. */
export function statefulPod(set: V1StatefulSet, revision: V1ControllerRevision, ordinal: number): V1Pod {
  const template: V1PodTemplateSpec = templateOf(revision) ?? set.spec?.template ?? { spec: { containers: [] } }
  const { generateName: _generated, ...metadata } = podFromTemplate({ kind: StatefulSet, object: set }, template).metadata
  const pod: V1Pod = { metadata, spec: deepCopy(template.spec) }
  pod.metadata.name = `${set.metadata.name}-${ordinal}`
  pod.metadata.labels = { ...pod.metadata.labels, [hashLabel]: revision.metadata.name ?? '', ...identityLabels(set, ordinal) }
  pod.spec.hostname = pod.metadata.name
  pod.spec.subdomain = set.spec?.serviceName ?? ''
  pod.spec.volumes = volumesOf(set, ordinal, pod)
  return pod
}

function identityLabels(set: V1StatefulSet, ordinal: number): { [name: string]: string } {
  return { [podNameLabel]: `${set.metadata.name}-${ordinal}`, [podIndexLabel]: String(ordinal) }
}

function volumesOf(set: V1StatefulSet, ordinal: number, { spec }: V1Pod): NonNullable<V1Pod['spec']['volumes']> {
  const claimed = (set.spec?.volumeClaimTemplates ?? []).map((template) => ({
    name: template.metadata.name ?? '',
    persistentVolumeClaim: { claimName: claimName(template, set, ordinal), readOnly: false },
  }))
  const names = new Set(claimed.map(({ name }) => name))
  return [...claimed, ...(spec.volumes ?? []).filter(({ name }) => !names.has(name))]
}

export function hasIdentity({ metadata }: V1Pod, set: V1StatefulSet, ordinal: number): boolean {
  return Object.entries(identityLabels(set, ordinal)).every(([key, value]) => metadata.labels?.[key] === value)
}

export function withIdentity(pod: V1Pod, set: V1StatefulSet, ordinal: number): V1Pod {
  return { ...pod, metadata: { ...pod.metadata, labels: { ...pod.metadata.labels, ...identityLabels(set, ordinal) } } }
}
