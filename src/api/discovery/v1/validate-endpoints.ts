/** Rules for what an endpoint slice lists. */
import { validateEndpointIp } from '#api/core/v1/endpoint-ip.ts'
import type { V1Endpoint, V1EndpointHints, V1EndpointPort } from '#api/discovery/v1/types.gen.ts'
import type { Check } from '#api/meta/check.ts'
import { fullyQualifiedDomainName } from '#api/meta/formats.ts'
import { ipForLegacyField, isIpv4, parseIp, validIp } from '#api/meta/ip.ts'
import { validateLabels } from '#api/meta/labels.ts'
import { dns1123Label, dns1123Subdomain, type Format, labelValue, mustBe, qualifiedName } from '#api/meta/names.ts'
import type { RuleContext } from '#api/resource.ts'

const maxTopologyLabels = 16
const maxAddresses = 100
const maxPorts = 20_000
const maxEndpoints = 1000
const maxHints = 8

const protocols = ['SCTP', 'TCP', 'UDP']

/** `check` stands at the list. */
export function validatePorts(check: Check<readonly V1EndpointPort[]>): void {
  const ports = check.value
  if (ports.length > maxPorts) {
    check.tooMany(ports.length, maxPorts)
    return
  }
  const names = new Set<string>()
  check.each((at) => {
    const { name = '', protocol, appProtocol } = at.value
    if (name !== '') mustBe(dns1123Label, at.at('name').or(''))
    if (names.has(name)) at.at('name').or('').duplicate()
    names.add(name)
    if (protocol === undefined) at.at('protocol').required()
    else if (!protocols.includes(protocol)) at.at('protocol').notSupported(protocols)
    if (appProtocol !== undefined) mustBe(qualifiedName, at.at('appProtocol').present)
  })
}

/** `check` stands at the list. */
export function validateEndpoints(
  endpoints: readonly V1Endpoint[],
  addressType: string,
  check: Check<unknown>,
  context: RuleContext,
): void {
  if (endpoints.length > maxEndpoints) {
    check.tooMany(endpoints.length, maxEndpoints)
    return
  }
  check.with(endpoints).each((at) => {
    const endpoint = at.value
    validateAddresses(at.at('addresses').or([]), addressType, context)
    if (endpoint.nodeName !== undefined) mustBe(dns1123Subdomain, at.at('nodeName').present)
    const topology = endpoint.deprecatedTopology
    if (topology) {
      const count = Object.keys(topology).length
      if (count > maxTopologyLabels) at.at('deprecatedTopology').tooMany(count, maxTopologyLabels)
      validateLabels(at.at('deprecatedTopology'))
    }
    if (endpoint.hostname !== undefined) mustBe(dns1123Label, at.at('hostname').present)
    if (endpoint.hints) validateHints(at.at('hints').present)
  })
}

function validateAddresses(check: Check<readonly string[]>, addressType: string, { isEnabled }: RuleContext): void {
  const addresses = check.value
  if (addresses.length === 0) check.required('must contain at least 1 address')
  else if (addresses.length > maxAddresses) check.tooMany(addresses.length, maxAddresses)
  check.each((at) => {
    const address = at.value
    if (addressType === 'FQDN') return fullyQualifiedDomainName(at)
    if (addressType !== 'IPv4' && addressType !== 'IPv6') return
    const found = at.errors.length
    if (addressType === 'IPv4') ipForLegacyField(at, { strict: isEnabled('StrictIPCIDRValidation') })
    else validIp(at)
    if (at.errors.length > found) return
    const ip = parseIp(address)
    const isOfType = ip !== undefined && isIpv4(ip) === (addressType === 'IPv4')
    if (!isOfType) check.invalid(`must be an ${addressType} address`, address)
    validateEndpointIp(at)
  })
}

function validateHints(check: Check<V1EndpointHints>): void {
  const { forZones = [], forNodes = [] } = check.value
  if (forZones.length > maxHints) {
    check.at('forZones').tooMany(forZones.length, maxHints)
    return
  }
  validateHintNames(check.at('forZones').or([]), labelValue)
  if (forNodes.length > maxHints) {
    check.at('forNodes').tooMany(forNodes.length, maxHints)
    return
  }
  validateHintNames(check.at('forNodes').or([]), dns1123Subdomain)
}

function validateHintNames(check: Check<readonly { name: string }[]>, format: Format): void {
  const names = new Set<string>()
  check.each((at) => {
    const { name = '' } = at.value
    if (names.has(name)) at.at('name').or('').duplicate()
    names.add(name)
    mustBe(format, at.at('name').or(''))
  })
}
