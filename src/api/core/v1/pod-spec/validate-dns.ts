/** Validates how a pod resolves names, and what it is called itself. */
import type { V1HostAlias, V1PodDNSConfig, V1PodSpec } from '#api/core/v1/types.gen.ts'
import type { Check } from '#api/meta/check.ts'
import { ipForLegacyField } from '#api/meta/ip.ts'
import { byteLength, dns1123Subdomain, dns1123SubdomainWithUnderscore, mustBe } from '#api/meta/names.ts'

const policies = ['ClusterFirstWithHostNet', 'ClusterFirst', 'Default', 'None']

/** `check` stands at the spec. */
export function validateDnsPolicy(check: Check<V1PodSpec>): void {
  const { dnsPolicy } = check.value
  if (!dnsPolicy) check.at('dnsPolicy').required()
  else if (!policies.includes(dnsPolicy)) check.at('dnsPolicy').notSupported(policies)
}

const maxNameservers = 3
const maxSearches = 32
const maxSearchBytes = 2048

/** `check` stands at the spec. */
export function validateDnsConfig(check: Check<V1PodSpec>): void {
  const { dnsConfig, dnsPolicy } = check.value
  if (dnsPolicy === 'None') {
    if (dnsConfig === undefined) {
      check.at('dnsConfig').required('must provide `dnsConfig` when `dnsPolicy` is None')
      return
    }
    if (!dnsConfig.nameservers?.length) {
      check.at('dnsConfig').at('nameservers').required('must provide at least one DNS nameserver when `dnsPolicy` is None')
      return
    }
  }
  if (dnsConfig !== undefined) validateServersAndSearches(check.at('dnsConfig').present)
}

function validateServersAndSearches(check: Check<V1PodDNSConfig>): void {
  const config = check.value
  const { nameservers = [], searches = [] } = config
  if (nameservers.length > maxNameservers) {
    check.at('nameservers').or([]).invalid(`must not have more than ${maxNameservers} nameservers`)
  }
  for (const at of check.at('nameservers').items()) ipForLegacyField(at)
  if (searches.length > maxSearches) check.at('searches').or([]).invalid(`must not have more than ${maxSearches} search paths`)
  if (byteLength(searches.join(' ')) > maxSearchBytes) {
    check.at('searches').or([]).invalid(`must not have more than ${maxSearchBytes} characters (including spaces) in the search list`)
  }
  for (const at of check.at('searches').items()) {
    const search = at.value
    if (search === '.') continue
    mustBe(dns1123SubdomainWithUnderscore, at.with(search.replace(/\.$/, '')))
  }
  for (const at of check.at('options').items()) {
    const option = at.value
    if (!option.name) at.required('must not be empty')
  }
}

/** `check` stands at the list. */
export function validateHostAliases(check: Check<readonly V1HostAlias[]>): void {
  for (const place of check.items()) {
    ipForLegacyField(place.at('ip').or(''))
    for (const at of place.at('hostnames').items()) mustBe(dns1123Subdomain, at)
  }
}

const hostnameMaxLength = 64

/** `check` stands at the spec. */
export function validateHostnameOverride(check: Check<V1PodSpec>): void {
  const spec = check.value
  const hostname = spec.hostnameOverride
  if (hostname === undefined) return
  const at = check.at('hostnameOverride')
  if (spec.setHostnameAsFQDN) at.forbidden('may not be specified when setHostnameAsFQDN is true')
  if (spec.hostNetwork) at.forbidden('may not be specified when hostNetwork is true')
  if (byteLength(hostname) > hostnameMaxLength) at.tooLong(hostnameMaxLength)
  mustBe(dns1123Subdomain, at.present)
}
