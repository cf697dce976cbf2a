/** Validates nodes. */
import { jsonSyntaxError } from '#api/codec/json-syntax-error.ts'
import { duplicateBecause } from '#api/core/v1/odd-errors.ts'
import { validateTaintEffect } from '#api/core/v1/pod-spec/validate-tolerations.ts'
import { validateResourceQuantity } from '#api/core/v1/quantities.ts'
import type { V1ConfigMapNodeConfigSource, V1Node, V1NodeConfigSource, V1NodeConfigStatus, V1Taint } from '#api/core/v1/types.gen.ts'
import { type Check, quoted } from '#api/meta/check.ts'
import { configMapKey } from '#api/meta/formats.ts'
import { cidrForLegacyField, isIpv4, parseCidr } from '#api/meta/ip.ts'
import { dns1123Label, dns1123Subdomain, labelValue, mustBe, qualifiedName } from '#api/meta/names.ts'
import { asInternal } from '#api/meta/quote-internal.ts'

export function validateNode(node: V1Node, check: Check<V1Node>): void {
  const { spec, status } = node
  validateAnnotations(check.at('metadata').at('annotations'))
  // Upstream looks for the taints in the wrong place.
  if (spec.taints) validateTaints(check.at('metadata').dynamic('taints').with(spec.taints))
  validateResources(check.at('status'))
  const swap = status?.nodeInfo?.swap?.capacity
  if (swap !== undefined && swap <= 0)
    check.at('metadata').dynamic('nodeSwapStatus').dynamic('capacity').invalid('must be greater than zero', swap)
  validateDeclaredFeatures(check.at('status').at('declaredFeatures').or([]))
  validatePodCidrs(check.at('spec').at('podCIDRs').or([]))
}

/** Metadata was validated before, and after, as upstream has it. */
export function validateNodeUpdate(check: Check<V1Node>, prev: V1Node): void {
  const next = check.value
  const { spec, status } = next
  validateAnnotations(check.at('metadata').at('annotations'))
  validateResources(check.at('status'))
  validateDeclaredFeatures(check.at('status').at('declaredFeatures').or([]))
  const seen = new Set<string>()
  for (const at of check.at('status').at('addresses').items()) {
    const { type = '', address = '' } = at.value
    const key = `${type}/${address}`
    if (seen.has(key)) at.duplicate({ Type: type, Address: address })
    seen.add(key)
  }
  validatePodCidrsKept(check.at('spec').at('podCIDRs').or([]), prev.spec.podCIDRs ?? [])
  if (prev.spec.providerID && prev.spec.providerID !== spec.providerID) {
    check.at('spec').at('providerID').forbidden('node updates may not change providerID except from "" to valid')
  }
  if (spec.configSource) validateConfigSource(check.at('spec').at('configSource').present, false)
  if (status?.config) validateConfigStatus(check.at('status').at('config').present)
  if (spec.taints) validateTaints(check.at('metadata').dynamic('taints').with(spec.taints))
  if ((spec.externalID ?? '') !== (prev.spec.externalID ?? '')) check.at('spec').at('externalID').forbidden('may not be updated')
}

function validatePodCidrs(check: Check<readonly string[]>): void {
  const cidrs = check.value
  for (const at of check.items()) cidrForLegacyField(at)
  if (cidrs.length < 2) return
  const parsed = cidrs.map(parseCidr)
  const wrong = parsed.indexOf(undefined)
  if (wrong >= 0) {
    const error = `invalid CIDR address: ${cidrs[wrong]}`
    check.internal(`invalid PodCIDRs. failed to check with dual stack with error:${error}`)
  }
  const isDualStack = wrong < 0 && new Set(parsed.map((cidr) => cidr !== undefined && isIpv4(cidr.ip))).size === 2
  if (!isDualStack || cidrs.length > 2) check.invalid('may specify no more than one CIDR for each IP family')
}

function validatePodCidrsKept(check: Check<readonly string[]>, prev: readonly string[]): void {
  const next = check.value
  const message = 'node updates may not change podCIDR except from "" to valid'
  if (prev.length === 0) return
  if (prev.length !== next.length) check.forbidden(message)
  else for (const [index, cidr] of prev.entries()) if (cidr !== next[index]) check.forbidden(message)
}

function validateResources(check: Check<V1Node['status']>): void {
  for (const list of [check.at('capacity'), check.at('allocatable')]) {
    for (const name in list.value) validateResourceQuantity(name, list.at(name).or('0'))
  }
}

/** `check` stands at the list. */
function validateTaints(check: Check<readonly V1Taint[]>): void {
  const seen = new Set<string>()
  for (const at of check.items()) {
    const taint = at.value
    const { key = '', value = '', effect = '' } = taint
    mustBe(qualifiedName, at.at('key').or(''))
    const messages = labelValue(value)
    if (messages.length > 0) at.at('value').or('').invalid(messages.join(';'))
    if (effect === '') at.at('effect').required()
    else validateTaintEffect(at.at('effect').or(''))
    const pair = `${effect}/${key}`
    if (seen.has(pair)) duplicateBecause(() => asInternal('core.Taint', taint), 'taints must be unique by key and effect pair', at)
    seen.add(pair)
  }
}

const featureName = /^[A-Z][a-zA-Z0-9]*(\/[a-zA-Z][a-zA-Z0-9]*)*$/
const featureMaxLength = 253

function validateDeclaredFeatures(check: Check<readonly string[]>): void {
  const features = check.value
  for (const [index, feature] of features.entries()) {
    const invalid = `invalid feature name ${quoted(feature)}`
    if (feature.length > featureMaxLength) check.at(index).invalid(`${invalid}: must be no more than ${featureMaxLength} characters`)
    else if (!featureName.test(feature)) {
      check
        .at(index)
        .invalid(
          `${invalid}: must start with an UpperCamelCase segment, with subsequent segments separated by '/' (e.g., MyFeature or MyFeature/mySubFeature), and contain only alphanumeric characters and slashes`,
        )
    }
    const next = features[index + 1]
    if (next === feature) check.at(index + 1).duplicate(next)
    else if (next !== undefined && feature > next) check.at(index + 1).invalid('list must be sorted alphabetically', next)
  }
}

function validateConfigStatus(check: Check<V1NodeConfigStatus>): void {
  const status = check.value
  for (const field of ['assigned', 'active', 'lastKnownGood'] as const) {
    const source = status[field]
    if (source) validateConfigSource(check.at(field).with(source), true)
  }
}

function validateConfigSource(check: Check<V1NodeConfigSource>, inStatus: boolean): void {
  const source = check.value
  if (source.configMap) validateConfigMapSource(check.at('configMap').present, inStatus)
  else check.invalid('exactly one reference subfield must be non-nil', asInternal('core.NodeConfigSource', source))
}

/** A spec names a config map, a status the very version of it. */
function validateConfigMapSource(check: Check<V1ConfigMapNodeConfigSource>, inStatus: boolean): void {
  const source = check.value
  for (const field of ['uid', 'resourceVersion'] as const) {
    if (inStatus && !source[field]) check.at(field).required()
    if (!inStatus && source[field]) check.at(field).forbidden(`${field} must not be set in spec`)
  }
  const { namespace = '', name = '', kubeletConfigKey = '' } = source
  if (namespace === '') check.at('namespace').required()
  else mustBe(dns1123Label, check.at('namespace').or(''))
  if (name === '') check.at('name').required()
  else mustBe(dns1123Subdomain, check.at('name').or(''))
  if (kubeletConfigKey === '') check.at('kubeletConfigKey').required()
  else mustBe(configMapKey, check.at('kubeletConfigKey').or(''))
}

const taintsAnnotation = 'scheduler.alpha.kubernetes.io/taints'
const avoidPodsAnnotation = 'scheduler.alpha.kubernetes.io/preferAvoidPods'

function validateAnnotations(check: Check<{ [key: string]: string } | undefined>): void {
  const annotations = check.value
  const taints = annotations?.[taintsAnnotation]
  if (taints) {
    const error = jsonSyntaxError(Buffer.from(taints))
    if (error !== undefined) check.invalid(error, taintsAnnotation)
    else validateTaints(check.at(taintsAnnotation).with(itemsOf<V1Taint>(JSON.parse(taints))))
  }
  const avoided = annotations?.[avoidPodsAnnotation]
  if (avoided) validateAvoidedPods(avoided, check)
}

type AvoidedPod = { podSignature?: { podController?: { controller?: boolean } } }

function validateAvoidedPods(text: string, check: Check<{ [key: string]: string } | undefined>): void {
  const error = jsonSyntaxError(Buffer.from(text))
  if (error !== undefined) {
    check.dynamic('AvoidPods').invalid(error, avoidPodsAnnotation)
    return
  }
  const { preferAvoidPods } = { ...(JSON.parse(text) as { preferAvoidPods?: unknown }) }
  for (const [index, { podSignature }] of itemsOf<AvoidedPod>(preferAvoidPods).entries()) {
    const at = check.dynamic(avoidPodsAnnotation).at(index).at('PodSignature')
    const controller = podSignature?.podController
    if (controller === undefined) at.required()
    else if (!controller.controller) at.at('PodController').at('Controller').invalid('must point to a controller', false)
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
