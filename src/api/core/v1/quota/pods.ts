/** What pods use of a quota. */

import { effectivePodSpec } from '#api/core/v1/effective-pod-spec.ts'
import { Pod } from '#api/core/v1/kinds.gen.ts'
import { isTerminalPhase } from '#api/core/v1/pod/pod-state.ts'
import { usesOtherNamespaces } from '#api/core/v1/quota/cross-namespace-affinity.ts'
import { countName, isSelected, one, type QuotaEvaluator } from '#api/core/v1/quota/evaluator.ts'
import { sum } from '#api/core/v1/quota/quantities.ts'
import { isExtendedResource, isHugePages, isNativeResource, isPodLevelResource } from '#api/core/v1/resource-names.ts'
import { podLimits, podQosClass, podRequests, type Quantities } from '#api/core/v1/resources.ts'
import type { V1Container, V1Pod, V1ResourceRequirements, V1ScopedResourceSelectorRequirement } from '#api/core/v1/types.gen.ts'
import { equalityOf } from '#api/meta/equality.ts'
import { parseQuantity, type Quantity } from '#api/meta/quantity.ts'

const sameResources = equalityOf(Pod).at('spec').at('resources')

const pods = { group: '', resource: 'pods' }
const count = countName(pods)
const computeNames = ['cpu', 'memory', 'ephemeral-storage']
const fixedNames = new Set([
  count,
  ...computeNames,
  ...computeNames.map((name) => `requests.${name}`),
  ...computeNames.map((name) => `limits.${name}`),
  'pods',
])
const deviceClassPrefix = 'deviceclass.resource.kubernetes.io/'

/** A quota over these makes every container say how much it wants. Upstream calls that a mistake, and keeps it. */
const demandedNames = new Set(['cpu', 'memory', 'requests.cpu', 'requests.memory', 'limits.cpu', 'limits.memory'])

export function podEvaluator(nowMs: () => number): QuotaEvaluator {
  return {
    ...pods,
    handles({ operation, subresource, object, oldObject }) {
      if (subresource === 'resize') return operation === 'UPDATE'
      if (subresource !== '') return false
      if (operation === 'UPDATE') return isTerminating(object as V1Pod) !== isTerminating(oldObject as V1Pod)
      return operation === 'CREATE'
    },
    matchingNames: (names) => [
      ...names.filter((name) => fixedNames.has(name)).sort(),
      ...names.filter((name) => isHugePages(name.replace(/^requests\./, '')) || isExtendedQuotaName(name)),
    ],
    usage: (object) => podUsage(object as V1Pod, nowMs()),
    isInScope: (object, selector) => isPodInScope(object as V1Pod, selector),
    missing: (object, names) => missingAmounts(object as V1Pod, names),
    mayHaveShrunk: (next, prev) =>
      hasChangedResources(next as V1Pod, prev as V1Pod) ||
      isTerminating(next as V1Pod) !== isTerminating(prev as V1Pod) ||
      (isCounted(prev as V1Pod, nowMs()) && !isCounted(next as V1Pod, nowMs())),
  }
}

/** Extended resources cannot be promised twice, so that only requests are counted. */
export function isExtendedQuotaName(name: string): boolean {
  return name.startsWith('requests.') && (!isNativeResource(name) || name.startsWith(`requests.${deviceClassPrefix}`))
}

/** All pods are counted as objects; what they compute with only while they can run. */
export function podUsage(pod: V1Pod, nowMs: number): Quantities {
  if (!isCounted(pod, nowMs)) return { [count]: one }
  const spec = effectivePodSpec(pod)
  return sum({ [count]: one }, computeUsage(podRequests(spec), podLimits(spec)))
}

/** Not when it has ended, nor when it should long be gone: a lost node must not keep its users from replacing it. */
function isCounted({ metadata, status }: V1Pod, nowMs: number): boolean {
  if (isTerminalPhase(status?.phase)) return false
  const { deletionTimestamp, deletionGracePeriodSeconds } = metadata
  if (deletionTimestamp === undefined || deletionGracePeriodSeconds === undefined) return true
  return nowMs <= Date.parse(deletionTimestamp) + deletionGracePeriodSeconds * 1000
}

function computeUsage(requests: Quantities, limits: Quantities): Quantities {
  const used: Quantities = { pods: one }
  const set = (name: string, amount: Quantity | undefined) => {
    if (amount !== undefined) used[name] = amount
  }
  for (const name of computeNames) {
    set(name, requests[name])
    set(`requests.${name}`, requests[name])
    set(`limits.${name}`, limits[name])
  }
  for (const [name, amount] of Object.entries(requests)) {
    if (isHugePages(name)) set(name, amount)
    if (isHugePages(name) || isExtendedResource(name) || name.startsWith(deviceClassPrefix)) set(`requests.${name}`, amount)
  }
  return used
}

function missingAmounts({ spec }: V1Pod, names: readonly string[]): string | undefined {
  if (hasPodLevelResources(spec.resources)) return undefined
  const demanded = names.filter((name) => demandedNames.has(name)).sort()
  if (demanded.length === 0) return undefined
  const containers = [...(spec.containers ?? []), ...(spec.initContainers ?? [])]
  const faults = demanded.flatMap((name) => {
    const silent = containers.filter((container) => !says(container, name)).map((container) => container.name)
    return silent.length === 0 ? [] : [`${name} for: ${[...new Set(silent)].sort().join(',')}`]
  })
  return faults.length === 0 ? undefined : `must specify ${faults.join('; ')}`
}

function says({ resources }: V1Container, name: string): boolean {
  if (name.startsWith('limits.')) return resources?.limits?.[name.slice('limits.'.length)] !== undefined
  return resources?.requests?.[name.replace('requests.', '')] !== undefined
}

function hasPodLevelResources(resources: V1ResourceRequirements | undefined): boolean {
  return [resources?.requests, resources?.limits].some((list) => Object.keys(list ?? {}).some(isPodLevelResource))
}

/** It ends by itself, since it has a deadline. */
function isTerminating(pod: V1Pod | undefined): boolean {
  return (pod?.spec?.activeDeadlineSeconds ?? -1) >= 0
}

function isPodInScope(pod: V1Pod, selector: V1ScopedResourceSelectorRequirement): boolean {
  switch (selector.scopeName) {
    case 'Terminating':
      return isTerminating(pod)
    case 'NotTerminating':
      return !isTerminating(pod)
    case 'BestEffort':
      return podQosClass(pod) === 'BestEffort'
    case 'NotBestEffort':
      return podQosClass(pod) !== 'BestEffort'
    case 'PriorityClass':
      return isSelected(pod.spec.priorityClassName ? [pod.spec.priorityClassName] : [], selector)
    case 'CrossNamespacePodAffinity':
      return usesOtherNamespaces(pod.spec.affinity)
    default:
      return false
  }
}

/** Of what the containers really have, as their statuses tell. */
function hasChangedResources(next: V1Pod, prev: V1Pod): boolean {
  return (['containerStatuses', 'initContainerStatuses'] as const).some((list) =>
    prev.status?.[list]?.some(({ name, resources }) => {
      const now = next.status?.[list]?.find((status) => status.name === name)
      return now !== undefined && !sameResources(amounts(now.resources), amounts(resources))
    }),
  )
}

const amounts = (resources: V1ResourceRequirements | undefined) => ({
  limits: mapped(resources?.limits),
  requests: mapped(resources?.requests),
  claims: resources?.claims,
})

const mapped = (list: { [name: string]: string } | undefined) =>
  list && Object.fromEntries(Object.entries(list).map(([name, text]) => [name, parseQuantity(text).toString()]))
