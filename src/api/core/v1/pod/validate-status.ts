/** Judges what nodes and schedulers tell of a pod. */

import { validateContainerStatuses, validateImageVolumeStatuses } from '#api/core/v1/pod/validate-container-statuses.ts'
import { noSpec, podOptionsForUpdate } from '#api/core/v1/pod/validate-pod.ts'
import { validateContainerStateUpdates } from '#api/core/v1/pod/validate-state-transition.ts'
import { validatePodAnnotationsUpdate } from '#api/core/v1/pod-spec/validate-annotations.ts'
import { isNativeResource } from '#api/core/v1/resource-names.ts'
import type {
  V1Pod,
  V1PodCondition,
  V1PodExtendedResourceClaimStatus,
  V1PodResourceClaimStatus,
  V1PodSpec,
  V1PodStatus,
} from '#api/core/v1/types.gen.ts'
import type { Check } from '#api/meta/check.ts'
import { mustNotChange } from '#api/meta/immutable.ts'
import { ipForLegacyField, isIpv4, parseIp } from '#api/meta/ip.ts'
import { dns1123Label, dns1123Subdomain, mustBe, qualifiedName } from '#api/meta/names.ts'
import { parseQuantity } from '#api/meta/quantity.ts'
import { asInternal } from '#api/meta/quote-internal.ts'
import type { RuleContext } from '#api/resource.ts'

export function validatePodStatusUpdate(next: V1Pod, prev: V1Pod, check: Check, context: RuleContext): void {
  const options = podOptionsForUpdate(prev, context)
  const { spec = noSpec, status = {}, metadata } = next
  const { status: prevStatus = {} } = prev
  validatePodAnnotationsUpdate(metadata.annotations, prev.metadata.annotations, spec, check.at('metadata.annotations'), options)
  const at = check.at('status')
  validateConditions(status.conditions ?? [], at.at('conditions'))
  validateNominatedNode(next, prev, at.at('nominatedNodeName'), options.clearNominatedNodeName)
  const generation = status.observedGeneration ?? 0
  if (generation < 0) at.at('observedGeneration').invalid(generation, 'must be a non-negative integer')
  mustNotChange(status.qosClass ?? '', prevStatus.qosClass ?? '', at.at('qosClass'))
  validateContainerStateUpdates(status, prev, at, options)
  validateClaimStatuses(status.resourceClaimStatuses ?? [], spec, at.at('resourceClaimStatuses'))
  if (status.extendedResourceClaimStatus) {
    validateExtendedClaimStatus(status.extendedResourceClaimStatus, spec, at.at('extendedResourceClaimStatus'))
  }
  validateNodeAllocatableClaims(status, spec, at.at('nodeAllocatableResourceClaimStatuses'))
  validatePodIps(status, prevStatus, at.at('podIPs'))
  validateHostIps(status, prevStatus, at.at('hostIPs'))
  validateContainerStatuses(status, spec, at)
  if (options.allowImageVolumeDigest) validateImageVolumeStatuses(status, at)
}

const systemConditions = ['PodScheduled', 'Ready', 'Initialized']

function validateConditions(conditions: readonly V1PodCondition[], check: Check): void {
  for (const [index, { type = '', observedGeneration = 0 }] of conditions.entries()) {
    const at = check.at(index)
    if (observedGeneration < 0) at.at('observedGeneration').invalid(observedGeneration, 'must be a non-negative integer')
    if (!systemConditions.includes(type)) mustBe(qualifiedName, type, at.at('Type'))
  }
}

function validateNominatedNode({ status }: V1Pod, prev: V1Pod, check: Check, clears: boolean): void {
  const name = status?.nominatedNodeName
  if (!name || name === prev.status?.nominatedNodeName) return
  mustBe(dns1123Subdomain, name, check)
  if (clears && prev.spec?.nodeName) check.forbidden('may not be set on pods that are already bound to a node')
}

function validateClaimStatuses(statuses: readonly V1PodResourceClaimStatus[], spec: V1PodSpec, check: Check): void {
  const names = new Set<string>()
  for (const [index, { name = '', resourceClaimName }] of statuses.entries()) {
    const at = check.at(index)
    if (!spec.resourceClaims?.some((claim) => claim.name === name)) {
      at.at('name').invalid(name, 'must match the name of an entry in `spec.resourceClaims`')
    }
    if (names.has(name)) at.at('name').duplicate(name)
    else names.add(name)
    if (resourceClaimName !== undefined) mustBe(dns1123Subdomain, resourceClaimName, at.at('resourceClaimName'))
  }
}

const requestLists = (of: string) => `spec.initContainers.${of} or spec.containers.${of}`

function validateExtendedClaimStatus(status: V1PodExtendedResourceClaimStatus, spec: V1PodSpec, check: Check): void {
  const { requestMappings = [], resourceClaimName = '' } = status
  if (requestMappings.length === 0) check.at('requestMappings').required('at least one request mapping is required')
  const containers = new Map([...(spec.initContainers ?? []), ...(spec.containers ?? [])].map((container) => [container.name, container]))
  const seen = new Set<string>()
  for (const [index, { containerName = '', resourceName = '', requestName = '' }] of requestMappings.entries()) {
    const at = check.at('requestMappings').at(index)
    const container = containers.get(containerName)
    if (container === undefined) {
      at.at('containerName').invalid(containerName, `must match the name of an entry in ${requestLists('name')}`)
    } else if (container.resources?.requests?.[resourceName] === undefined) {
      const message = `must match the extended resource name of an entry in ${requestLists('resources.requests')}`
      at.at('resourceName').invalid(resourceName, message)
    }
    mustBe(dns1123Label, requestName, check.at('requestName'))
    const key = JSON.stringify([containerName, resourceName, requestName])
    if (seen.has(key)) {
      at.at('containerName').duplicate(containerName)
      at.at('resourceName').duplicate(resourceName)
      at.at('requestName').duplicate(requestName)
    }
    seen.add(key)
  }
  if (resourceClaimName === '') check.at('resourceClaimName').required()
  else mustBe(dns1123Subdomain, resourceClaimName, check.at('resourceClaimName'))
}

function validateNodeAllocatableClaims(status: V1PodStatus, spec: V1PodSpec, check: Check): void {
  for (const [index, claim] of (status.nodeAllocatableResourceClaimStatuses ?? []).entries()) {
    const { resourceClaimName = '', containers = [], resources = {} } = claim
    const at = check.at(index)
    if (resourceClaimName === '') at.at('resourceClaimName').required('must not be empty')
    const mapped = [...(spec.resourceClaims ?? []), ...(status.resourceClaimStatuses ?? [])]
    if (!mapped.some((each) => each.resourceClaimName === resourceClaimName)) {
      at.at('resourceClaimName').invalid(resourceClaimName, 'no mapping found in pod reference')
    }
    if (containers.length === 0) at.at('containers').required('must not be empty')
    if (Object.keys(resources).length === 0) at.at('resources').required('must not be empty')
    for (const [name, quantity] of Object.entries(resources)) {
      const atResource = at.at('resources').key(name)
      if (!isNativeResource(name)) atResource.invalid(name, 'must be a node allocatable resource name')
      const parsed = parseQuantity(quantity)
      if (parsed.sign < 0) atResource.invalid(parsed.toString(), 'must be non-negative')
    }
  }
}

const onePerFamily = 'may specify no more than one IP for each IP family'

function validatePodIps({ podIPs = [] }: V1PodStatus, prev: V1PodStatus, check: Check): void {
  const known = (prev.podIPs ?? []).map(({ ip }) => ip ?? '')
  for (const [index, { ip = '' }] of podIPs.entries()) ipForLegacyField(ip, check.at(index), { known })
  validateFamilies(
    podIPs.map(({ ip = '' }) => ip),
    asInternal('[core.PodIP', podIPs),
    check,
  )
}

function validateHostIps({ hostIP = '', hostIPs = [] }: V1PodStatus, prev: V1PodStatus, check: Check): void {
  const first = hostIPs[0]
  if (first === undefined) return
  if ((first.ip ?? '') !== hostIP)
    check
      .at(0)
      .at('ip')
      .invalid(first.ip ?? '', 'must be equal to `hostIP`')
  const known = (prev.hostIPs ?? []).map(({ ip }) => ip ?? '')
  for (const [index, { ip = '' }] of hostIPs.entries()) ipForLegacyField(ip, check.at(index), { known })
  validateFamilies(
    hostIPs.map(({ ip = '' }) => ip),
    asInternal('[core.HostIP', hostIPs),
    check,
  )
}

function validateFamilies(ips: readonly string[], shown: unknown, check: Check): void {
  if (ips.length < 2) return
  const parsed = ips.map(parseIp)
  const wrong = parsed.indexOf(undefined)
  if (wrong >= 0) check.internal(`failed to check for dual stack with error:invalid IP address: ${ips[wrong]}`)
  const isDualStack = wrong < 0 && new Set(parsed.map((ip) => ip !== undefined && isIpv4(ip))).size === 2
  if (!isDualStack || ips.length > 2) check.invalid(shown, onePerFamily)
}
