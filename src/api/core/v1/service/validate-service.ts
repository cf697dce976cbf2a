/** Judges services. */

import { validateEndpointIp } from '#api/core/v1/endpoint-ip.ts'
import { validatePortNumber, validatePortNumberOrName, validateProtocol } from '#api/core/v1/pod-spec/validate-ports.ts'
import { clusterIPsRelatedFields, isHeadless } from '#api/core/v1/service/cluster-ips.ts'
import { isExternallyAccessible, needsHealthCheck } from '#api/core/v1/service/external-access.ts'
import type { V1Service, V1ServicePort, V1ServiceSpec } from '#api/core/v1/types.gen.ts'
import type { Check } from '#api/meta/check.ts'
import { cidrForLegacyField, ipForLegacyField } from '#api/meta/ip.ts'
import { validateLabels } from '#api/meta/labels.ts'
import { dns1123Label, dns1123Subdomain, mustBe, qualifiedName } from '#api/meta/names.ts'
import { asInternal } from '#api/meta/quote-internal.ts'

export const topologyHintsAnnotation = 'service.kubernetes.io/topology-aware-hints'
export const topologyModeAnnotation = 'service.kubernetes.io/topology-mode'
const sourceRangesAnnotation = 'service.beta.kubernetes.io/load-balancer-source-ranges'

const types = ['ClusterIP', 'ExternalName', 'LoadBalancer', 'NodePort']
const onlyLoadBalancer = "may only be used when `type` is 'LoadBalancer'"

/** `check` stands at the object. */
export function validateService(service: V1Service, prev: V1Service | undefined, check: Check): void {
  const { metadata } = service
  const spec: V1ServiceSpec = service.spec ?? {}
  const at = check.at('spec')
  const { [topologyHintsAnnotation]: hints, [topologyModeAnnotation]: mode } = metadata.annotations ?? {}
  if (hints !== undefined && mode !== undefined && hints !== mode) {
    const message = `must match annotations[${topologyHintsAnnotation}] when both are specified`
    check.at('metadata.annotations').key(topologyModeAnnotation).invalid(mode, message)
  }
  if (!spec.ports?.length && !isHeadless(service) && spec.type !== 'ExternalName') at.at('ports').required()
  validateByType(service, spec, at)
  validatePorts(spec.ports ?? [], at.at('ports'))
  if (spec.selector) validateLabels(spec.selector, at.at('selector'))
  validateSessionAffinity(spec, at)
  clusterIPsRelatedFields(service, prev, check)
  validateExternalIps(spec, prev?.spec, at.at('externalIPs'))
  if (!spec.type) at.at('type').required()
  else if (!types.includes(spec.type)) at.at('type').notSupported(spec.type, types)
  validatePortsTogether(spec, at.at('ports'))
  validateSourceRanges(service, prev, check)
  const isLoadBalancer = spec.type === 'LoadBalancer'
  if (spec.allocateLoadBalancerNodePorts !== undefined && !isLoadBalancer) {
    at.at('allocateLoadBalancerNodePorts').forbidden(onlyLoadBalancer)
  }
  if (isLoadBalancer && spec.allocateLoadBalancerNodePorts === undefined) check.at('allocateLoadBalancerNodePorts').required()
  validateLoadBalancerClass(service, at.at('loadBalancerClass'))
  validateTrafficPolicies(service, spec, at)
}

function validateByType(service: V1Service, spec: V1ServiceSpec, check: Check): void {
  if (spec.type === 'LoadBalancer' || spec.type === 'NodePort') {
    if (isHeadless(service)) check.at('clusterIPs').at(0).invalid('None', `may not be set to 'None' for ${spec.type} services`)
  }
  if (spec.type !== 'ExternalName') return
  const message = 'may not be set for ExternalName services'
  if (spec.clusterIPs?.length) check.at('clusterIPs').forbidden(message)
  if (spec.ipFamilies?.length) check.at('ipFamilies').forbidden(message)
  if (spec.ipFamilyPolicy !== undefined) check.at('ipFamilyPolicy').forbidden(message)
  const name = (spec.externalName ?? '').replace(/\.$/, '')
  if (name === '') check.at('externalName').required()
  else mustBe(dns1123Subdomain, name, check.at('externalName'))
}

function validatePorts(ports: readonly V1ServicePort[], check: Check): void {
  const names = new Set<string>()
  for (const [index, port] of ports.entries()) {
    const at = check.at(index)
    if (port.name) {
      mustBe(dns1123Label, port.name, at.at('name'))
      if (names.has(port.name)) at.at('name').duplicate(port.name)
      else names.add(port.name)
    } else if (ports.length > 1) at.at('name').required()
    validatePortNumber(port.port ?? 0, at.at('port'))
    validateProtocol(port.protocol, at)
    validatePortNumberOrName(port.targetPort, at.at('targetPort'))
    if (port.appProtocol !== undefined) mustBe(qualifiedName, port.appProtocol, at.at('appProtocol'))
  }
}

const affinities = ['ClientIP', 'None']
const longestAffinitySeconds = 86400

function validateSessionAffinity({ sessionAffinity, sessionAffinityConfig: config }: V1ServiceSpec, check: Check): void {
  if (!sessionAffinity) check.at('sessionAffinity').required()
  else if (!affinities.includes(sessionAffinity)) check.at('sessionAffinity').notSupported(sessionAffinity, affinities)
  const at = check.at('sessionAffinityConfig')
  if (sessionAffinity === 'None' && config) at.forbidden('must not be set when session affinity is None')
  if (sessionAffinity !== 'ClientIP') return
  const missing = 'when session affinity type is ClientIP'
  const seconds = config?.clientIP?.timeoutSeconds
  if (config === undefined) at.required(missing)
  else if (config.clientIP === undefined) at.at('clientIP').required(missing)
  else if (seconds === undefined) at.at('clientIP.timeoutSeconds').required(missing)
  else if (seconds <= 0 || seconds > longestAffinitySeconds) {
    at.at('clientIP.timeoutSeconds').invalid(seconds, `must be greater than 0 and less than ${longestAffinitySeconds}`)
  }
}

function validateExternalIps({ externalIPs = [] }: V1ServiceSpec, prev: V1ServiceSpec | undefined, check: Check): void {
  const known = prev?.externalIPs ?? []
  for (const [index, address] of externalIPs.entries()) {
    const at = check.at(index)
    const before = at.errors.length
    ipForLegacyField(address, at, { known })
    if (at.errors.length === before) validateEndpointIp(address, at)
  }
}

function validatePortsTogether({ type, ports = [] }: V1ServiceSpec, check: Check): void {
  if (type === 'ClusterIP') {
    for (const [index, { nodePort }] of ports.entries()) {
      if (nodePort) check.at(index).at('nodePort').forbidden("may not be used when `type` is 'ClusterIP'")
    }
  }
  const nodePorts = new Set<string>()
  for (const [index, { protocol = '', nodePort }] of ports.entries()) {
    if (!nodePort) continue
    const key = `${protocol}/${nodePort}`
    if (nodePorts.has(key)) check.at(index).at('nodePort').duplicate(nodePort)
    nodePorts.add(key)
  }
  const numbers = new Set<string>()
  for (const [index, { protocol = '', port = 0 }] of ports.entries()) {
    const key = `${protocol}/${port}`
    if (numbers.has(key)) check.at(index).duplicate(asInternal('core.ServicePort', { protocol, port }))
    numbers.add(key)
  }
}

function validateSourceRanges({ metadata, spec }: V1Service, prev: V1Service | undefined, check: Check): void {
  const ranges = spec?.loadBalancerSourceRanges ?? []
  const annotation = metadata.annotations?.[sourceRangesAnnotation]
  if (ranges.length > 0) {
    // The capital letter is upstream's.
    const at = check.at('spec.LoadBalancerSourceRanges')
    if (spec?.type !== 'LoadBalancer') at.forbidden(onlyLoadBalancer)
    const known = (prev?.spec?.loadBalancerSourceRanges ?? []).map((range) => range.trim())
    for (const [index, range] of ranges.entries()) cidrForLegacyField(range.trim(), at.at(index), { known })
  } else if (annotation !== undefined) {
    const at = check.at('metadata.annotations').key(sourceRangesAnnotation)
    if (spec?.type !== 'LoadBalancer') at.forbidden(onlyLoadBalancer)
    if (annotation.trim() === '' || prev?.metadata.annotations?.[sourceRangesAnnotation] === annotation) return
    for (const range of annotation.split(',')) cidrForLegacyField(range.trim(), at)
  }
}

/** `check` stands at the class. */
export function validateLoadBalancerClass({ spec }: V1Service, check: Check): void {
  const name = spec?.loadBalancerClass
  if (name === undefined) return
  if (spec?.type === 'LoadBalancer') mustBe(qualifiedName, name, check)
  else check.forbidden(onlyLoadBalancer)
}

const trafficPolicies = ['Cluster', 'Local']
const distributions = ['PreferClose', 'PreferSameZone', 'PreferSameNode']

function validateTrafficPolicies(service: V1Service, spec: V1ServiceSpec, check: Check): void {
  const { externalTrafficPolicy: external = '', internalTrafficPolicy: internal, healthCheckNodePort: port = 0 } = spec
  const atExternal = check.at('externalTrafficPolicy')
  if (!isExternallyAccessible(service)) {
    if (external !== '') atExternal.invalid(external, 'may only be set for externally-accessible services')
  } else if (external === '') atExternal.required()
  else if (!trafficPolicies.includes(external)) atExternal.notSupported(external, trafficPolicies)
  const atPort = check.at('healthCheckNodePort')
  if (needsHealthCheck(service)) {
    if (port === 0) atPort.required()
    else validatePortNumber(port, atPort)
  } else if (port !== 0) {
    atPort.invalid(port, "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'")
  }
  if (internal === undefined) {
    if (spec.type === 'NodePort' || spec.type === 'LoadBalancer' || spec.type === 'ClusterIP') check.at('internalTrafficPolicy').required()
  } else if (!trafficPolicies.includes(internal)) check.at('internalTrafficPolicy').notSupported(internal, trafficPolicies)
  const distribution = spec.trafficDistribution
  if (distribution !== undefined && !distributions.includes(distribution)) {
    check.at('trafficDistribution').notSupported(distribution, distributions)
  }
}
