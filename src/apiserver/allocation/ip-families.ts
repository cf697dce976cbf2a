/** Which address families a service has, from what its author said and what the cluster has. */
import { clusterIPsRelatedFields } from '#api/core/v1/service/cluster-ips.ts'
import type { V1Service } from '#api/core/v1/types.gen.ts'
import { Check } from '#api/meta/check.ts'
import { equalJson } from '#api/meta/patch/json-value.ts'
import { invalid } from '#api/meta/status-error.ts'
import type { ClusterIps } from '#apiserver/allocation/cluster-ips.ts'
import { familyOf, type IpFamily } from '#base/ip-range.ts'

const subject = { group: '', kind: 'Service' }

export function initIpFamilies(service: V1Service, old: V1Service | undefined, ips: ClusterIps): void {
  const { spec } = service
  if (spec.type === 'ExternalName' || (old !== undefined && keepsPreferDualStack(service, old))) return
  const isHeadlessWithoutSelector = spec.clusterIP === 'None' && Object.keys(spec.selector ?? {}).length === 0
  spec.ipFamilyPolicy ??= old?.spec.ipFamilyPolicy ?? (isHeadlessWithoutSelector ? 'RequireDualStack' : 'SingleStack')
  refuse(service, (check) => clusterIPsRelatedFields(check, old))
  refuse(service, (check) => checkPolicy(check, old, ips))
  if (isHeadlessWithoutSelector) {
    completeFamilies(service, ips.defaultFamily, true)
    return
  }
  refuse(service, (check) => checkConfigured(check, ips))
  completeFamilies(service, ips.defaultFamily, ips.families.size === 2)
}

function refuse(service: V1Service, validate: (check: Check<V1Service>) => void): void {
  const check = new Check(service)
  validate(check)
  if (check.failed) throw invalid(subject, service.metadata?.name ?? '', check.errors)
}

/** A service that preferred two stacks stays as it was made, whatever the cluster has become since. */
export function keepsPreferDualStack(service: V1Service, old: V1Service): boolean {
  const policy = service.spec.ipFamilyPolicy
  return (
    policy === 'PreferDualStack' &&
    old.spec.type === service.spec.type &&
    (old.spec.ipFamilyPolicy ?? policy) === 'PreferDualStack' &&
    equalJson(old.spec.clusterIPs ?? [], service.spec.clusterIPs ?? []) &&
    equalJson(old.spec.ipFamilies ?? [], service.spec.ipFamilies ?? [])
  )
}

function checkPolicy(check: Check<V1Service>, old: V1Service | undefined, ips: ClusterIps): void {
  const service = check.value
  const { spec } = service
  const at = check.at('spec').at('ipFamilyPolicy')
  const isSingle = spec.ipFamilyPolicy === 'SingleStack'
  if (old !== undefined && isSingle) {
    if (equalJson(old.spec.clusterIPs ?? [], spec.clusterIPs ?? []) && (spec.clusterIPs ?? []).length > 1)
      spec.clusterIPs = (spec.clusterIPs ?? []).slice(0, 1)
    if (equalJson(old.spec.ipFamilies ?? [], spec.ipFamilies ?? []) && (spec.ipFamilies ?? []).length > 1)
      spec.ipFamilies = (spec.ipFamilies ?? []).slice(0, 1)
  } else if (old !== undefined) {
    if (isShorter(spec.clusterIPs, old.spec.clusterIPs)) at.invalid("must be 'SingleStack' to release the secondary cluster IP")
    if (isShorter(spec.ipFamilies, old.spec.ipFamilies)) at.invalid("must be 'SingleStack' to release the secondary IP family")
  }
  if (isSingle) {
    const either = "must be 'RequireDualStack' or 'PreferDualStack' when multiple"
    if (spec.clusterIPs?.length === 2) at.invalid(`${either} cluster IPs are specified`)
    if (spec.ipFamilies?.length === 2) at.invalid(`${either} IP families are specified`)
  }
  spec.ipFamilies ??= []
  const families = spec.ipFamilies
  for (const [index, address] of (spec.clusterIPs ?? []).entries()) {
    if (address === 'None') break
    if (index < families.length) continue
    const family = familyOf(address)
    if (ips.families.has(family)) families.push(family)
    else check.at('spec').at('clusterIPs').at(index).invalid(`${family} is not configured on this cluster`, spec.clusterIPs)
  }
}

function isShorter(next: readonly string[] | undefined, prev: readonly string[] | undefined): boolean {
  return next !== undefined && next.length > 0 && next.length < (prev ?? []).length
}

function checkConfigured(check: Check<V1Service>, ips: ClusterIps): void {
  const { spec } = check.value
  if (spec.ipFamilyPolicy === 'RequireDualStack' && ips.families.size < 2) {
    check.at('spec').at('ipFamilyPolicy').invalid('this cluster is not configured for dual-stack services')
  }
  for (const at of check.at('spec').at('ipFamilies').items()) {
    const family = at.value
    if (!ips.families.has(family as IpFamily)) at.invalid('not configured on this cluster')
  }
}

function completeFamilies({ spec }: V1Service, first: IpFamily, hasBoth: boolean): void {
  const families = spec.ipFamilies?.length ? spec.ipFamilies : [first]
  if (spec.ipFamilyPolicy !== 'SingleStack' && families.length === 1 && hasBoth) families.push(families[0] === 'IPv4' ? 'IPv6' : 'IPv4')
  spec.ipFamilies = families
}
