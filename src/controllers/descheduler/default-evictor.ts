/** Which pods may be evicted at all (upstream's plugin DefaultEvictor). */

import type { V1Pod } from '#api/core/v1/types.gen.ts'
import { labelSelectorFrom, parseLabelSelector } from '#api/meta/selector.ts'
import { parseTime } from '#api/meta/time.ts'
import type { V1LabelSelector } from '#api/meta/v1/types.gen.ts'
import { parseDurationMs } from '#base/duration.ts'
import { fitsAnyOtherNode } from '#controllers/descheduler/node-fit.ts'
import type { ClusterView, PodFilter } from '#controllers/descheduler/plugin.ts'
import { preferNoEvictionAnnotation } from '#controllers/descheduler/pod-order.ts'

export type DefaultEvictorArgs = {
  nodeSelector?: string
  labelSelector?: V1LabelSelector
  namespaceLabelSelector?: V1LabelSelector
  priorityThreshold?: { value?: number; name?: string }
  nodeFit?: boolean
  minReplicas?: number
  minPodAge?: string
  noEvictionPolicy?: string
  podProtections?: {
    extraEnabled?: readonly string[]
    defaultDisabled?: readonly string[]
    config?: { PodsWithPVC?: { protectedStorageClasses?: readonly { name: string }[] } }
  }
  evictLocalStoragePods?: boolean
  evictDaemonSetPods?: boolean
  evictSystemCriticalPods?: boolean
  ignorePvcPods?: boolean
  ignorePodsWithoutPDB?: boolean
  evictFailedBarePods?: boolean
}

const byDefault = ['PodsWithLocalStorage', 'SystemCriticalPods', 'FailedBarePods', 'DaemonSetPods']
const onRequest = ['PodsWithPVC', 'PodsWithoutPDB', 'PodsWithResourceClaims']
export const systemCriticalPriority = 2_000_000_000
/** Overrules everything but what is wrong with the pod's node. */
const evictAnnotation = 'descheduler.alpha.kubernetes.io/evict'

export function defaultEvictorProblems(args: DefaultEvictorArgs): string[] {
  const problems: string[] = []
  const { priorityThreshold, noEvictionPolicy, podProtections = {} } = args
  if (priorityThreshold?.value !== undefined && priorityThreshold.name)
    problems.push('priority threshold misconfigured, only one of priorityThreshold fields can be set')
  if (noEvictionPolicy && noEvictionPolicy !== 'Preferred' && noEvictionPolicy !== 'Mandatory')
    problems.push('noEvictionPolicy accepts only ["Preferred" "Mandatory"] values')
  const { extraEnabled = [], defaultDisabled = [] } = podProtections
  if (extraEnabled.length + defaultDisabled.length === 0) return problems
  const isDeprecated = args.evictLocalStoragePods || args.evictDaemonSetPods || args.evictSystemCriticalPods || args.ignorePvcPods
  if (isDeprecated || args.evictFailedBarePods || args.ignorePodsWithoutPDB)
    problems.push('cannot use Deprecated fields alongside PodProtections.ExtraEnabled or PodProtections.DefaultDisabled')
  const check = (list: readonly string[], known: readonly string[], name: string) => {
    for (const one of list)
      if (!known.includes(one)) problems.push(`invalid pod protection policy in ${name}: "${one}". Valid options are: [${known.join(' ')}]`)
    if (new Set(list).size < list.length) problems.push(`PodProtections.${name} contains duplicate entries`)
  }
  check(extraEnabled, onRequest, 'ExtraEnabled')
  check(defaultDisabled, byDefault, 'DefaultDisabled')
  return problems
}

function protections(args: DefaultEvictorArgs): Set<string> {
  const { extraEnabled = [], defaultDisabled = [] } = args.podProtections ?? {}
  if (extraEnabled.length + defaultDisabled.length > 0)
    return new Set([...byDefault.filter((name) => !defaultDisabled.includes(name)), ...extraEnabled])
  const old: readonly [name: string, isOn: boolean][] = [
    ['PodsWithLocalStorage', !args.evictLocalStoragePods],
    ['DaemonSetPods', !args.evictDaemonSetPods],
    ['SystemCriticalPods', !args.evictSystemCriticalPods],
    ['FailedBarePods', !args.evictFailedBarePods],
    ['PodsWithPVC', args.ignorePvcPods ?? false],
    ['PodsWithoutPDB', args.ignorePodsWithoutPDB ?? false],
  ]
  return new Set(old.filter(([, isOn]) => isOn).map(([name]) => name))
}

/** `thresholdPriority`: pods of this priority and above stay. */
export function evictableFilter(args: DefaultEvictorArgs, view: ClusterView, thresholdPriority: number): PodFilter {
  const isOn = protections(args)
  const selector = args.labelSelector === undefined ? undefined : labelSelectorFrom(args.labelSelector)
  const minPodAgeMs = args.minPodAge === undefined ? 0 : parseDurationMs(args.minPodAge)
  const classes = new Set((args.podProtections?.config?.PodsWithPVC?.protectedStorageClasses ?? []).map(({ name }) => name))
  const checks: PodFilter[] = [
    (pod) => !isStatic(pod) && pod.metadata.deletionTimestamp === undefined,
    (pod) => !isOn.has('SystemCriticalPods') || !isImportant(pod, thresholdPriority),
    (pod) => owners(pod).length > 0 || (!isOn.has('FailedBarePods') && pod.status?.phase === 'Failed'),
    (pod) => !isOn.has('PodsWithLocalStorage') || !(pod.spec.volumes ?? []).some(({ hostPath, emptyDir }) => hostPath || emptyDir),
    (pod) => !isOn.has('DaemonSetPods') || !owners(pod).some(({ kind }) => kind === 'DaemonSet'),
    (pod) => !isOn.has('PodsWithPVC') || !hasProtectedClaim(pod, view, classes),
    (pod) => !isOn.has('PodsWithoutPDB') || hasBudget(pod, view),
    (pod) => !isOn.has('PodsWithResourceClaims') || (pod.spec.resourceClaims ?? []).length === 0,
    (pod) => selector === undefined || selector.matches(pod.metadata.labels),
    (pod) => hasEnoughFellows(pod, view, args.minReplicas ?? 0),
    ({ status }) =>
      args.minPodAge === undefined || (status?.startTime !== undefined && view.nowMs - parseTime(status.startTime) >= minPodAgeMs),
  ]
  return (pod) => {
    if (pod.metadata.annotations?.[evictAnnotation] !== undefined) return true
    if (args.noEvictionPolicy === 'Mandatory' && pod.metadata.annotations?.[preferNoEvictionAnnotation] !== undefined) return false
    return checks.every((check) => check(pod))
  }
}

export function preEvictionFilter(args: DefaultEvictorArgs, view: ClusterView): PodFilter {
  const nodeSelector = parseLabelSelector(args.nodeSelector ?? '')
  const nodes = args.nodeFit ? view.nodes.filter(({ metadata }) => nodeSelector.matches(metadata.labels)) : []
  const namespaces = labelSelectorFrom(args.namespaceLabelSelector ?? {})
  return (pod) => {
    if (args.nodeFit && !fitsAnyOtherNode(pod, nodes, view)) return false
    return namespaces.isEmpty || namespaces.matches(view.namespace(pod.metadata.namespace ?? '')?.metadata.labels)
  }
}

const owners = ({ metadata }: V1Pod) => metadata.ownerReferences ?? []

function isStatic({ metadata: { annotations = {} } }: V1Pod): boolean {
  const source = annotations['kubernetes.io/config.source']
  return annotations['kubernetes.io/config.mirror'] !== undefined || (source !== undefined && source !== 'api')
}

const isImportant = ({ spec: { priority } }: V1Pod, threshold: number): boolean =>
  priority !== undefined && (priority >= systemCriticalPriority || priority >= threshold)

function hasProtectedClaim({ metadata, spec }: V1Pod, view: ClusterView, classes: ReadonlySet<string>): boolean {
  const claims = (spec.volumes ?? []).flatMap(({ persistentVolumeClaim }) => persistentVolumeClaim?.claimName ?? [])
  if (classes.size === 0) return claims.length > 0
  return claims.some((name) => {
    const storageClass = view.claim(metadata.namespace ?? '', name)?.spec?.storageClassName
    // Of a claim that nobody knows anything of the worst is assumed.
    return !storageClass || classes.has(storageClass)
  })
}

const hasBudget = ({ metadata }: V1Pod, view: ClusterView): boolean =>
  view.budgets(metadata.namespace ?? '').some(({ spec }) => labelSelectorFrom(spec?.selector).matches(metadata.labels))

/** Owners are asked for only where there is exactly one. */
function hasEnoughFellows(pod: V1Pod, view: ClusterView, minReplicas: number): boolean {
  const [owner, ...others] = owners(pod)
  if (minReplicas <= 1 || owner === undefined || others.length > 0) return true
  return view.podsOwnedBy(owner.uid).length >= minReplicas
}
