/** Validates services. */

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
export function validateService(check: Check<V1Service>, prev: V1Service | undefined): void {
  const service = check.value
  const { metadata } = service
  const spec: V1ServiceSpec = service.spec ?? {}
  const at = check.at('spec')
  const { [topologyHintsAnnotation]: hints, [topologyModeAnnotation]: mode } = metadata.annotations ?? {}
  if (hints !== undefined && mode !== undefined && hints !== mode) {
    const message = `must match annotations[${topologyHintsAnnotation}] when both are specified`
    check.at('metadata').at('annotations').key(topologyModeAnnotation).invalid(message, mode)
  }
  if (!spec.ports?.length && !isHeadless(service) && spec.type !== 'ExternalName') at.at('ports').required()
  validateByType(service, at.or({}))
  validatePorts(at.at('ports').with(spec.ports ?? []))
  if (spec.selector) validateLabels(at.at('selector').with(spec.selector))
  validateSessionAffinity(at.or({}))
  clusterIPsRelatedFields(check, prev)
  validateExternalIps(spec, prev?.spec, at.at('externalIPs'))
  if (!spec.type) at.at('type').required()
  else if (!types.includes(spec.type)) at.at('type').notSupported(types, spec.type)
  validatePortsTogether(spec, at.at('ports'))
  validateSourceRanges(check, prev)
  const isLoadBalancer = spec.type === 'LoadBalancer'
  if (spec.allocateLoadBalancerNodePorts !== undefined && !isLoadBalancer) {
    at.at('allocateLoadBalancerNodePorts').forbidden(onlyLoadBalancer)
  }
  if (isLoadBalancer && spec.allocateLoadBalancerNodePorts === undefined) check.dynamic('allocateLoadBalancerNodePorts').required()
  validateLoadBalancerClass(service, at.at('loadBalancerClass'))
  validateTrafficPolicies(service, at.or({}))
}

function validateByType(service: V1Service, check: Check<V1ServiceSpec>): void {
  const spec = check.value
  if (spec.type === 'LoadBalancer' || spec.type === 'NodePort') {
    if (isHeadless(service)) check.at('clusterIPs').at(0).invalid(`may not be set to 'None' for ${spec.type} services`, 'None')
  }
  if (spec.type !== 'ExternalName') return
  const message = 'may not be set for ExternalName services'
  if (spec.clusterIPs?.length) check.at('clusterIPs').forbidden(message)
  if (spec.ipFamilies?.length) check.at('ipFamilies').forbidden(message)
  if (spec.ipFamilyPolicy !== undefined) check.at('ipFamilyPolicy').forbidden(message)
  const name = (spec.externalName ?? '').replace(/\.$/, '')
  if (name === '') check.at('externalName').required()
  else mustBe(dns1123Subdomain, check.at('externalName').with(name))
}

function validatePorts(check: Check<readonly V1ServicePort[]>): void {
  const ports = check.value
  const names = new Set<string>()
  for (const at of check.items()) {
    const port = at.value
    if (port.name) {
      mustBe(dns1123Label, at.at('name').present)
      if (names.has(port.name)) at.at('name').duplicate()
      else names.add(port.name)
    } else if (ports.length > 1) at.at('name').required()
    validatePortNumber(at.at('port').or(0))
    validateProtocol(at.at('protocol'))
    validatePortNumberOrName(at.at('targetPort'))
    if (port.appProtocol !== undefined) mustBe(qualifiedName, at.at('appProtocol').present)
  }
}

const affinities = ['ClientIP', 'None']
const longestAffinitySeconds = 86400

function validateSessionAffinity(check: Check<V1ServiceSpec>): void {
  const { sessionAffinity, sessionAffinityConfig: config } = check.value
  if (!sessionAffinity) check.at('sessionAffinity').required()
  else if (!affinities.includes(sessionAffinity)) check.at('sessionAffinity').notSupported(affinities)
  const at = check.at('sessionAffinityConfig')
  if (sessionAffinity === 'None' && config) at.forbidden('must not be set when session affinity is None')
  if (sessionAffinity !== 'ClientIP') return
  const missing = 'when session affinity type is ClientIP'
  const seconds = config?.clientIP?.timeoutSeconds
  if (config === undefined) at.required(missing)
  else if (config.clientIP === undefined) at.at('clientIP').required(missing)
  else if (seconds === undefined) at.at('clientIP').at('timeoutSeconds').required(missing)
  else if (seconds <= 0 || seconds > longestAffinitySeconds) {
    at.at('clientIP').at('timeoutSeconds').invalid(`must be greater than 0 and less than ${longestAffinitySeconds}`)
  }
}

function validateExternalIps(
  { externalIPs = [] }: V1ServiceSpec,
  prev: V1ServiceSpec | undefined,
  check: Check<string[] | undefined>,
): void {
  const known = new Set(prev?.externalIPs)
  for (const [index, address] of externalIPs.entries()) {
    const at = check.at(index)
    const before = at.errors.length
    ipForLegacyField(at.with(address), { known })
    if (at.errors.length === before) validateEndpointIp(at.with(address))
  }
}

function validatePortsTogether({ type, ports = [] }: V1ServiceSpec, check: Check<V1ServicePort[] | undefined>): void {
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

function validateSourceRanges(check: Check<V1Service>, prev: V1Service | undefined): void {
  const { metadata, spec } = check.value
  const ranges = spec?.loadBalancerSourceRanges ?? []
  const annotation = metadata.annotations?.[sourceRangesAnnotation]
  if (ranges.length > 0) {
    // The capital letter is upstream's.
    const at = check.at('spec').dynamic('LoadBalancerSourceRanges')
    if (spec?.type !== 'LoadBalancer') at.forbidden(onlyLoadBalancer)
    const known = new Set(prev?.spec?.loadBalancerSourceRanges?.map((range) => range.trim()))
    for (const [index, range] of ranges.entries()) cidrForLegacyField(at.at(index).with(range.trim()), { known })
  } else if (annotation !== undefined) {
    const at = check.at('metadata').at('annotations').key(sourceRangesAnnotation)
    if (spec?.type !== 'LoadBalancer') at.forbidden(onlyLoadBalancer)
    if (annotation.trim() === '' || prev?.metadata.annotations?.[sourceRangesAnnotation] === annotation) return
    for (const range of annotation.split(',')) cidrForLegacyField(at.with(range.trim()))
  }
}

/** `check` stands at the class. */
export function validateLoadBalancerClass({ spec }: V1Service, check: Check<unknown>): void {
  const name = spec?.loadBalancerClass
  if (name === undefined) return
  if (spec?.type === 'LoadBalancer') mustBe(qualifiedName, check.with(name))
  else check.forbidden(onlyLoadBalancer)
}

const trafficPolicies = ['Cluster', 'Local']
const distributions = ['PreferClose', 'PreferSameZone', 'PreferSameNode']

function validateTrafficPolicies(service: V1Service, check: Check<V1ServiceSpec>): void {
  const spec = check.value
  const { externalTrafficPolicy: external = '', internalTrafficPolicy: internal, healthCheckNodePort: port = 0 } = spec
  const atExternal = check.at('externalTrafficPolicy')
  if (!isExternallyAccessible(service)) {
    if (external !== '') atExternal.or('').invalid('may only be set for externally-accessible services')
  } else if (external === '') atExternal.required()
  else if (!trafficPolicies.includes(external)) atExternal.or('').notSupported(trafficPolicies)
  const atPort = check.at('healthCheckNodePort')
  if (needsHealthCheck(service)) {
    if (port === 0) atPort.required()
    else validatePortNumber(atPort.or(0))
  } else if (port !== 0) {
    atPort.or(0).invalid("may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'")
  }
  if (internal === undefined) {
    if (spec.type === 'NodePort' || spec.type === 'LoadBalancer' || spec.type === 'ClusterIP') check.at('internalTrafficPolicy').required()
  } else if (!trafficPolicies.includes(internal)) check.at('internalTrafficPolicy').notSupported(trafficPolicies)
  const distribution = spec.trafficDistribution
  if (distribution !== undefined && !distributions.includes(distribution)) {
    check.at('trafficDistribution').notSupported(distributions)
  }
}
