/** What a pod or template uses that works but should not be used: sentences for the Warning header. */

import { deprecatedNodeLabelMessage } from '#api/core/v1/deprecated-node-labels.ts'
import { Pod } from '#api/core/v1/kinds.gen.ts'
import { claimSpecWarnings } from '#api/core/v1/persistent-volume-claim/claim-warnings.ts'
import { eachContainer } from '#api/core/v1/pod-spec/all-containers.ts'
import { overlappingPathWarnings } from '#api/core/v1/pod-spec/overlapping-paths.ts'
import { portWarnings } from '#api/core/v1/pod-spec/port-warnings.ts'
import {
  appArmorContainerPrefix,
  appArmorProfileOf,
  seccompContainerPrefix,
  seccompPodAnnotation,
} from '#api/core/v1/pod-spec/validate-annotations.ts'
import { hasWholeMillis, type ResourceList } from '#api/core/v1/quantities.ts'
import type { V1EnvVar, V1NodeSelectorTerm, V1PodAffinity, V1PodSpec, V1PodTemplateSpec, V1Volume } from '#api/core/v1/types.gen.ts'
import { quoted } from '#api/meta/check.ts'
import { equalityOf } from '#api/meta/equality.ts'
import { warningsForIp } from '#api/meta/ip.ts'
import { labelValue } from '#api/meta/names.ts'
import { parseQuantity } from '#api/meta/quantity.ts'
import type { V1ObjectMeta } from '#api/meta/v1/types.gen.ts'
import { append } from '#base/append.ts'

const sameProfile = equalityOf(Pod).at('spec').at('securityContext').at('appArmorProfile')

/** `path` is where the template sits: `spec.template`. */
export function podTemplateWarnings(template: V1PodTemplateSpec | undefined, _prev?: V1PodTemplateSpec, path = 'template'): string[] {
  return template?.spec ? specWarnings(template.spec, template.metadata, path) : []
}

/** Of a pod itself; AppArmor's annotations are turned into fields there, which warns in its own way. */
export function podSpecWarnings(spec: V1PodSpec, metadata: V1ObjectMeta | undefined): string[] {
  return specWarnings(spec, metadata, undefined)
}

const deprecatedAnnotations: Record<string, string> = {
  'scheduler.alpha.kubernetes.io/critical-pod': 'non-functional in v1.16+; use the "priorityClassName" field instead',
  'security.alpha.kubernetes.io/sysctls': 'non-functional in v1.11+; use the "sysctls" field instead',
  'security.alpha.kubernetes.io/unsafe-sysctls': 'non-functional in v1.11+; use the "sysctls" field instead',
}

function specWarnings(spec: V1PodSpec, metadata: V1ObjectMeta | undefined, templatePath: string | undefined): string[] {
  const warnings: string[] = []
  const prefix = templatePath === undefined ? '' : `${templatePath}.`
  const path = `${prefix}spec`
  const annotationPath = `${prefix}metadata.annotations`
  warnOfNodeLabels(spec, path, warnings)
  for (const [index, { topologyKey, labelSelector }] of (spec.topologySpreadConstraints ?? []).entries()) {
    const at = `${path}.topologySpreadConstraints[${index}]`
    const message = deprecatedNodeLabelMessage(topologyKey)
    if (message !== undefined) warnings.push(`${at}.topologyKey: ${topologyKey} is ${message}`)
    if (labelSelector === undefined) warnings.push(`${at}.labelSelector: ${nullSelector}`)
  }
  const annotations = metadata?.annotations
  if (annotations) {
    for (const [key, message] of Object.entries(deprecatedAnnotations)) {
      if (annotations[key] !== undefined) warnings.push(`${annotationPath}[${key}]: ${message}`)
    }
  }
  if (spec.volumes) {
    for (const [index, volume] of spec.volumes.entries()) warnOfVolume(volume, `${path}.volumes[${index}]`, warnings)
    for (const warning of overlappingPathWarnings(spec.volumes)) warnings.push(warning)
  }
  warnOfDuplicates(spec, path, warnings)
  warnOfFractions(spec.overhead, `${path}.overhead`, warnings)
  if (annotations?.[seccompPodAnnotation] !== undefined && !spec.securityContext?.seccompProfile) {
    warnings.push(`${annotationPath}[${seccompPodAnnotation}]: ${seccompGone}`)
  }
  eachContainer(spec, (container, list, index) => {
    const at = `${path}.${list}[${index}]`
    if (annotations) warnOfProfiles(container, spec, annotations, annotationPath, templatePath !== undefined, warnings)
    warnOfFractions(container.resources?.limits, `${at}.resources.limits`, warnings, 'memory')
    warnOfFractions(container.resources?.requests, `${at}.resources.requests`, warnings, 'memory')
    warnOfFractions(container.resources?.limits, `${at}.resources.limits`, warnings, 'ephemeral-storage')
    warnOfFractions(container.resources?.requests, `${at}.resources.requests`, warnings, 'ephemeral-storage')
    if (container.env && container.env.length > 1) warnOfHiddenVariables(container.env, `${at}.env`, warnings)
  })
  for (const warning of portWarnings(spec, path)) warnings.push(warning)
  if ((spec.terminationGracePeriodSeconds ?? 0) < 0) {
    warnings.push(`${path}.terminationGracePeriodSeconds: must be >= 0; negative values are invalid and will be treated as 1`)
  }
  warnOfNullSelectors(spec.affinity?.podAffinity, `${path}.affinity.podAffinity`, warnings)
  warnOfNullSelectors(spec.affinity?.podAntiAffinity, `${path}.affinity.podAntiAffinity`, warnings)
  for (const [index, server] of (spec.dnsConfig?.nameservers ?? []).entries()) {
    append(warnings, warningsForIp(`${path}.dnsConfig.nameservers[${index}]`, server))
  }
  for (const [index, { ip }] of (spec.hostAliases ?? []).entries()) append(warnings, warningsForIp(`${path}.hostAliases[${index}].ip`, ip))
  return warnings
}

const nullSelector = 'a null labelSelector results in matching no pod'
const seccompGone = 'non-functional in v1.27+; use the "seccompProfile" field instead'

function warnOfNodeLabels(spec: V1PodSpec, path: string, warnings: string[]): void {
  for (const key in spec.nodeSelector) {
    const message = deprecatedNodeLabelMessage(key)
    if (message !== undefined) warnings.push(`${path}.nodeSelector[${key}]: ${message}`)
  }
  const affinity = spec.affinity?.nodeAffinity
  if (affinity === undefined) return
  const at = `${path}.affinity.nodeAffinity`
  const { requiredDuringSchedulingIgnoredDuringExecution: must, preferredDuringSchedulingIgnoredDuringExecution: preferred } = affinity
  for (const [index, term] of (must?.nodeSelectorTerms ?? []).entries()) {
    const termPath = `${at}.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[${index}]`
    append(warnings, nodeSelectorTermWarnings(term, false, termPath))
  }
  for (const [index, { preference }] of (preferred ?? []).entries()) {
    const termPath = `${at}.preferredDuringSchedulingIgnoredDuringExecution[${index}].preference`
    append(warnings, nodeSelectorTermWarnings(preference, true, termPath))
  }
}

/** Also of persistent volumes; values that could never match are refused where they matter, and warned of where they do not. */
export function nodeSelectorTermWarnings(term: V1NodeSelectorTerm | undefined, validatesValues: boolean, path: string): string[] {
  const warnings: string[] = []
  for (const [index, { key, values = [] }] of (term?.matchExpressions ?? []).entries()) {
    const at = `${path}.matchExpressions[${index}]`
    const message = deprecatedNodeLabelMessage(key)
    if (message !== undefined) warnings.push(`${at}.key: ${key} is ${message}`)
    if (!validatesValues) continue
    for (const [place, value] of values.entries()) {
      for (const wrong of labelValue(value)) warnings.push(`${at}.values[${place}]: ${value} is invalid, ${wrong}`)
    }
  }
  return warnings
}

function warnOfVolume(volume: V1Volume, path: string, warnings: string[]): void {
  for (const [field, shown, message] of deprecatedVolumes) {
    if (volume[field] === undefined) continue
    warnings.push(`${path}.${shown}: ${message}`)
  }
  const template = volume.ephemeral?.volumeClaimTemplate
  if (template) append(warnings, claimSpecWarnings(template.spec, `${path}.ephemeral.volumeClaimTemplate.spec`))
}

const deprecatedVolumes: readonly (readonly [keyof V1Volume, string, string])[] = [
  ['photonPersistentDisk', 'photonPersistentDisk', 'deprecated in v1.11, non-functional in v1.16+'],
  ['gitRepo', 'gitRepo', 'deprecated in v1.11, and disabled by default in v1.33+'],
  ['scaleIO', 'scaleIO', 'deprecated in v1.16, non-functional in v1.22+'],
  ['flocker', 'flocker', 'deprecated in v1.22, non-functional in v1.25+'],
  ['storageos', 'storageOS', 'deprecated in v1.22, non-functional in v1.25+'],
  ['quobyte', 'quobyte', 'deprecated in v1.22, non-functional in v1.25+'],
  ['glusterfs', 'glusterfs', 'deprecated in v1.25, non-functional in v1.26+'],
  ['cephfs', 'cephfs', 'deprecated in v1.28, non-functional in v1.31+'],
  ['rbd', 'rbd', 'deprecated in v1.28, non-functional in v1.31+'],
]

function warnOfDuplicates(spec: V1PodSpec, path: string, warnings: string[]): void {
  const ips = new Set<string>()
  for (const [index, { ip = '' }] of (spec.hostAliases ?? []).entries()) {
    if (ips.has(ip)) warnings.push(`${path}.hostAliases[${index}].ip: duplicate ip ${quoted(ip)}`)
    ips.add(ip)
  }
  const secrets = new Set<string>()
  const pullSecrets = spec.imagePullSecrets ?? []
  for (const [index, { name = '' }] of pullSecrets.entries()) {
    if (secrets.has(name)) warnings.push(`${path}.imagePullSecrets[${index}].name: duplicate name ${quoted(name)}`)
    secrets.add(name)
  }
  for (const [index, { name }] of pullSecrets.entries()) {
    if (!name) warnings.push(`${path}.imagePullSecrets[${index}].name: invalid empty name ""`)
  }
}

const byteResources = ['memory', 'ephemeral-storage']

function warnOfFractions(list: ResourceList | undefined, path: string, warnings: string[], only?: string): void {
  if (list === undefined) return
  for (const name of only === undefined ? byteResources : [only]) {
    const quantity = list[name]
    if (quantity === undefined || hasWholeMillis(quantity)) continue
    warnings.push(`${path}[${name}]: fractional byte value ${quoted(parseQuantity(quantity).toString())} is invalid, must be an integer`)
  }
}

type Profiled = { name: string; securityContext?: { seccompProfile?: object; appArmorProfile?: object } }

function warnOfProfiles(
  { name, securityContext }: Profiled,
  spec: V1PodSpec,
  annotations: { [key: string]: string },
  path: string,
  isTemplate: boolean,
  warnings: string[],
): void {
  const seccompKey = seccompContainerPrefix + name
  if (!securityContext?.seccompProfile && annotations[seccompKey] !== undefined) warnings.push(`${path}[${seccompKey}]: ${seccompGone}`)
  const appArmorKey = appArmorContainerPrefix + name
  const annotation = annotations[appArmorKey]
  if (!isTemplate || securityContext?.appArmorProfile || annotation === undefined) return
  const ofPod = spec.securityContext?.appArmorProfile
  if (ofPod && sameProfile(ofPod, appArmorProfileOf(annotation))) return
  warnings.push(`${path}[${appArmorKey}]: ${appArmorDeprecated}`)
}

export const appArmorDeprecated = 'deprecated since v1.30; use the "appArmorProfile" field instead'

/** A second definition is fine only if it builds on the first. */
function warnOfHiddenVariables(variables: readonly V1EnvVar[], path: string, warnings: string[]): void {
  const names = new Set<string>()
  for (const [index, { name, value = '', valueFrom }] of variables.entries()) {
    if (names.has(name)) {
      const reference = `$(${name})`
      if (valueFrom || value === reference || !value.includes(reference)) {
        warnings.push(`${path}[${index}]: hides previous definition of ${quoted(name)}, which may be dropped when using apply`)
      }
    } else names.add(name)
  }
}

function warnOfNullSelectors(affinity: V1PodAffinity | undefined, path: string, warnings: string[]): void {
  if (affinity === undefined) return
  for (const [index, { labelSelector }] of (affinity.requiredDuringSchedulingIgnoredDuringExecution ?? []).entries()) {
    if (labelSelector !== undefined) continue
    warnings.push(`${path}.requiredDuringSchedulingIgnoredDuringExecution[${index}].labelSelector: ${nullSelector}`)
  }
  for (const [index, { podAffinityTerm }] of (affinity.preferredDuringSchedulingIgnoredDuringExecution ?? []).entries()) {
    if (podAffinityTerm?.labelSelector !== undefined) continue
    warnings.push(`${path}.preferredDuringSchedulingIgnoredDuringExecution[${index}].podAffinityTerm.labelSelector: ${nullSelector}`)
  }
}
