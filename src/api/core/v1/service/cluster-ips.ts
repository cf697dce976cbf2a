/** Validates the addresses of a service and their families. */
import type { V1Service } from '#api/core/v1/types.gen.ts'
import type { Check } from '#api/meta/check.ts'
import { ipForLegacyField, isIpv4, parseIp } from '#api/meta/ip.ts'

export const isHeadless = ({ spec }: V1Service): boolean => spec?.clusterIPs?.length === 1 && spec.clusterIPs[0] === 'None'

const families = ['IPv4', 'IPv6']
const familyPolicies = ['PreferDualStack', 'RequireDualStack', 'SingleStack']

/** `check` stands at the object. Also asked before addresses are taken, so that none are taken for nothing. */
export function clusterIPsRelatedFields(check: Check<V1Service>, prev: V1Service | undefined): void {
  const service = check.value
  const spec = service.spec ?? {}
  if (spec.type === 'ExternalName') return
  const { clusterIP = '', clusterIPs = [], ipFamilies = [], ipFamilyPolicy } = spec
  const atIps = check.at('spec').at('clusterIPs')
  if (clusterIP !== '') {
    if (clusterIPs.length === 0) atIps.required()
    else if (clusterIPs[0] !== clusterIP) atIps.invalid('first value must match `clusterIP`', clusterIPs)
  } else if (clusterIPs.length > 0) atIps.invalid('must be empty when `clusterIP` is not specified', clusterIPs)
  const seen = new Set<string>()
  for (const [index, family] of ipFamilies.entries()) {
    const at = check.at('spec').at('ipFamilies').at(index)
    if (!families.includes(family)) at.notSupported(families, family)
    if (seen.has(family)) at.duplicate(family)
    seen.add(family)
  }
  if (ipFamilyPolicy !== undefined && !familyPolicies.includes(ipFamilyPolicy)) {
    check.at('spec').at('ipFamilyPolicy').notSupported(familyPolicies, ipFamilyPolicy)
  }
  if (validateAddresses(clusterIPs, new Set(prev?.spec?.clusterIPs), atIps)) validateFamiliesOfAddresses(service, atIps)
}

/** Returns whether each of them can be read. */
function validateAddresses(clusterIPs: readonly string[], known: ReadonlySet<string>, check: Check<string[] | undefined>): boolean {
  let areReadable = true
  for (const [index, address] of clusterIPs.entries()) {
    if (index === 0 && address === 'None') {
      if (clusterIPs.length === 1) continue
      areReadable = false
      check.invalid("'None' must be the first and only value", clusterIPs)
      continue
    }
    const before = check.errors.length
    ipForLegacyField(check.at(index).with(address), { known })
    if (check.errors.length > before) areReadable = false
  }
  if (clusterIPs.length > 2) check.invalid('may only hold up to 2 values', clusterIPs)
  return areReadable
}

const isIpv6Text = (address: string): boolean => {
  const ip = parseIp(address)
  return ip !== undefined && !isIpv4(ip)
}

function validateFamiliesOfAddresses(service: V1Service, check: Check<string[] | undefined>): void {
  const { clusterIPs = [], ipFamilies = [] } = service.spec ?? {}
  if (clusterIPs.length > 1 && new Set(clusterIPs.map(isIpv6Text)).size < 2) {
    check.invalid('may specify no more than one IP for each IP family', clusterIPs)
  }
  if (isHeadless(service)) return
  for (const [index, address] of clusterIPs.entries()) {
    const family = ipFamilies[index]
    const isOther = (family === 'IPv4' && isIpv6Text(address)) || (family === 'IPv6' && !isIpv6Text(address))
    if (isOther) check.at(index).invalid(`expected an ${family} value as indicated by \`ipFamilies[${index}]\``, address)
  }
}

const mayNotChange = 'may not change once set'

/** Addresses stay; a second one may come and go. `check` stands at the object. */
export function validateClusterIpsUpdate(check: Check<V1Service>, prev: V1Service): void {
  const next = check.value
  if (next.spec?.type === 'ExternalName' || prev.spec?.type === 'ExternalName') return
  if (isHeadless(prev) && isHeadless(next)) return
  const { clusterIPs: now = [], ipFamilyPolicy } = next.spec ?? {}
  const then = prev.spec?.clusterIPs ?? []
  const at = check.at('spec').at('clusterIPs')
  if (then.length === now.length) {
    for (const [index, address] of then.entries()) if (address !== now[index]) at.at(index).invalid(mayNotChange, now)
    return
  }
  if (then.length > now.length && now.length === 0) at.at(0).invalid('primary clusterIP can not be unset', now)
  if (then.length > 0 && now.length > 0 && then[0] !== now[0]) at.at(0).invalid(mayNotChange, now)
  if (then.length > now.length && now.length === 1 && ipFamilyPolicy !== 'SingleStack') {
    const message = "must be set to 'SingleStack' when releasing the secondary clusterIP"
    check.at('spec').at('ipFamilyPolicy').invalid(message, ipFamilyPolicy)
  }
}

/** `check` stands at the object. */
export function validateIpFamiliesUpdate(check: Check<V1Service>, prev: V1Service): void {
  const next = check.value
  if (next.spec?.type === 'ExternalName' || prev.spec?.type === 'ExternalName') return
  if (isHeadless(next) || isHeadless(prev)) return
  const { clusterIPs = [], ipFamilies: now = [], ipFamilyPolicy } = next.spec ?? {}
  const then = prev.spec?.ipFamilies ?? []
  const at = check.at('spec').at('ipFamilies').at(0)
  if (then.length === now.length) {
    for (const [index, family] of then.entries()) if (family !== now[index]) at.invalid(mayNotChange, now)
    return
  }
  if (then.length > now.length && clusterIPs.length === 0) at.invalid('primary ipFamily can not be unset', now)
  // The addresses that are shown here are upstream's.
  if (then.length > 0 && now.length > 0 && then[0] !== now[0]) at.invalid(mayNotChange, clusterIPs)
  if (then.length > now.length && now.length === 1 && ipFamilyPolicy !== 'SingleStack') {
    const message = "must be set to 'SingleStack' when releasing the secondary ipFamily"
    check.at('spec').at('ipFamilyPolicy').invalid(message, ipFamilyPolicy)
  }
}
