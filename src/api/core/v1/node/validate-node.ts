/** Judges nodes. */
import { jsonSyntaxError } from '#api/codec/json-syntax-error.ts'
import { duplicateBecause } from '#api/core/v1/odd-errors.ts'
import { validateTaintEffect } from '#api/core/v1/pod-spec/validate-tolerations.ts'
import { type ResourceList, validateResourceQuantity } from '#api/core/v1/quantities.ts'
import type { V1ConfigMapNodeConfigSource, V1Node, V1NodeConfigSource, V1NodeConfigStatus, V1Taint } from '#api/core/v1/types.gen.ts'
import { type Check, quoted } from '#api/meta/check.ts'
import { configMapKey } from '#api/meta/formats.ts'
import { cidrForLegacyField, isIpv4, parseCidr } from '#api/meta/ip.ts'
import { dns1123Label, dns1123Subdomain, labelValue, mustBe, qualifiedName } from '#api/meta/names.ts'
import { asInternal } from '#api/meta/quote-internal.ts'

export function validateNode(node: V1Node, check: Check): void {
  const { metadata, spec, status } = node
  validateAnnotations(metadata.annotations, check.at('metadata.annotations'))
  // Upstream looks for the taints in the wrong place.
  if (spec.taints) validateTaints(spec.taints, check.at('metadata.taints'))
  validateResources(node, check)
  const swap = status?.nodeInfo?.swap?.capacity
  if (swap !== undefined && swap <= 0) check.at('metadata.nodeSwapStatus.capacity').invalid(swap, 'must be greater than zero')
  validateDeclaredFeatures(status?.declaredFeatures ?? [], check.at('status.declaredFeatures'))
  validatePodCidrs(spec.podCIDRs ?? [], check.at('spec.podCIDRs'))
}

/** Metadata was judged before, and after, as upstream has it. */
export function validateNodeUpdate(next: V1Node, prev: V1Node, check: Check): void {
  const { metadata, spec, status } = next
  validateAnnotations(metadata.annotations, check.at('metadata.annotations'))
  validateResources(next, check)
  validateDeclaredFeatures(status?.declaredFeatures ?? [], check.at('status.declaredFeatures'))
  const seen = new Set<string>()
  for (const [index, { type = '', address = '' }] of (status?.addresses ?? []).entries()) {
    const key = `${type}/${address}`
    if (seen.has(key)) check.at('status.addresses').at(index).duplicate({ Type: type, Address: address })
    seen.add(key)
  }
  validatePodCidrsKept(spec.podCIDRs ?? [], prev.spec.podCIDRs ?? [], check.at('spec.podCIDRs'))
  if (prev.spec.providerID && prev.spec.providerID !== spec.providerID) {
    check.at('spec.providerID').forbidden('node updates may not change providerID except from "" to valid')
  }
  if (spec.configSource) validateConfigSource(spec.configSource, false, check.at('spec.configSource'))
  if (status?.config) validateConfigStatus(status.config, check.at('status.config'))
  if (spec.taints) validateTaints(spec.taints, check.at('metadata.taints'))
  if ((spec.externalID ?? '') !== (prev.spec.externalID ?? '')) check.at('spec.externalID').forbidden('may not be updated')
}

function validatePodCidrs(cidrs: readonly string[], check: Check): void {
  for (const [index, cidr] of cidrs.entries()) cidrForLegacyField(cidr, check.at(index))
  if (cidrs.length < 2) return
  const parsed = cidrs.map(parseCidr)
  const wrong = parsed.indexOf(undefined)
  if (wrong >= 0) {
    const error = `invalid CIDR address: ${cidrs[wrong]}`
    check.internal(`invalid PodCIDRs. failed to check with dual stack with error:${error}`)
  }
  const isDualStack = wrong < 0 && new Set(parsed.map((cidr) => cidr !== undefined && isIpv4(cidr.ip))).size === 2
  if (!isDualStack || cidrs.length > 2) check.invalid(cidrs, 'may specify no more than one CIDR for each IP family')
}

function validatePodCidrsKept(next: readonly string[], prev: readonly string[], check: Check): void {
  const message = 'node updates may not change podCIDR except from "" to valid'
  if (prev.length === 0) return
  if (prev.length !== next.length) check.forbidden(message)
  else for (const [index, cidr] of prev.entries()) if (cidr !== next[index]) check.forbidden(message)
}

function validateResources({ status }: V1Node, check: Check): void {
  const validate = (list: ResourceList | undefined, field: string) => {
    for (const name in list) validateResourceQuantity(name, list[name] ?? '0', check.at(field).at(name))
  }
  validate(status?.capacity, 'status.capacity')
  validate(status?.allocatable, 'status.allocatable')
}

/** `check` stands at the list. */
function validateTaints(taints: readonly V1Taint[], check: Check): void {
  const seen = new Set<string>()
  for (const [index, taint] of taints.entries()) {
    const { key = '', value = '', effect = '' } = taint
    const at = check.at(index)
    mustBe(qualifiedName, key, at.at('key'))
    const messages = labelValue(value)
    if (messages.length > 0) at.at('value').invalid(value, messages.join(';'))
    if (effect === '') at.at('effect').required()
    else validateTaintEffect(effect, at.at('effect'))
    const pair = `${effect}/${key}`
    if (seen.has(pair)) duplicateBecause(asInternal('core.Taint', taint), 'taints must be unique by key and effect pair', at)
    seen.add(pair)
  }
}

const featureName = /^[A-Z][a-zA-Z0-9]*(\/[a-zA-Z][a-zA-Z0-9]*)*$/
const featureMaxLength = 253

function validateDeclaredFeatures(features: readonly string[], check: Check): void {
  for (const [index, feature] of features.entries()) {
    const invalid = `invalid feature name ${quoted(feature)}`
    if (feature.length > featureMaxLength)
      check.at(index).invalid(feature, `${invalid}: must be no more than ${featureMaxLength} characters`)
    else if (!featureName.test(feature)) {
      check
        .at(index)
        .invalid(
          feature,
          `${invalid}: must start with an UpperCamelCase segment, with subsequent segments separated by '/' (e.g., MyFeature or MyFeature/mySubFeature), and contain only alphanumeric characters and slashes`,
        )
    }
    const next = features[index + 1]
    if (next === feature) check.at(index + 1).duplicate(next)
    else if (next !== undefined && feature > next) check.at(index + 1).invalid(next, 'list must be sorted alphabetically')
  }
}

function validateConfigStatus(status: V1NodeConfigStatus, check: Check): void {
  for (const field of ['assigned', 'active', 'lastKnownGood'] as const) {
    const source = status[field]
    if (source) validateConfigSource(source, true, check.at(field))
  }
}

function validateConfigSource(source: V1NodeConfigSource, inStatus: boolean, check: Check): void {
  if (source.configMap) validateConfigMapSource(source.configMap, inStatus, check.at('configMap'))
  else check.invalid(asInternal('core.NodeConfigSource', source), 'exactly one reference subfield must be non-nil')
}

/** A spec names a config map, a status the very version of it. */
function validateConfigMapSource(source: V1ConfigMapNodeConfigSource, inStatus: boolean, check: Check): void {
  for (const field of ['uid', 'resourceVersion'] as const) {
    if (inStatus && !source[field]) check.at(field).required()
    if (!inStatus && source[field]) check.at(field).forbidden(`${field} must not be set in spec`)
  }
  const { namespace = '', name = '', kubeletConfigKey = '' } = source
  if (namespace === '') check.at('namespace').required()
  else mustBe(dns1123Label, namespace, check.at('namespace'))
  if (name === '') check.at('name').required()
  else mustBe(dns1123Subdomain, name, check.at('name'))
  if (kubeletConfigKey === '') check.at('kubeletConfigKey').required()
  else mustBe(configMapKey, kubeletConfigKey, check.at('kubeletConfigKey'))
}

const taintsAnnotation = 'scheduler.alpha.kubernetes.io/taints'
const avoidPodsAnnotation = 'scheduler.alpha.kubernetes.io/preferAvoidPods'

function validateAnnotations(annotations: { [key: string]: string } | undefined, check: Check): void {
  const taints = annotations?.[taintsAnnotation]
  if (taints) {
    const error = jsonSyntaxError(Buffer.from(taints))
    if (error !== undefined) check.invalid(taintsAnnotation, error)
    else validateTaints(itemsOf<V1Taint>(JSON.parse(taints)), check.at(taintsAnnotation))
  }
  const avoided = annotations?.[avoidPodsAnnotation]
  if (avoided) validateAvoidedPods(avoided, check)
}

type AvoidedPod = { podSignature?: { podController?: { controller?: boolean } } }

function validateAvoidedPods(text: string, check: Check): void {
  const error = jsonSyntaxError(Buffer.from(text))
  if (error !== undefined) {
    check.at('AvoidPods').invalid(avoidPodsAnnotation, error)
    return
  }
  const { preferAvoidPods } = { ...(JSON.parse(text) as { preferAvoidPods?: unknown }) }
  for (const [index, { podSignature }] of itemsOf<AvoidedPod>(preferAvoidPods).entries()) {
    const at = check.at(avoidPodsAnnotation).at(index).at('PodSignature')
    const controller = podSignature?.podController
    if (controller === undefined) at.required()
    else if (!controller.controller) at.at('PodController.Controller').invalid(false, 'must point to a controller')
  }
}

/** Objects of a list, the first letter of their keys lowered: the notation was written by many hands. */
function itemsOf<T>(list: unknown): T[] {
  if (!Array.isArray(list)) return []
  return list.map((item) => {
    const entries = Object.entries((item ?? {}) as Record<string, unknown>)
    return Object.fromEntries(entries.map(([key, value]) => [`${key.charAt(0).toLowerCase()}${key.slice(1)}`, value])) as T
  })
}
