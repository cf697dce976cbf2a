/** Judges pod security policies, in the words of the last release that had them. */
import { validateSeccompName } from '#api/core/v1/pod-spec/validate-annotations.ts'
import { validateProcMount } from '#api/core/v1/pod-spec/validate-security-context.ts'
import { validateCsiDriverName } from '#api/core/v1/volume-sources.ts'
import { type Check, quoted } from '#api/meta/check.ts'
import { each } from '#api/meta/each.ts'
import { dns1123Subdomain, mustBe } from '#api/meta/names.ts'
import type {
  V1beta1IDRange,
  V1beta1IdStrategy,
  V1beta1PodSecurityPolicy,
  V1beta1PodSecurityPolicySpec,
  V1beta1RuntimeClassStrategyOptions,
} from '#api/policy/v1beta1/pod-security-policy-types.ts'
import { validateSysctlPatterns } from '#api/policy/v1beta1/validate-sysctl-patterns.ts'

const everything = '*'

const volumeTypes = [
  ...['*', 'awsElasticBlockStore', 'azureDisk', 'azureFile', 'cephFS', 'cinder', 'configMap', 'csi', 'downwardAPI', 'emptyDir'],
  ...['ephemeral', 'fc', 'flexVolume', 'flocker', 'gcePersistentDisk', 'gitRepo', 'glusterfs', 'hostPath', 'iscsi', 'nfs'],
  ...['persistentVolumeClaim', 'photonPersistentDisk', 'portworxVolume', 'projected', 'quobyte', 'rbd', 'scaleIO', 'secret'],
  ...['storageos', 'vsphereVolume'],
]

export function validatePolicy({ metadata, spec }: V1beta1PodSecurityPolicy, check: Check): void {
  validateAnnotations(metadata?.annotations ?? {}, check.at('metadata.annotations'))
  validateStrategies(spec, check.at('spec'))
  validateCapabilities(spec, check)
  validateLists(spec, check.at('spec'))
}

function validateStrategies(spec: V1beta1PodSecurityPolicySpec, check: Check): void {
  validateRule(spec.runAsUser?.rule, ['MustRunAs', 'MustRunAsNonRoot', 'RunAsAny'], check.at('runAsUser'))
  validateRanges(spec.runAsUser?.ranges, check.at('runAsUser'))
  if (spec.runAsGroup !== undefined) validateRunAsGroup(spec.runAsGroup, check.at('runAsGroup'))
  validateRule(spec.seLinux?.rule, ['MustRunAs', 'RunAsAny'], check.at('seLinux'))
  for (const field of ['supplementalGroups', 'fsGroup'] as const) {
    validateRule(spec[field]?.rule, ['MayRunAs', 'MustRunAs', 'RunAsAny'], check.at(field))
    validateRanges(spec[field]?.ranges, check.at(field))
  }
  for (const volume of spec.volumes ?? []) {
    if (!volumeTypes.includes(volume)) check.at('volumes').notSupported(volume, volumeTypes)
  }
}

function validateLists(spec: V1beta1PodSecurityPolicySpec, check: Check): void {
  if (spec.defaultAllowPrivilegeEscalation && !spec.allowPrivilegeEscalation) {
    check
      .at('defaultAllowPrivilegeEscalation')
      .invalid(true, 'Cannot set DefaultAllowPrivilegeEscalation to true without also setting AllowPrivilegeEscalation to true')
  }
  each(spec.allowedProcMountTypes, check.at('allowedProcMountTypes'), (type, item) => validateProcMount(type, false, item))
  validateHostPaths(spec.allowedHostPaths ?? [], check.at('allowedHostPaths'))
  each(spec.allowedFlexVolumes, check.at('allowedFlexVolumes.allowedFlexVolumes'), ({ driver }, item) => {
    if (!driver) item.at('driver').required('must specify a driver')
  })
  each(spec.allowedCSIDrivers, check.at('allowedCSIDrivers.allowedCSIDriver'), ({ name }, item) =>
    validateCsiDriverName(name, item.at('name')),
  )
  validateSysctlPatterns(spec, check)
  if (spec.runtimeClass !== undefined) validateRuntimeClasses(spec.runtimeClass, check.at('runtimeClass'))
}

function validateRule(rule = '', known: readonly string[], check: Check): void {
  if (!known.includes(rule)) check.at('rule').notSupported(rule, known)
}

function validateRanges(ranges: readonly V1beta1IDRange[] | undefined, check: Check): void {
  each(ranges, check.at('ranges'), ({ min = 0, max = 0 }, item) => {
    if (min < 0) item.at('min').invalid(min, 'min cannot be negative')
    if (max < 0) item.at('max').invalid(max, 'max cannot be negative')
    if (min > max) item.at('min').invalid(min, 'min cannot be greater than max')
  })
}

function validateRunAsGroup({ rule = '', ranges = [] }: V1beta1IdStrategy, check: Check): void {
  switch (rule) {
    case 'RunAsAny':
      if (ranges.length > 0) check.at('ranges').invalid(ranges, 'Ranges must be empty')
      break
    case 'MustRunAs':
    case 'MayRunAs':
      if (ranges.length === 0) check.at('ranges').invalid(ranges, 'must provide at least one range')
      validateRanges(ranges, check)
      break
    default:
      check.at('rule').notSupported(rule, ['MustRunAs', 'RunAsAny', 'MayRunAs'])
  }
}

/** The paths of these lack the spec, as upstream's did. */
function validateCapabilities(spec: V1beta1PodSecurityPolicySpec, check: Check): void {
  const { requiredDropCapabilities: dropped = [], defaultAddCapabilities = [], allowedCapabilities = [] } = spec
  if (dropped.length > 0 && allowedCapabilities.includes(everything)) {
    check.at('requiredDropCapabilities').invalid(dropped, 'must be empty when all capabilities are allowed by a wildcard')
  }
  for (const [field, capabilities] of Object.entries({ defaultAddCapabilities, allowedCapabilities })) {
    for (const capability of capabilities) {
      if (!dropped.includes(capability)) continue
      check.at(field).invalid(capability, `capability is listed in ${field} and requiredDropCapabilities`)
    }
  }
}

function validateHostPaths(paths: readonly { pathPrefix?: string }[], check: Check): void {
  for (const [index, { pathPrefix = '' }] of paths.entries()) {
    if (pathPrefix === '') {
      check.at(index).required('is required')
      return
    }
    if (pathPrefix.split('/').includes('..')) check.at(index).invalid(pathPrefix, "must not contain '..'")
  }
}

function validateRuntimeClasses(options: V1beta1RuntimeClassStrategyOptions, check: Check): void {
  const { allowedRuntimeClassNames: names = [], defaultRuntimeClassName: standard } = options
  const allowed = new Set<string>()
  const list = check.at('allowedRuntimeClassNames')
  each(names, list, (name, item) => {
    if (name !== everything) mustBe(dns1123Subdomain, name, item)
    if (allowed.has(name)) item.duplicate(name)
    allowed.add(name)
  })
  if (standard !== undefined) {
    mustBe(dns1123Subdomain, standard, check.at('defaultRuntimeClassName'))
    if (!allowed.has(standard) && !allowed.has(everything)) list.required(`default ${quoted(standard)} must be allowed`)
  }
  if (allowed.has(everything) && names.length > 1) list.invalid(names, "if '*' is present, must not specify other RuntimeClass names")
}

const appArmorDefault = 'apparmor.security.beta.kubernetes.io/defaultProfileName'
const appArmorAllowed = 'apparmor.security.beta.kubernetes.io/allowedProfileNames'
const seccompDefault = 'seccomp.security.alpha.kubernetes.io/defaultProfileName'
const seccompAllowed = 'seccomp.security.alpha.kubernetes.io/allowedProfileNames'

function validateAnnotations(annotations: Readonly<Record<string, string>>, check: Check): void {
  const listed = (key: string) => (annotations[key] ? annotations[key].split(',') : [])
  const standard = annotations[appArmorDefault]
  if (standard && !isAppArmorProfile(standard)) check.key(appArmorDefault).invalid(standard, unknownAppArmor(standard))
  for (const profile of listed(appArmorAllowed)) {
    if (!isAppArmorProfile(profile)) check.key(appArmorAllowed).invalid(annotations[appArmorAllowed], unknownAppArmor(profile))
  }
  const seccomp = annotations[seccompDefault]
  if (seccomp) validateSeccompName(seccomp, check.key(seccompDefault))
  for (const profile of listed(seccompAllowed)) if (profile !== everything) validateSeccompName(profile, check.key(seccompAllowed))
}

const isAppArmorProfile = (name: string): boolean => ['', 'runtime/default', 'unconfined'].includes(name) || name.startsWith('localhost/')

const unknownAppArmor = (name: string): string => `invalid AppArmor profile name: ${quoted(name)}`
