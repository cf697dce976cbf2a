/** Validates pod security policies, in the words of the last release that had them. */
import { validateSeccompName } from '#api/core/v1/pod-spec/validate-annotations.ts'
import { validateProcMount } from '#api/core/v1/pod-spec/validate-security-context.ts'
import { validateCsiDriverName } from '#api/core/v1/volume-sources.ts'
import { type Check, quoted } from '#api/meta/check.ts'
import { dns1123Subdomain, mustBe } from '#api/meta/names.ts'
import type {
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
const isVolumeType: ReadonlySet<string> = new Set(volumeTypes)

export function validatePolicy({ spec }: V1beta1PodSecurityPolicy, check: Check<V1beta1PodSecurityPolicy>): void {
  validateAnnotations(check.at('metadata').at('annotations').or({}))
  validateStrategies(check.at('spec'))
  validateCapabilities(check.with(spec))
  validateLists(check.at('spec'))
}

function validateStrategies(check: Check<V1beta1PodSecurityPolicySpec>): void {
  const spec = check.value
  validateRule(check.at('runAsUser'), ['MustRunAs', 'MustRunAsNonRoot', 'RunAsAny'])
  validateRanges(check.at('runAsUser'))
  if (spec.runAsGroup !== undefined) validateRunAsGroup(check.at('runAsGroup').present)
  validateRule(check.at('seLinux'), ['MustRunAs', 'RunAsAny'])
  for (const field of ['supplementalGroups', 'fsGroup'] as const) {
    validateRule(check.at(field), ['MayRunAs', 'MustRunAs', 'RunAsAny'])
    validateRanges(check.at(field))
  }
  check.at('volumes').each(({ value: volume }) => {
    if (!isVolumeType.has(volume)) check.at('volumes').notSupported(volumeTypes, volume)
  })
}

function validateLists(check: Check<V1beta1PodSecurityPolicySpec>): void {
  const spec = check.value
  if (spec.defaultAllowPrivilegeEscalation && !spec.allowPrivilegeEscalation) {
    check
      .at('defaultAllowPrivilegeEscalation')
      .invalid('Cannot set DefaultAllowPrivilegeEscalation to true without also setting AllowPrivilegeEscalation to true', true)
  }
  check.at('allowedProcMountTypes').each((item) => validateProcMount(item, false))
  validateHostPaths(check.at('allowedHostPaths').or([]))
  check
    .at('allowedFlexVolumes')
    .dynamic('allowedFlexVolumes')
    .with(spec.allowedFlexVolumes)
    .each((item) => {
      const { driver } = item.value
      if (!driver) item.at('driver').required('must specify a driver')
    })
  check
    .at('allowedCSIDrivers')
    .dynamic('allowedCSIDriver')
    .with(spec.allowedCSIDrivers)
    .each((item) => {
      const { name } = item.value
      validateCsiDriverName(name, item.at('name'))
    })
  validateSysctlPatterns(check)
  if (spec.runtimeClass !== undefined) validateRuntimeClasses(check.at('runtimeClass').present)
}

function validateRule(check: Check<{ rule?: string } | undefined>, known: readonly string[]): void {
  const rule = check.at('rule').or('')
  if (!known.includes(rule.value)) rule.notSupported(known)
}

function validateRanges(check: Check<V1beta1IdStrategy | undefined>): void {
  check.at('ranges').each((item) => {
    const { min = 0, max = 0 } = item.value
    if (min < 0) item.at('min').or(0).invalid('min cannot be negative')
    if (max < 0) item.at('max').or(0).invalid('max cannot be negative')
    if (min > max) item.at('min').or(0).invalid('min cannot be greater than max')
  })
}

function validateRunAsGroup(check: Check<V1beta1IdStrategy>): void {
  const { rule = '', ranges = [] } = check.value
  switch (rule) {
    case 'RunAsAny':
      if (ranges.length > 0) check.at('ranges').or([]).invalid('Ranges must be empty')
      break
    case 'MustRunAs':
    case 'MayRunAs':
      if (ranges.length === 0) check.at('ranges').or([]).invalid('must provide at least one range')
      validateRanges(check)
      break
    default:
      check.at('rule').or('').notSupported(['MustRunAs', 'RunAsAny', 'MayRunAs'])
  }
}

/** The paths of these lack the spec, as upstream's did. */
function validateCapabilities(check: Check<V1beta1PodSecurityPolicySpec>): void {
  const spec = check.value
  const { requiredDropCapabilities: dropped = [], allowedCapabilities = [] } = spec
  if (dropped.length > 0 && allowedCapabilities.includes(everything)) {
    check.at('requiredDropCapabilities').or([]).invalid('must be empty when all capabilities are allowed by a wildcard')
  }
  const isDropped = new Set(dropped)
  for (const field of ['defaultAddCapabilities', 'allowedCapabilities'] as const) {
    for (const capability of spec[field] ?? []) {
      if (!isDropped.has(capability) || check.isBeyondTelling) continue
      check.at(field).invalid(`capability is listed in ${field} and requiredDropCapabilities`, capability)
    }
  }
}

function validateHostPaths(check: Check<readonly { pathPrefix?: string }[]>): void {
  for (const at of check.items()) {
    const { pathPrefix = '' } = at.value
    if (pathPrefix === '') {
      at.required('is required')
      return
    }
    if (pathPrefix.split('/').includes('..')) at.invalid("must not contain '..'", pathPrefix)
  }
}

function validateRuntimeClasses(check: Check<V1beta1RuntimeClassStrategyOptions>): void {
  const options = check.value
  const { allowedRuntimeClassNames: names = [], defaultRuntimeClassName: standard } = options
  const allowed = new Set<string>()
  const list = check.at('allowedRuntimeClassNames')
  list.each((item) => {
    const name = item.value
    if (name !== everything) mustBe(dns1123Subdomain, item)
    if (allowed.has(name)) item.duplicate()
    allowed.add(name)
  })
  if (standard !== undefined) {
    mustBe(dns1123Subdomain, check.at('defaultRuntimeClassName').present)
    if (!allowed.has(standard) && !allowed.has(everything)) list.required(`default ${quoted(standard)} must be allowed`)
  }
  if (allowed.has(everything) && names.length > 1) list.or([]).invalid("if '*' is present, must not specify other RuntimeClass names")
}

const appArmorDefault = 'apparmor.security.beta.kubernetes.io/defaultProfileName'
const appArmorAllowed = 'apparmor.security.beta.kubernetes.io/allowedProfileNames'
const seccompDefault = 'seccomp.security.alpha.kubernetes.io/defaultProfileName'
const seccompAllowed = 'seccomp.security.alpha.kubernetes.io/allowedProfileNames'

function validateAnnotations(check: Check<Readonly<Record<string, string>>>): void {
  const annotations = check.value
  const listed = (key: string) => (annotations[key] ? annotations[key].split(',') : [])
  const standard = annotations[appArmorDefault]
  if (standard && !isAppArmorProfile(standard)) check.key(appArmorDefault).invalid(unknownAppArmor(standard))
  for (const profile of listed(appArmorAllowed)) {
    if (!isAppArmorProfile(profile)) check.key(appArmorAllowed).invalid(unknownAppArmor(profile))
  }
  const seccomp = annotations[seccompDefault]
  if (seccomp) validateSeccompName(check.key(seccompDefault).present)
  for (const profile of listed(seccompAllowed)) if (profile !== everything) validateSeccompName(check.key(seccompAllowed).with(profile))
}

const isAppArmorProfile = (name: string): boolean => ['', 'runtime/default', 'unconfined'].includes(name) || name.startsWith('localhost/')

const unknownAppArmor = (name: string): string => `invalid AppArmor profile name: ${quoted(name)}`
