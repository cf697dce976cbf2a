/** What claims of devices use of a quota: by device class, and by the extended resource a class stands for. */
import { countName, one, type QuotaEvaluator } from '#api/core/v1/quota/evaluator.ts'
import { isExtendedQuotaName, podUsage } from '#api/core/v1/quota/pods.ts'
import type { Quantities } from '#api/core/v1/resources.ts'
import type { V1Pod } from '#api/core/v1/types.gen.ts'
import { controllerOf } from '#api/meta/owner-references.ts'
import { quantityOf, zeroQuantity } from '#api/meta/quantity.ts'
import type { V1DeviceClass, V1ResourceClaim } from '#api/resource/v1/types.gen.ts'

/** What must be looked up to count a claim. */
export type ResourceClaimLookups = {
  deviceClasses(): readonly V1DeviceClass[]
  pod(namespace: string, name: string): V1Pod | undefined
  resourceClaims(namespace: string): readonly V1ResourceClaim[]
}

export type ResourceClaimOptions = ResourceClaimLookups & { nowMs(): number; countsExtendedResources: boolean }

const claims = { group: 'resource.k8s.io', resource: 'resourceclaims' }
const count = countName(claims)
const byClass = '.deviceclass.resource.k8s.io/devices'
const requestsPrefix = 'requests.'
const classPrefix = 'deviceclass.resource.kubernetes.io/'
const extendedClaimAnnotation = 'resource.kubernetes.io/extended-resource-claim'
/** As many devices as a claim can be given: what "all" is counted as. */
const mostDevices = 32

export function resourceClaimEvaluator(options: ResourceClaimOptions): QuotaEvaluator {
  const isOfClaims = (name: string): boolean => {
    if (name === count || name.endsWith(byClass)) return true
    if (!options.countsExtendedResources || !isExtendedQuotaName(name)) return false
    const resource = name.slice(requestsPrefix.length)
    if (!resource.startsWith(classPrefix)) return options.deviceClasses().some(({ spec }) => spec.extendedResourceName === resource)
    return options.deviceClasses().some(({ metadata }) => metadata?.name === resource.slice(classPrefix.length))
  }
  return {
    ...claims,
    handles: ({ operation, subresource }) => subresource === '' && (operation === 'CREATE' || operation === 'UPDATE'),
    matchingNames: (names) => names.filter(isOfClaims),
    usage(object) {
      const claim = object as V1ResourceClaim
      const devices = devicesByClass(claim)
      const used: Quantities = { [count]: one }
      for (const [name, number] of devices) used[name + byClass] = quantityOf(number)
      if (options.countsExtendedResources) Object.assign(used, extendedUsage(devices, claim, options))
      return used
    },
  }
}

/** At worst: of alternatives the largest number for each class. */
function devicesByClass({ spec }: V1ResourceClaim): Map<string, number> {
  const total = new Map<string, number>()
  for (const { exactly, firstAvailable } of spec.devices?.requests ?? []) {
    const wanted = new Map<string, number>()
    for (const { deviceClassName, allocationMode, count: number } of firstAvailable?.length ? firstAvailable : exactly ? [exactly] : []) {
      const devices = allocationMode === 'ExactCount' ? (number ?? 0) : allocationMode === 'All' ? mostDevices : 0
      wanted.set(deviceClassName, Math.max(wanted.get(deviceClassName) ?? 0, devices))
    }
    for (const [name, devices] of wanted) total.set(name, (total.get(name) ?? 0) + devices)
  }
  return total
}

/** Devices under their names as extended resources, less what the pod of the claim is already counted with. */
function extendedUsage(devices: ReadonlyMap<string, number>, claim: V1ResourceClaim, options: ResourceClaimOptions): Quantities {
  const usedByPod = usageOfPod(claim, options)
  const used: Quantities = {}
  for (const [className, number] of devices) {
    if (className === '') continue
    const { spec } = options.deviceClasses().find(({ metadata }) => metadata?.name === className) ?? {}
    for (const resource of [classPrefix + className, spec?.extendedResourceName]) {
      if (!resource) continue
      const name = requestsPrefix + resource
      const rest = quantityOf(number).sub(usedByPod[name] ?? zeroQuantity)
      if (rest.sign > 0) used[name] = rest
    }
  }
  return used
}

/** Only of a claim that was made for the extended resources of its pod, and is the only or first such one. */
function usageOfPod(claim: V1ResourceClaim, { pod: podOf, resourceClaims, nowMs }: ResourceClaimOptions): Quantities {
  const { namespace = '', name = '', creationTimestamp = '' } = claim.metadata ?? {}
  const owner = podOwnerOfExtended(claim)
  const pod = owner && podOf(namespace, owner.name)
  if (owner === undefined || pod === undefined || pod.metadata.uid !== owner.uid) return {}
  const named = pod.status?.extendedResourceClaimStatus?.resourceClaimName
  if (named !== undefined && named !== name) return {}
  const isEarlier = ({ metadata }: V1ResourceClaim): boolean => {
    const made = metadata?.creationTimestamp ?? ''
    return made < creationTimestamp || (made === creationTimestamp && (metadata?.name ?? '') < name)
  }
  const others = named === undefined ? resourceClaims(namespace).filter((each) => podOwnerOfExtended(each)?.uid === owner.uid) : []
  return others.some(isEarlier) ? {} : podUsage(pod, nowMs())
}

function podOwnerOfExtended(claim: V1ResourceClaim) {
  if (claim.metadata?.annotations?.[extendedClaimAnnotation] !== 'true') return undefined
  const owner = controllerOf(claim)
  return owner?.kind === 'Pod' && owner.apiVersion === 'v1' ? owner : undefined
}
