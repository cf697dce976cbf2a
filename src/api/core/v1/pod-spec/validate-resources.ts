/** Judges what containers and pods request, and are limited to. */
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
  requirements: V1ResourceRequirements,
  claimNames: ReadonlySet<string>,
  check: Check,
  options: PodValidationOptions,
): void {
  validateRequirements(requirements, validateContainerResourceName, check, options)
  if (requirements.claims?.length) validateClaims(requirements.claims, claimNames, check.at('claims'))
}

const noClaims: ReadonlySet<string> = new Set()

/** `check` stands at the overhead, which is judged, and reported, as if it were limits. */
export function validateOverhead(overhead: ResourceList, check: Check, options: PodValidationOptions): void {
  validateContainerResources({ limits: overhead }, noClaims, check, options)
}

type ResourceRule = (name: string, check: Check) => void

function validateRequirements(
  { limits, requests }: V1ResourceRequirements,
  validateName: ResourceRule,
  check: Check,
  options: PodValidationOptions,
): void {
  let hasHugePages = false
  let hasCpuOrMemory = false
  const see = (name: string) => {
    hasHugePages ||= isHugePages(name)
    hasCpuOrMemory ||= name === 'cpu' || name === 'memory'
  }
  for (const name in limits) {
    const quantity = limits[name] ?? '0'
    const at = check.at('limits').key(name)
    validateName(name, at)
    validateResourceQuantity(name, quantity, at)
    if (!options.allowIndivisibleHugePages) validatePages(name, quantity, at)
    see(name)
  }
  for (const name in requests) {
    const quantity = requests[name] ?? '0'
    const at = check.at('requests').key(name)
    validateName(name, at)
    validateResourceQuantity(name, quantity, at)
    validateAgainstLimit(name, quantity, limits?.[name], check)
    if (!options.allowIndivisibleHugePages) validatePages(name, quantity, at)
    see(name)
  }
  if (hasHugePages && !hasCpuOrMemory) check.forbidden('HugePages require cpu or memory')
}

function validateAgainstLimit(name: string, request: string, limit: string | undefined, check: Check): void {
  if (limit === undefined) {
    if (!isOvercommitAllowed(name)) check.at('limits').required('Limit must be set for non overcommitable resources')
    return
  }
  const order = compareQuantities(request, limit)
  if (order === 0) return
  const relation = isOvercommitAllowed(name) ? 'less than or equal' : 'equal'
  if (relation !== 'equal' && order < 0) return
  const message = `must be ${relation} to ${name} limit of ${parseQuantity(limit)}`
  check.at('requests').invalid(parseQuantity(request).toString(), message)
}

function validatePages(name: string, quantity: string, check: Check): void {
  if (!isHugePages(name) || isDivisibleIntoPages(name, quantity)) return
  const shown = parseQuantity(quantity).toString()
  check.invalid(shown, `${shown} is not positive integer multiple of ${name}`)
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
function validateClaims(claims: readonly V1ResourceClaim[], ofPod: ReadonlySet<string>, check: Check): void {
  // `claim`, or `claim/request` where only a part of the claim is used.
  const seen = new Set<string>()
  for (const [index, { name = '', request = '' }] of claims.entries()) {
    const at = check.at(index)
    if (name === '') {
      at.required()
      continue
    }
    if (seen.has(name)) at.duplicate(name)
    else {
      if (request !== '') mustBe(dns1123Label, request, at.at('request'))
      const key = request === '' ? name : `${name}/${request}`
      if (seen.has(key)) at.duplicate(key)
      else if (request === '') {
        for (const other of seen) if (other.startsWith(`${name}/`)) at.duplicate(name)
      }
      seen.add(key)
    }
    if (!ofPod.has(name)) notFoundBecause(name, notAClaimOf(ofPod), at)
  }
}

function notAClaimOf(claims: ReadonlySet<string>): string {
  const which = claims.size === 0 ? ' which is empty' : `: ${[...claims].sort().join(', ')}`
  return `must be one of the names in pod.spec.resourceClaims${which}`
}

/** Resources of the pod as a whole. `check` stands at the spec. */
export function validatePodResources(spec: V1PodSpec, check: Check, options: PodValidationOptions): void {
  const resources = spec.resources
  if (resources === undefined) return
  const at = check.at('resources')
  if (spec.os?.name === 'windows') {
    at.forbidden('may not be set for a windows pod')
    return
  }
  if (resources.claims !== undefined) at.at('claims').forbidden('claims may not be set for Resources at pod-level')
  validateRequirements(resources, validatePodLevelResourceName, at, options)
  if (resources.claims?.length)
    validateClaims(resources.claims, new Set((spec.resourceClaims ?? []).map(({ name }) => name)), at.at('claims'))
  validateAgainstContainers(spec, resources, at)
}

/** The pod must have room for its containers. */
function validateAgainstContainers(spec: V1PodSpec, { requests = {}, limits = {} }: V1ResourceRequirements, check: Check): void {
  for (const [name, sum] of Object.entries(sumOverContainers(spec, 'requests'))) {
    const ofPod = requests[name]
    if (ofPod === undefined || sum.compare(parseQuantity(ofPod)) <= 0) continue
    const message = `must be greater than or equal to aggregate container requests of ${sum}`
    check.at('requests').key(name).invalid(parseQuantity(ofPod).toString(), message)
  }
  for (const [name, sum] of Object.entries(sumOverContainers(spec, 'limits'))) {
    const ofPod = limits[name]
    if (!isHugePages(name) || ofPod === undefined || sum.compare(parseQuantity(ofPod)) <= 0) continue
    const message = `must be greater than or equal to aggregate container limits of ${sum}`
    check.at('limits').key(name).invalid(parseQuantity(ofPod).toString(), message)
  }
  for (const [index, container] of (spec.containers ?? []).entries()) {
    for (const [name, limit] of Object.entries(container.resources?.limits ?? {})) {
      const ofPod = limits[name]
      if (ofPod === undefined || compareQuantities(limit, ofPod) <= 0) continue
      const at = check.at('containers').at(index).key(name).at('limits')
      at.invalid(parseQuantity(limit).toString(), `must be less than or equal to pod limits of ${parseQuantity(ofPod)}`)
    }
  }
}
