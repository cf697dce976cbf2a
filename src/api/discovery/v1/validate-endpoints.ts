/** Rules for what an endpoint slice lists. */
import { validateEndpointIp } from '#api/core/v1/endpoint-ip.ts'
import type { V1Endpoint, V1EndpointHints, V1EndpointPort } from '#api/discovery/v1/types.gen.ts'
import type { Check } from '#api/meta/check.ts'
import { each } from '#api/meta/each.ts'
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
export function validatePorts(ports: readonly V1EndpointPort[], check: Check): void {
  if (ports.length > maxPorts) {
    check.tooMany(ports.length, maxPorts)
    return
  }
  const names = new Set<string>()
  each(ports, check, ({ name = '', protocol, appProtocol }, at) => {
    if (name !== '') mustBe(dns1123Label, name, at.at('name'))
    if (names.has(name)) at.at('name').duplicate(name)
    names.add(name)
    if (protocol === undefined) at.at('protocol').required()
    else if (!protocols.includes(protocol)) at.at('protocol').notSupported(protocol, protocols)
    if (appProtocol !== undefined) mustBe(qualifiedName, appProtocol, at.at('appProtocol'))
  })
}

/** `check` stands at the list. */
export function validateEndpoints(endpoints: readonly V1Endpoint[], addressType: string, check: Check, context: RuleContext): void {
  if (endpoints.length > maxEndpoints) {
    check.tooMany(endpoints.length, maxEndpoints)
    return
  }
  each(endpoints, check, (endpoint, at) => {
    validateAddresses(endpoint.addresses ?? [], addressType, at.at('addresses'), context)
    if (endpoint.nodeName !== undefined) mustBe(dns1123Subdomain, endpoint.nodeName, at.at('nodeName'))
    const topology = endpoint.deprecatedTopology
    if (topology) {
      const count = Object.keys(topology).length
      if (count > maxTopologyLabels) at.at('deprecatedTopology').tooMany(count, maxTopologyLabels)
      validateLabels(topology, at.at('deprecatedTopology'))
    }
    if (endpoint.hostname !== undefined) mustBe(dns1123Label, endpoint.hostname, at.at('hostname'))
    if (endpoint.hints) validateHints(endpoint.hints, at.at('hints'))
  })
}

function validateAddresses(addresses: readonly string[], addressType: string, check: Check, { isEnabled }: RuleContext): void {
  if (addresses.length === 0) check.required('must contain at least 1 address')
  else if (addresses.length > maxAddresses) check.tooMany(addresses.length, maxAddresses)
  each(addresses, check, (address, at) => {
    if (addressType === 'FQDN') return fullyQualifiedDomainName(address, at)
    if (addressType !== 'IPv4' && addressType !== 'IPv6') return
    const found = at.errors.length
    if (addressType === 'IPv4') ipForLegacyField(address, at, { strict: isEnabled('StrictIPCIDRValidation') })
    else validIp(address, at)
    if (at.errors.length > found) return
    const ip = parseIp(address)
    const isOfType = ip !== undefined && isIpv4(ip) === (addressType === 'IPv4')
    if (!isOfType) check.invalid(address, `must be an ${addressType} address`)
    validateEndpointIp(address, at)
  })
}

function validateHints({ forZones = [], forNodes = [] }: V1EndpointHints, check: Check): void {
  if (forZones.length > maxHints) {
    check.at('forZones').tooMany(forZones.length, maxHints)
    return
  }
  validateHintNames(forZones, labelValue, check.at('forZones'))
  if (forNodes.length > maxHints) {
    check.at('forNodes').tooMany(forNodes.length, maxHints)
    return
  }
  validateHintNames(forNodes, dns1123Subdomain, check.at('forNodes'))
}

function validateHintNames(hints: readonly { name: string }[], format: Format, check: Check): void {
  const names = new Set<string>()
  each(hints, check, ({ name = '' }, at) => {
    if (names.has(name)) at.at('name').duplicate(name)
    names.add(name)
    mustBe(format, name, at.at('name'))
  })
}
