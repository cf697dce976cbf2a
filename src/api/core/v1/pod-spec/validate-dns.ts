/** Judges how a pod resolves names, and what it is called itself. */
import type { V1HostAlias, V1PodDNSConfig, V1PodSpec } from '#api/core/v1/types.gen.ts'
import type { Check } from '#api/meta/check.ts'
import { ipForLegacyField } from '#api/meta/ip.ts'
import { byteLength, dns1123Subdomain, dns1123SubdomainWithUnderscore, mustBe } from '#api/meta/names.ts'

const policies = ['ClusterFirstWithHostNet', 'ClusterFirst', 'Default', 'None']

/** `check` stands at the spec. */
export function validateDnsPolicy({ dnsPolicy }: V1PodSpec, check: Check): void {
  if (!dnsPolicy) check.at('dnsPolicy').required()
  else if (!policies.includes(dnsPolicy)) check.at('dnsPolicy').notSupported(dnsPolicy, policies)
}

const maxNameservers = 3
const maxSearches = 32
const maxSearchBytes = 2048

/** `check` stands at the spec. */
export function validateDnsConfig({ dnsConfig, dnsPolicy }: V1PodSpec, check: Check): void {
  if (dnsPolicy === 'None') {
    if (dnsConfig === undefined) {
      check.at('dnsConfig').required('must provide `dnsConfig` when `dnsPolicy` is None')
      return
    }
    if (!dnsConfig.nameservers?.length) {
      check.at('dnsConfig.nameservers').required('must provide at least one DNS nameserver when `dnsPolicy` is None')
      return
    }
  }
  if (dnsConfig !== undefined) validateServersAndSearches(dnsConfig, check.at('dnsConfig'))
}

function validateServersAndSearches(config: V1PodDNSConfig, check: Check): void {
  const { nameservers = [], searches = [], options = [] } = config
  if (nameservers.length > maxNameservers) {
    check.at('nameservers').invalid(nameservers, `must not have more than ${maxNameservers} nameservers`)
  }
  for (const [index, server] of nameservers.entries()) ipForLegacyField(server, check.at('nameservers').at(index))
  if (searches.length > maxSearches) check.at('searches').invalid(searches, `must not have more than ${maxSearches} search paths`)
  if (byteLength(searches.join(' ')) > maxSearchBytes) {
    check.at('searches').invalid(searches, `must not have more than ${maxSearchBytes} characters (including spaces) in the search list`)
  }
  for (const [index, search] of searches.entries()) {
    if (search === '.') continue
    mustBe(dns1123SubdomainWithUnderscore, search.replace(/\.$/, ''), check.at('searches').at(index))
  }
  for (const [index, option] of options.entries()) {
    if (!option.name) check.at('options').at(index).required('must not be empty')
  }
}

/** `check` stands at the list. */
export function validateHostAliases(aliases: readonly V1HostAlias[], check: Check): void {
  for (const [index, { ip = '', hostnames = [] }] of aliases.entries()) {
    ipForLegacyField(ip, check.at(index).at('ip'))
    for (const [place, hostname] of hostnames.entries()) mustBe(dns1123Subdomain, hostname, check.at(index).at('hostnames').at(place))
  }
}

const hostnameMaxLength = 64

/** `check` stands at the spec. */
export function validateHostnameOverride(spec: V1PodSpec, check: Check): void {
  const hostname = spec.hostnameOverride
  if (hostname === undefined) return
  const at = check.at('hostnameOverride')
  if (spec.setHostnameAsFQDN) at.forbidden('may not be specified when setHostnameAsFQDN is true')
  if (spec.hostNetwork) at.forbidden('may not be specified when hostNetwork is true')
  if (byteLength(hostname) > hostnameMaxLength) at.tooLong(hostnameMaxLength)
  mustBe(dns1123Subdomain, hostname, at)
}
