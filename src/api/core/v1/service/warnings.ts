/** What a service uses that works but should not be used, or does nothing. */

import { topologyHintsAnnotation, topologyModeAnnotation } from '#api/core/v1/service/validate-service.ts'
import type { V1Service } from '#api/core/v1/types.gen.ts'
import { warningsForCidr, warningsForIp } from '#api/meta/ip.ts'
import { append } from '#base/append.ts'

export function serviceWarnings({ metadata, spec = {} }: V1Service): string[] {
  const warnings: string[] = []
  if (metadata.annotations?.[topologyHintsAnnotation] !== undefined) {
    warnings.push(`annotation ${topologyHintsAnnotation} is deprecated, please use ${topologyModeAnnotation} instead`)
  }
  const { type, clusterIP, clusterIPs = [], externalIPs = [], loadBalancerIP = '', loadBalancerSourceRanges = [] } = spec
  if (clusterIP && clusterIP !== 'None') {
    for (const [index, address] of clusterIPs.entries()) append(warnings, warningsForIp(`spec.clusterIPs[${index}]`, address))
  }
  const isHeadless = type === 'ClusterIP' && clusterIP === 'None'
  if (isHeadless) {
    if (loadBalancerIP !== '') warnings.push('spec.loadBalancerIP is ignored for headless services')
    if (externalIPs.length > 0) warnings.push('spec.externalIPs is ignored for headless services')
    if (spec.sessionAffinity !== 'None') warnings.push('spec.SessionAffinity is ignored for headless services')
  }
  for (const [index, address] of externalIPs.entries()) append(warnings, warningsForIp(`spec.externalIPs[${index}]`, address))
  if (externalIPs.length > 0 && !isHeadless && type !== 'ExternalName') {
    warnings.push('spec.externalIPs is deprecated and may no longer be implemented in some clusters')
  }
  if (loadBalancerIP !== '') append(warnings, warningsForIp('spec.loadBalancerIP', loadBalancerIP))
  for (const [index, range] of loadBalancerSourceRanges.entries()) {
    append(warnings, warningsForCidr(`spec.loadBalancerSourceRanges[${index}]`, range))
  }
  if (type === 'ExternalName' && externalIPs.length > 0) warnings.push('spec.externalIPs is ignored when spec.type is "ExternalName"')
  if (type !== 'ExternalName' && spec.externalName) warnings.push('spec.externalName is ignored when spec.type is not "ExternalName"')
  if (spec.trafficDistribution === 'PreferClose') {
    warnings.push('spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"')
  }
  return warnings
}
