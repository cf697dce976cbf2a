/** Validates what containers and pods request, and are limited to. */
import { notFoundBecause } from '#api/core/v1/odd-errors.ts'
import { someContainer } from '#api/core/v1/pod-spec/all-containers.ts'
import type { PodValidationOptions } from '#api/core/v1/pod-spec/validation-options.ts'
import { type ResourceList, validateResourceQuantity } from '#api/core/v1/quantities.ts'
import {
  hugePageSize,
  isHugePages,
  isOvercommitAllowed,
  validateContainerResourceName,
  validatePodLevelResourceName,
} from '#api/core/v1/resource-names.ts'
import { sumOverContainers } from '#api/core/v1/resources.ts'
import type { V1PodSpec, V1ResourceClaim, V1ResourceRequirements } from '#api/core/v1/types.gen.ts'
import type { Check } from '#api/meta/check.ts'
import { dns1123Label, mustBe } from '#api/meta/names.ts'
import { compareQuantities, isQuantity, parseQuantity } from '#api/meta/quantity.ts'

/** `check` stands at the requirements; `claimNames` are those of the pod. */
export function validateContainerResources(
  check: Check<V1ResourceRequirements>,
  claimNames: ReadonlySet<string>,
  options: PodValidationOptions,
): void {
  const requirements = check.value
  validateRequirements(check, validateContainerResourceName, options)
  if (requirements.claims?.length) validateClaims(check.at('claims').present, claimNames)
}

const noClaims: ReadonlySet<string> = new Set()

/** `check` stands at the overhead, which is validated, and reported, as if it were limits. */
export function validateOverhead(check: Check<ResourceList>, options: PodValidationOptions): void {
  const overhead = check.value
  validateContainerResources(check.with({ limits: overhead }), noClaims, options)
}

type ResourceRule = (check: Check<string>) => void

function validateRequirements(check: Check<V1ResourceRequirements>, validateName: ResourceRule, options: PodValidationOptions): void {
  const { limits, requests } = check.value
  let hasHugePages = false
  let hasCpuOrMemory = false
  const see = (name: string) => {
    hasHugePages ||= isHugePages(name)
    hasCpuOrMemory ||= name === 'cpu' || name === 'memory'
  }
  for (const name in limits) {
    if (check.isBeyondTelling) break
    const quantity = limits[name] ?? '0'
    const at = check.at('limits').key(name)
    validateName(at.with(name))
    validateResourceQuantity(name, at.or('0'))
    if (!options.allowIndivisibleHugePages) validatePages(name, quantity, at)
    see(name)
  }
  for (const name in requests) {
    if (check.isBeyondTelling) break
    const quantity = requests[name] ?? '0'
    const at = check.at('requests').key(name)
    validateName(at.with(name))
    validateResourceQuantity(name, at.or('0'))
    validateAgainstLimit(name, quantity, limits?.[name], check)
    if (!options.allowIndivisibleHugePages) validatePages(name, quantity, at)
    see(name)
  }
  if (hasHugePages && !hasCpuOrMemory) check.forbidden('HugePages require cpu or memory')
}

function validateAgainstLimit(name: string, request: string, limit: string | undefined, check: Check<V1ResourceRequirements>): void {
  if (limit === undefined) {
    if (!isOvercommitAllowed(name)) check.at('limits').required('Limit must be set for non overcommitable resources')
    return
  }
  const order = compareQuantities(request, limit)
  if (order === 0) return
  const relation = isOvercommitAllowed(name) ? 'less than or equal' : 'equal'
  if (relation !== 'equal' && order < 0) return
  const message = `must be ${relation} to ${name} limit of ${parseQuantity(limit)}`
  check.at('requests').invalid(message, parseQuantity(request).toString())
}

function validatePages(name: string, quantity: string, check: Check<unknown>): void {
  if (!isHugePages(name) || isDivisibleIntoPages(name, quantity)) return
  const shown = parseQuantity(quantity).toString()
  check.invalid(`${shown} is not positive integer multiple of ${name}`, shown)
}

function isDivisibleIntoPages(name: string, quantity: string): boolean {
  const size = hugePageSize(name)
  if (!isQuantity(size)) return false
  const page = parseQuantity(size)
  if (page.sign <= 0 || page.scaledValue(-3) % 1000n !== 0n) return false
  return parseQuantity(quantity).scaledValue(0) % page.scaledValue(0) === 0n
}

/** Whether an update must let such amounts pass, because the stored spec already has them. */
export function usesIndivisibleHugePages(spec: V1PodSpec): boolean {
  const isWrong = (list: ResourceList | undefined): boolean =>
    Object.entries(list ?? {}).some(([name, quantity]) => isHugePages(name) && !isDivisibleIntoPages(name, quantity))
  return someContainer(spec, ({ resources }) => isWrong(resources?.limits) || isWrong(resources?.requests)) || isWrong(spec.overhead)
}

/** `check` stands at the list of the claims a container uses. */
function validateClaims(check: Check<readonly V1ResourceClaim[]>, ofPod: ReadonlySet<string>): void {
  // `claim`, or `claim/request` where only a part of the claim is used.
  const seen = new Set<string>()
  /** Of each claim, how many parts. */
  const parts = new Map<string, number>()
  let reason: string | undefined
  for (const at of check.items()) {
    const { name = '', request = '' } = at.value
    if (name === '') {
      at.required()
      continue
    }
    if (seen.has(name)) at.duplicate(name)
    else {
      if (request !== '') mustBe(dns1123Label, at.at('request').or(''))
      const key = request === '' ? name : `${name}/${request}`
      if (seen.has(key)) at.duplicate(key)
      else if (request === '') for (let count = parts.get(name) ?? 0; count > 0; count--) at.duplicate(name)
      else parts.set(name, (parts.get(name) ?? 0) + 1)
      seen.add(key)
    }
    if (ofPod.has(name)) continue
    const because = () => {
      reason ??= notAClaimOf(ofPod)
      return reason
    }
    notFoundBecause(name, because, at)
  }
}

function notAClaimOf(claims: ReadonlySet<string>): string {
  const which = claims.size === 0 ? ' which is empty' : `: ${[...claims].sort().join(', ')}`
  return `must be one of the names in pod.spec.resourceClaims${which}`
}

/** Resources of the pod as a whole. `check` stands at the spec. */
export function validatePodResources(check: Check<V1PodSpec>, options: PodValidationOptions): void {
  const spec = check.value
  const resources = spec.resources
  if (resources === undefined) return
  const at = check.at('resources')
  if (spec.os?.name === 'windows') {
    at.forbidden('may not be set for a windows pod')
    return
  }
  if (resources.claims !== undefined) at.at('claims').forbidden('claims may not be set for Resources at pod-level')
  validateRequirements(at.present, validatePodLevelResourceName, options)
  if (resources.claims?.length) validateClaims(at.at('claims').present, new Set((spec.resourceClaims ?? []).map(({ name }) => name)))
  validateAgainstContainers(spec, at.present)
}

/** The pod must have room for its containers. */
function validateAgainstContainers(spec: V1PodSpec, check: Check<V1ResourceRequirements>): void {
  const { requests = {}, limits = {} } = check.value
  for (const [name, sum] of Object.entries(sumOverContainers(spec, 'requests'))) {
    const ofPod = requests[name]
    if (ofPod === undefined || sum.compare(parseQuantity(ofPod)) <= 0) continue
    const message = `must be greater than or equal to aggregate container requests of ${sum}`
    check.at('requests').key(name).invalid(message, parseQuantity(ofPod).toString())
  }
  for (const [name, sum] of Object.entries(sumOverContainers(spec, 'limits'))) {
    const ofPod = limits[name]
    if (!isHugePages(name) || ofPod === undefined || sum.compare(parseQuantity(ofPod)) <= 0) continue
    const message = `must be greater than or equal to aggregate container limits of ${sum}`
    check.at('limits').key(name).invalid(message, parseQuantity(ofPod).toString())
  }
  for (const [index, container] of (spec.containers ?? []).entries()) {
    for (const [name, limit] of Object.entries(container.resources?.limits ?? {})) {
      const ofPod = limits[name]
      if (ofPod === undefined || compareQuantities(limit, ofPod) <= 0) continue
      const at = check.dynamic('containers').at(index).key(name).dynamic('limits')
      at.invalid(`must be less than or equal to pod limits of ${parseQuantity(ofPod)}`, parseQuantity(limit).toString())
    }
  }
}
