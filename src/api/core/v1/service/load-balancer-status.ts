/** Validates where a balancer says it can be reached; ingresses tell it in the same way. */
import type { V1LoadBalancerStatus, V1ServiceSpec } from '#api/core/v1/types.gen.ts'
import type { Check } from '#api/meta/check.ts'
import { ipForLegacyField, parseIp } from '#api/meta/ip.ts'
import { dns1123Subdomain, mustBe } from '#api/meta/names.ts'

const ipModes = ['Proxy', 'VIP']

/** `check` stands at the balancer's status. */
export function validateLoadBalancerStatus(check: Check<V1LoadBalancerStatus>, prev: V1LoadBalancerStatus, spec: V1ServiceSpec): void {
  const status = check.value
  const { ingress = [] } = status
  if (spec.type !== 'LoadBalancer' && ingress.length > 0) {
    check.at('ingress').forbidden("may only be used when `spec.type` is 'LoadBalancer'")
    return
  }
  const known = new Set(prev.ingress?.flatMap(({ ip }) => ip || []))
  for (const at of check.at('ingress').items()) {
    const { ip = '', ipMode, hostname = '' } = at.value
    if (ip !== '') ipForLegacyField(at.at('ip').or(''), { known })
    if (ipMode === undefined) {
      if (ip !== '') at.at('ipMode').required('must be specified when `ip` is set')
    } else if (ip === '') at.at('ipMode').forbidden('may not be specified when `ip` is not set')
    else if (!ipModes.includes(ipMode)) at.at('ipMode').notSupported(ipModes)
    if (hostname === '') continue
    mustBe(dns1123Subdomain, at.at('hostname').or(''))
    if (parseIp(hostname) !== undefined) at.at('hostname').or('').invalid('must be a DNS name, not an IP address')
  }
}
