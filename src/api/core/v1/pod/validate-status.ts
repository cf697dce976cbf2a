/** Validates what nodes and schedulers tell of a pod. */

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

export function validatePodStatusUpdate(next: V1Pod, prev: V1Pod, check: Check<V1Pod>, context: RuleContext): void {
  const options = podOptionsForUpdate(prev, context)
  const { spec = noSpec, status = {} } = next
  const { status: prevStatus = {} } = prev
  validatePodAnnotationsUpdate(check.at('metadata').at('annotations'), prev.metadata.annotations, spec, options)
  const at = check.at('status')
  validateConditions(at.at('conditions').with(status.conditions ?? []))
  validateNominatedNode(next, prev, at.at('nominatedNodeName'), options.clearNominatedNodeName)
  const generation = status.observedGeneration ?? 0
  if (generation < 0) at.at('observedGeneration').invalid('must be a non-negative integer', generation)
  mustNotChange(at.at('qosClass').with(status.qosClass ?? ''), prevStatus.qosClass ?? '')
  validateContainerStateUpdates(at.or({}), prev, options)
  validateClaimStatuses(status.resourceClaimStatuses ?? [], spec, at.at('resourceClaimStatuses'))
  if (status.extendedResourceClaimStatus) {
    validateExtendedClaimStatus(at.at('extendedResourceClaimStatus').with(status.extendedResourceClaimStatus), spec)
  }
  validateNodeAllocatableClaims(status, spec, at.at('nodeAllocatableResourceClaimStatuses'))
  validatePodIps(status, prevStatus, at.at('podIPs'))
  validateHostIps(status, prevStatus, at.at('hostIPs'))
  validateContainerStatuses(at.or({}), spec)
  if (options.allowImageVolumeDigest) validateImageVolumeStatuses(at.or({}))
}

const systemConditions = ['PodScheduled', 'Ready', 'Initialized']

function validateConditions(check: Check<readonly V1PodCondition[]>): void {
  for (const at of check.items()) {
    const { type = '', observedGeneration = 0 } = at.value
    if (observedGeneration < 0) at.at('observedGeneration').or(0).invalid('must be a non-negative integer')
    if (!systemConditions.includes(type)) mustBe(qualifiedName, at.dynamic('Type').with(type))
  }
}

function validateNominatedNode({ status }: V1Pod, prev: V1Pod, check: Check<unknown>, clears: boolean): void {
  const name = status?.nominatedNodeName
  if (!name || name === prev.status?.nominatedNodeName) return
  mustBe(dns1123Subdomain, check.with(name))
  if (clears && prev.spec?.nodeName) check.forbidden('may not be set on pods that are already bound to a node')
}

function validateClaimStatuses(
  statuses: readonly V1PodResourceClaimStatus[],
  spec: V1PodSpec,
  check: Check<V1PodStatus['resourceClaimStatuses']>,
): void {
  const names = new Set<string>()
  const claims = new Set(spec.resourceClaims?.map((claim) => claim.name))
  for (const [index, { name = '', resourceClaimName }] of statuses.entries()) {
    const at = check.at(index)
    if (!claims.has(name)) {
      at.at('name').invalid('must match the name of an entry in `spec.resourceClaims`', name)
    }
    if (names.has(name)) at.at('name').duplicate(name)
    else names.add(name)
    if (resourceClaimName !== undefined) mustBe(dns1123Subdomain, at.at('resourceClaimName').with(resourceClaimName))
  }
}

const requestLists = (of: string) => `spec.initContainers.${of} or spec.containers.${of}`

function validateExtendedClaimStatus(check: Check<V1PodExtendedResourceClaimStatus>, spec: V1PodSpec): void {
  const status = check.value
  const { requestMappings = [], resourceClaimName = '' } = status
  if (requestMappings.length === 0) check.at('requestMappings').required('at least one request mapping is required')
  const containers = new Map([...(spec.initContainers ?? []), ...(spec.containers ?? [])].map((container) => [container.name, container]))
  const seen = new Set<string>()
  for (const at of check.at('requestMappings').items()) {
    const { containerName = '', resourceName = '', requestName = '' } = at.value
    const container = containers.get(containerName)
    if (container === undefined) {
      at.at('containerName')
        .or('')
        .invalid(`must match the name of an entry in ${requestLists('name')}`)
    } else if (container.resources?.requests?.[resourceName] === undefined) {
      const message = `must match the extended resource name of an entry in ${requestLists('resources.requests')}`
      at.at('resourceName').or('').invalid(message)
    }
    mustBe(dns1123Label, check.dynamic('requestName').with(requestName))
    const key = JSON.stringify([containerName, resourceName, requestName])
    if (seen.has(key)) {
      at.at('containerName').or('').duplicate()
      at.at('resourceName').or('').duplicate()
      at.at('requestName').or('').duplicate()
    }
    seen.add(key)
  }
  if (resourceClaimName === '') check.at('resourceClaimName').required()
  else mustBe(dns1123Subdomain, check.at('resourceClaimName').or(''))
}

function validateNodeAllocatableClaims(
  status: V1PodStatus,
  spec: V1PodSpec,
  check: Check<V1PodStatus['nodeAllocatableResourceClaimStatuses']>,
): void {
  const mapped = new Set([...(spec.resourceClaims ?? []), ...(status.resourceClaimStatuses ?? [])].map((each) => each.resourceClaimName))
  for (const [index, claim] of (status.nodeAllocatableResourceClaimStatuses ?? []).entries()) {
    const { resourceClaimName = '', containers = [], resources = {} } = claim
    const at = check.at(index)
    if (resourceClaimName === '') at.at('resourceClaimName').required('must not be empty')
    if (!mapped.has(resourceClaimName)) {
      at.at('resourceClaimName').invalid('no mapping found in pod reference', resourceClaimName)
    }
    if (containers.length === 0) at.at('containers').required('must not be empty')
    if (Object.keys(resources).length === 0) at.at('resources').required('must not be empty')
    for (const [name, quantity] of Object.entries(resources)) {
      const atResource = at.at('resources').key(name)
      if (!isNativeResource(name)) atResource.invalid('must be a node allocatable resource name', name)
      const parsed = parseQuantity(quantity)
      if (parsed.sign < 0) atResource.invalid('must be non-negative', parsed.toString())
    }
  }
}

const onePerFamily = 'may specify no more than one IP for each IP family'

function validatePodIps({ podIPs = [] }: V1PodStatus, prev: V1PodStatus, check: Check<V1PodStatus['podIPs']>): void {
  const known = new Set(prev.podIPs?.map(({ ip }) => ip ?? ''))
  for (const [index, { ip = '' }] of podIPs.entries()) ipForLegacyField(check.at(index).with(ip), { known })
  validateFamilies(
    podIPs.map(({ ip = '' }) => ip),
    asInternal('[core.PodIP', podIPs),
    check,
  )
}

function validateHostIps({ hostIP = '', hostIPs = [] }: V1PodStatus, prev: V1PodStatus, check: Check<V1PodStatus['hostIPs']>): void {
  const first = hostIPs[0]
  if (first === undefined) return
  if ((first.ip ?? '') !== hostIP)
    check
      .at(0)
      .at('ip')
      .invalid('must be equal to `hostIP`', first.ip ?? '')
  const known = new Set(prev.hostIPs?.map(({ ip }) => ip ?? ''))
  for (const [index, { ip = '' }] of hostIPs.entries()) ipForLegacyField(check.at(index).with(ip), { known })
  validateFamilies(
    hostIPs.map(({ ip = '' }) => ip),
    asInternal('[core.HostIP', hostIPs),
    check,
  )
}

function validateFamilies(ips: readonly string[], shown: unknown, check: Check<unknown>): void {
  if (ips.length < 2) return
  const parsed = ips.map(parseIp)
  const wrong = parsed.indexOf(undefined)
  if (wrong >= 0) check.internal(`failed to check for dual stack with error:invalid IP address: ${ips[wrong]}`)
  const isDualStack = wrong < 0 && new Set(parsed.map((ip) => ip !== undefined && isIpv4(ip))).size === 2
  if (!isDualStack || ips.length > 2) check.invalid(onePerFamily, shown)
}
