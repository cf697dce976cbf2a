/** Where a daemon set's pods belong, and what they look like there. */

import { DaemonSet } from '#api/apps/v1/kinds.gen.ts'
import type { V1DaemonSet } from '#api/apps/v1/types.gen.ts'
import { fitsNodeLabels, untoleratedTaint } from '#api/core/v1/node/node-fit.ts'
import type { V1Node, V1Pod, V1PodSpec, V1Toleration } from '#api/core/v1/types.gen.ts'
import { omitEmpty } from '#base/omit-empty.ts'
import { podFromTemplate } from '#controllers/workload/pod-writes.ts'
import { hashLabel } from '#controllers/workload/revisions.ts'

/** By template: each node is held against them, several times in one look. */
const knownTolerations = new WeakMap<V1PodSpec, V1Toleration[]>()

/** Daemons stay whatever befalls their node. */
function daemonTolerations({ hostNetwork, tolerations = [] }: V1PodSpec): V1Toleration[] {
  const wanted: V1Toleration[] = [
    { key: 'node.kubernetes.io/not-ready', operator: 'Exists', effect: 'NoExecute' },
    { key: 'node.kubernetes.io/unreachable', operator: 'Exists', effect: 'NoExecute' },
    ...['disk-pressure', 'memory-pressure', 'pid-pressure', 'unschedulable', ...(hostNetwork ? ['network-unavailable'] : [])].map(
      (name) => ({
        key: `node.kubernetes.io/${name}`,
        operator: 'Exists',
        effect: 'NoSchedule',
      }),
    ),
  ]
  const isSame = (one: V1Toleration, other: V1Toleration) =>
    one.key === other.key && one.operator === other.operator && one.effect === other.effect && (one.value ?? '') === (other.value ?? '')
  return [...tolerations.filter((each) => !wanted.some((other) => isSame(each, other))), ...wanted]
}

/** Whether a pod should be made there, and whether one that is there may stay. */
export function placeOn({ spec }: V1DaemonSet, node: V1Node): { shouldRun: boolean; mayStay: boolean } {
  const podSpec = spec?.template.spec
  if (podSpec === undefined || (podSpec.nodeName && podSpec.nodeName !== node.metadata.name)) return { shouldRun: false, mayStay: false }
  if (!fitsNodeLabels(podSpec, node)) return { shouldRun: false, mayStay: false }
  const taints = node.spec?.taints
  if (taints === undefined || taints.length === 0) return { shouldRun: true, mayStay: true }
  let tolerations = knownTolerations.get(podSpec)
  if (tolerations === undefined) {
    tolerations = daemonTolerations(podSpec)
    knownTolerations.set(podSpec, tolerations)
  }
  if (untoleratedTaint(taints, tolerations, ['NoExecute', 'NoSchedule']) === undefined) return { shouldRun: true, mayStay: true }
  return { shouldRun: false, mayStay: untoleratedTaint(taints, tolerations, ['NoExecute']) === undefined }
}

/** The node a pod is on, or was made for. */
export function targetNode({ spec }: V1Pod): string {
  if (spec.nodeName) return spec.nodeName
  for (const { matchFields = [] } of spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? []) {
    for (const { key, operator, values = [] } of matchFields)
      if (key === 'metadata.name' && operator === 'In' && values[0]) return values[0]
  }
  return ''
}

export function daemonPod(daemonSet: V1DaemonSet, nodeName: string, hash: string): V1Pod {
  const template = daemonSet.spec?.template ?? { spec: { containers: [] } }
  const pod = podFromTemplate({ kind: DaemonSet, object: daemonSet }, template)
  const generation = daemonSet.metadata.annotations?.['deprecated.daemonset.template.generation']
  pod.metadata.labels = { ...pod.metadata.labels, [hashLabel]: hash, ...omitEmpty({ 'pod-template-generation': generation }) }
  pod.spec.tolerations = daemonTolerations(pod.spec)
  const term = { matchFields: [{ key: 'metadata.name', operator: 'In', values: [nodeName] }] }
  const { affinity } = pod.spec
  pod.spec.affinity = {
    ...affinity,
    nodeAffinity: { ...affinity?.nodeAffinity, requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [term] } },
  }
  return pod
}

export function isUpdated({ metadata }: V1Pod, hash: string, daemonSet: V1DaemonSet): boolean {
  if (metadata.labels?.[hashLabel] === hash) return true
  const generation = daemonSet.metadata.annotations?.['deprecated.daemonset.template.generation']
  return (
    generation !== undefined && metadata.labels?.[hashLabel] === undefined && metadata.labels?.['pod-template-generation'] === generation
  )
}
