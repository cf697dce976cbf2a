/** Names of resources: which Kubernetes knows, where they may be used, which of them count whole things only. */
import type { Check } from '#api/meta/check.ts'
import { mustBe, qualifiedName } from '#api/meta/names.ts'

const hugePagesPrefix = 'hugepages-'
const quotaRequestsPrefix = 'requests.'

export const isHugePages = (name: string): boolean => name.startsWith(hugePagesPrefix)

const isQuotaHugePages = (name: string): boolean => isHugePages(name) || name.startsWith(quotaRequestsPrefix + hugePagesPrefix)

/** The size in a huge page resource's name: `2Mi` of `hugepages-2Mi`. */
export const hugePageSize = (name: string): string => name.slice(hugePagesPrefix.length)

const computeResources = ['cpu', 'memory', 'ephemeral-storage']

const countedResources = [
  'pods',
  'resourcequotas',
  'services',
  'replicationcontrollers',
  'secrets',
  'configmaps',
  'persistentvolumeclaims',
  'services.nodeports',
  'services.loadbalancers',
]

const containerResources = new Set(computeResources)
const integerResources = new Set(countedResources)
const quotaResources = new Set([
  ...computeResources,
  ...computeResources.map((name) => `requests.${name}`),
  ...computeResources.map((name) => `limits.${name}`),
  'requests.storage',
  ...countedResources,
])
const standardResources = new Set([...quotaResources, 'storage'])

const isStandardContainerResource = (name: string): boolean => containerResources.has(name) || isHugePages(name)
export const isStandardQuotaResource = (name: string): boolean => quotaResources.has(name) || isQuotaHugePages(name)
const isStandardResource = (name: string): boolean => standardResources.has(name) || isQuotaHugePages(name)

/** One of Kubernetes' own, with or without its domain. */
export const isNativeResource = (name: string): boolean => !name.includes('/') || name.includes('kubernetes.io/')

/** One of somebody else's: devices and licences. A quota must be able to name it with `requests.` in front. */
export function isExtendedResource(name: string): boolean {
  if (isNativeResource(name) || name.startsWith(quotaRequestsPrefix)) return false
  return qualifiedName(quotaRequestsPrefix + name).length === 0
}

/** Whether more may be promised than there is. */
export const isOvercommitAllowed = (name: string): boolean => isNativeResource(name) && !isHugePages(name)

export const isIntegerResource = (name: string): boolean => integerResources.has(name) || isExtendedResource(name)

/** What `spec.resources` of a pod may hold. */
export const isPodLevelResource = (name: string): boolean => name === 'cpu' || name === 'memory' || isHugePages(name)

function validateResourceName(check: Check<string>): boolean {
  const name = check.value
  const messages = qualifiedName(name)
  if (messages.length > 0) {
    for (const message of messages) check.invalid(message)
    return false
  }
  if (!name.includes('/') && !isStandardResource(name)) {
    check.invalid('must be a standard resource type or fully qualified')
    return false
  }
  return true
}

export function validateAnyResourceName(check: Check<string>): void {
  validateResourceName(check)
}

export function validateContainerResourceName(check: Check<string>): void {
  const name = check.value
  // The names nearly every container uses need no pattern.
  if (containerResources.has(name)) return
  validateResourceName(check)
  if (!name.includes('/')) {
    if (!isStandardContainerResource(name)) check.invalid('must be a standard resource for containers')
  } else if (!isNativeResource(name) && !isExtendedResource(name)) {
    check.invalid("doesn't follow extended resource name standard")
  }
}

export function validatePodLevelResourceName(check: Check<string>): void {
  if (!validateResourceName(check)) return
  if (!isPodLevelResource(check.value)) check.notSupported(['cpu', hugePagesPrefix, 'memory'])
}

export function validateQuotaResourceName(check: Check<string>): void {
  const name = check.value
  validateResourceName(check)
  if (!name.includes('/') && !isStandardQuotaResource(name)) check.invalid('must be a standard resource for quota')
}

export function validateClaimResourceName(check: Check<string>): boolean {
  const name = check.value
  const before = check.errors.length
  mustBe(qualifiedName, check)
  if (check.errors.length > before) return false
  if (isNativeResource(name) && name !== 'storage') {
    check.notSupported(['storage'])
    return false
  }
  return true
}
