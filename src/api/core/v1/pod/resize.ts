/** The endpoint by which a running pod gets more or less of cpu and memory. */

import { Pod } from '#api/core/v1/kinds.gen.ts'
import { forbiddenNowhere } from '#api/core/v1/odd-errors.ts'
import { countGeneration } from '#api/core/v1/pod/generation.ts'
import { noSpec, podOptionsForUpdate } from '#api/core/v1/pod/validate-pod.ts'
import { validateWholePodAgain } from '#api/core/v1/pod/validate-update.ts'
import { isSidecar } from '#api/core/v1/pod-spec/all-containers.ts'
import { dropDisabledSpecFields } from '#api/core/v1/pod-spec/drop-disabled.ts'
import { mirrorPodAnnotation } from '#api/core/v1/pod-spec/validate-annotations.ts'
import type { PodValidationOptions } from '#api/core/v1/pod-spec/validation-options.ts'
import type { ResourceList } from '#api/core/v1/quantities.ts'
import { computeQosClass, podQosClass } from '#api/core/v1/resources.ts'
import type { V1Container, V1Pod, V1PodSpec, V1ResourceRequirements } from '#api/core/v1/types.gen.ts'
import type { Check } from '#api/meta/check.ts'
import { equalityOf } from '#api/meta/equality.ts'
import { putBack } from '#api/meta/put-back.ts'
import { resetObjectMetaForStatus } from '#api/meta/reset-object-meta-for-status.ts'
import type { RuleContext } from '#api/resource.ts'

const sameSpec = equalityOf(Pod).at('spec')
const sameContainer = sameSpec.at('containers').each

/** Everything but resources is put back, unless the containers do not even correspond; then validation says so. */
export function preparePodResize(next: V1Pod, prev: V1Pod, context: RuleContext): void {
  const { spec = noSpec } = next
  const { spec: prevSpec = noSpec } = prev
  const counts = (of: V1PodSpec) => [of.containers?.length ?? 0, of.initContainers?.length ?? 0].join()
  if (counts(spec) === counts(prevSpec)) {
    const kept: V1PodSpec = { ...prevSpec, containers: withResourcesOf(prevSpec.containers, spec.containers) }
    if (spec.initContainers?.length) kept.initContainers = withResourcesOf(prevSpec.initContainers, spec.initContainers)
    if (context.isEnabled('InPlacePodLevelResourcesVerticalScaling')) {
      if (spec.resources === undefined) delete kept.resources
      else kept.resources = spec.resources
    }
    next.spec = kept
    putBack(next, prev, 'status')
    resetObjectMetaForStatus(next.metadata, prev.metadata)
  } else dropDisabledSpecFields(spec, prev.spec, context)
  countGeneration(next, prev)
}

function withResourcesOf(prev: readonly V1Container[] = [], next: readonly V1Container[] = []): V1Container[] {
  if (next.some(({ name }, index) => prev[index]?.name !== name)) return [...next]
  return prev.map((container, index) => {
    const merged = { ...container }
    const { resources, resizePolicy } = next[index] ?? {}
    if (resources === undefined) delete merged.resources
    else merged.resources = resources
    if (resizePolicy === undefined) delete merged.resizePolicy
    else merged.resizePolicy = resizePolicy
    return merged
  })
}

export function validatePodResize(next: V1Pod, prev: V1Pod, check: Check<V1Pod>, context: RuleContext): void {
  if (prev.metadata.annotations?.[mirrorPodAnnotation] !== undefined) {
    forbiddenNowhere('static pods cannot be resized', check)
    return
  }
  if (prev.spec?.os?.name === 'windows') {
    forbiddenNowhere('windows pods cannot be resized', check)
    return
  }
  const options = podOptionsForUpdate(prev, context)
  validateWholePodAgain(check, options)
  const at = check.at('spec')
  if (podQosClass(prev) !== computeQosClass(next.spec)) {
    at.invalid('Pod QOS Class may not change as a result of resizing', next.status?.qosClass ?? '')
  }
  const running = prev.status?.containerStatuses?.find(({ state }) => state?.running)
  if (running && running.resources === undefined) at.forbidden('Pod running on node without support for resize')
  validateResizedSpec(next.spec ?? noSpec, check.with(prev), options)
}

function validateResizedSpec(next: V1PodSpec, check: Check<V1Pod>, options: PodValidationOptions): void {
  const { spec: prev = noSpec, status } = check.value
  const at = check.at('spec')
  const munged: V1PodSpec = { ...next }
  if (hasResources(next.resources) || hasResources(prev.resources)) {
    if (!options.podLevelResize) {
      const gate = 'InPlacePodLevelResourcesVerticalScalingEnabled'
      forbiddenNowhere(`resize of pods with pod-level resources is forbidden when ${gate} feature gate is disabled`, check)
      return
    }
    validatePodLevelResize(at.with(munged), prev)
  }
  if (status?.nodeAllocatableResourceClaimStatuses?.length) {
    at.forbidden('pods with node allocatable resource claims cannot be resized')
  }
  if (!validateSameOrder(at.with(next), prev)) return
  for (const [index, old] of (prev.initContainers ?? []).entries()) {
    if (!options.resizeInitContainers && !isSidecar(old)) continue
    validateNothingRemoved(at.at('initContainers').at(index).at('resources').with(next.initContainers?.[index]?.resources), old.resources)
  }
  for (const [index, old] of (prev.containers ?? []).entries()) {
    validateNothingRemoved(at.at('containers').at(index).at('resources').with(next.containers[index]?.resources), old.resources)
  }
  const onlyCpuAndMemory = 'only cpu and memory resources are mutable'
  munged.containers = (next.containers ?? []).map((container, index) => {
    const old = prev.containers[index] ?? container
    const kept = withCpuAndMemoryOf(container, old)
    if (!sameContainer(kept, withPlainResources(old))) at.forbidden(onlyCpuAndMemory)
    return kept
  })
  if (next.initContainers) munged.initContainers = mungedInitContainers(next.initContainers, at.with(prev), options)
  if (!check.failed && !sameSpec(munged, withPlainContainers(prev))) at.forbidden(onlyCpuAndMemory)
}

const hasResources = (resources: V1ResourceRequirements | undefined): boolean =>
  Object.keys({ ...resources?.requests, ...resources?.limits }).length > 0

function mungedInitContainers(next: readonly V1Container[], check: Check<V1PodSpec>, options: PodValidationOptions): V1Container[] {
  const prev = check.value
  return next.map((container, index) => {
    const old = prev.initContainers?.[index] ?? container
    const isModified = !sameContainer(container, old)
    if (!isSidecar(container) && !options.resizeInitContainers) {
      if (isModified) check.forbidden('resources for non-sidecar init containers are immutable')
      return container
    }
    const at = check.at('initContainers').at(index)
    const kept = withCpuAndMemoryOf(container, old)
    if (!sameContainer(kept, withPlainResources(old)))
      at.forbidden('only cpu and memory resources for init or sidecar containers are mutable')
    if (isModified && !isSidecar(container)) {
      for (const { restartPolicy } of container.resizePolicy ?? []) {
        if (restartPolicy !== 'RestartContainer') continue
        at.forbidden('non-sidecar init containers with a resize policy of RestartContainer cannot be resized')
      }
    }
    return kept
  })
}

function validateSameOrder(check: Check<V1PodSpec>, prev: V1PodSpec): boolean {
  const next = check.value
  const before = check.errors.length
  for (const list of ['containers', 'initContainers'] as const) {
    const [now, then] = [next[list] ?? [], prev[list] ?? []]
    if (now.length !== then.length) check.at(list).forbidden(`${list} may not be added or removed on resize`)
    else {
      for (const [index, { name }] of then.entries()) {
        if (now[index]?.name === name) continue
        check.at(list).at(index).at('name').forbidden(`${list} may not be renamed or reordered on resize`)
      }
    }
  }
  return check.errors.length === before
}

function validateNothingRemoved(check: Check<V1ResourceRequirements | undefined>, prev: V1ResourceRequirements = {}): void {
  const next = check.value ?? {}
  if (isAnyRemoved(next.requests, prev.requests)) check.at('requests').forbidden('resource requests cannot be removed')
  if (isAnyRemoved(next.limits, prev.limits)) check.at('limits').forbidden('resource limits cannot be removed')
}

const isAnyRemoved = (next: ResourceList = {}, prev: ResourceList = {}): boolean =>
  Object.keys(prev).some((name) => next[name] === undefined)

function validatePodLevelResize(check: Check<V1PodSpec>, prev: V1PodSpec): void {
  const munged = check.value
  const old = prev.resources
  const next = munged.resources
  if (old !== undefined) {
    if (next === undefined) {
      check.at('resources').forbidden('pod-level resources cannot be removed')
      return
    }
    if (isAnyRemoved(next.requests, old.requests))
      check.at('resources').at('requests').forbidden('pod-level resource requests cannot be removed')
    if (isAnyRemoved(next.limits, old.limits)) check.at('resources').at('limits').forbidden('pod-level resource limits cannot be removed')
  }
  if (next === undefined) return
  const kept: V1ResourceRequirements = { ...next, ...requirementsWithCpuAndMemoryOf(next, old) }
  if (old === undefined && !hasResources(kept) && !kept.claims?.length) delete munged.resources
  else munged.resources = kept
  if (!sameSpec.at('resources')(munged.resources, old)) check.forbidden('only cpu and memory resources are mutable at pod-level')
}

function requirementsWithCpuAndMemoryOf(next: V1ResourceRequirements = {}, prev: V1ResourceRequirements = {}): V1ResourceRequirements {
  const kept: V1ResourceRequirements = {}
  for (const list of ['limits', 'requests'] as const) {
    if (next[list] === undefined && prev[list] === undefined) continue
    const merged: ResourceList = { ...next[list] }
    for (const name of ['cpu', 'memory']) {
      const quantity = prev[list]?.[name]
      if (quantity === undefined) delete merged[name]
      else merged[name] = quantity
    }
    kept[list] = merged
  }
  return kept
}

/** Claims are lost on the way, as upstream's are: a container that has some cannot be resized. */
const withCpuAndMemoryOf = (container: V1Container, old: V1Container): V1Container => ({
  ...container,
  resources: requirementsWithCpuAndMemoryOf(container.resources, old.resources),
})

/** For comparison: no resources and empty ones are the same. */
const withPlainResources = (container: V1Container): V1Container => ({ ...container, resources: { ...container.resources } })

function withPlainContainers(spec: V1PodSpec): V1PodSpec {
  const plain: V1PodSpec = { ...spec, containers: (spec.containers ?? []).map(withPlainResources) }
  if (spec.initContainers) plain.initContainers = spec.initContainers.map(withPlainResources)
  return plain
}
