/** Judges the security contexts of pods and containers. */
import { validateDescendingPath } from '#api/core/v1/pod-spec/paths.ts'
import { validateWindowsOptions } from '#api/core/v1/pod-spec/validate-windows-options.ts'
import type { PodValidationOptions } from '#api/core/v1/pod-spec/validation-options.ts'
import type {
  V1AppArmorProfile,
  V1PodSecurityContext,
  V1PodSpec,
  V1SeccompProfile,
  V1SecurityContext,
  V1Sysctl,
} from '#api/core/v1/types.gen.ts'
import type { Check } from '#api/meta/check.ts'
import { groupId, userId } from '#api/meta/formats.ts'
import { byteLength } from '#api/meta/names.ts'
import { asInternal } from '#api/meta/quote-internal.ts'

/** `check` stands at the pod's security context. */
export function validatePodSecurityContext(
  context: V1PodSecurityContext,
  spec: V1PodSpec,
  check: Check,
  options: PodValidationOptions,
): void {
  if (context.fsGroup !== undefined) validateGroup(context.fsGroup, check.at('fsGroup'))
  if (context.runAsUser !== undefined) validateUser(context.runAsUser, check.at('runAsUser'))
  if (context.runAsGroup !== undefined) validateGroup(context.runAsGroup, check.at('runAsGroup'))
  for (const [index, group] of (context.supplementalGroups ?? []).entries()) {
    validateGroup(group, check.at('supplementalGroups').at(index))
  }
  if (spec.hostPID && spec.shareProcessNamespace) {
    check.at('shareProcessNamespace').invalid(true, 'ShareProcessNamespace and HostPID cannot both be enabled')
  }
  if (context.sysctls?.length) validateSysctls(context.sysctls, spec, check.at('sysctls'), options)
  validateChoice(context.fsGroupChangePolicy, ['Always', 'OnRootMismatch'], check, 'fsGroupChangePolicy')
  if (context.seccompProfile) validateSeccompProfile(context.seccompProfile, check.at('seccompProfile'))
  if (context.windowsOptions) validateWindowsOptions(context.windowsOptions, check.at('windowsOptions'))
  if (context.appArmorProfile) validateAppArmorProfile(context.appArmorProfile, check.at('appArmorProfile'))
  validateChoice(context.supplementalGroupsPolicy, ['Merge', 'Strict'], check, 'supplementalGroupsPolicy')
  const seLinuxPolicies = options.allowOnlyRecursiveSELinuxChangePolicy ? ['Recursive'] : ['MountOption', 'Recursive']
  validateChoice(context.seLinuxChangePolicy, seLinuxPolicies, check, 'seLinuxChangePolicy')
}

function validateChoice(value: string | undefined, choices: readonly string[], check: Check, field: string): void {
  if (value !== undefined && !choices.includes(value)) check.at(field).notSupported(value, choices)
}

/** `check` stands at the container's security context. */
export function validateSecurityContext(context: V1SecurityContext, hostUsers: boolean, check: Check): void {
  if (context.runAsUser !== undefined) validateUser(context.runAsUser, check.at('runAsUser'))
  if (context.runAsGroup !== undefined) validateGroup(context.runAsGroup, check.at('runAsGroup'))
  if (context.procMount !== undefined) validateProcMount(context.procMount, hostUsers, check.at('procMount'))
  if (context.seccompProfile) validateSeccompProfile(context.seccompProfile, check.at('seccompProfile'))
  if (context.allowPrivilegeEscalation === false) validateNoEscalation(context, check)
  if (context.windowsOptions) validateWindowsOptions(context.windowsOptions, check.at('windowsOptions'))
  if (context.appArmorProfile) validateAppArmorProfile(context.appArmorProfile, check.at('appArmorProfile'))
}

function validateNoEscalation(context: V1SecurityContext, check: Check): void {
  if (context.privileged) {
    check.invalid(asInternal('core.SecurityContext', context), 'cannot set `allowPrivilegeEscalation` to false and `privileged` to true')
  }
  for (const capability of context.capabilities?.add ?? []) {
    if (capability !== 'CAP_SYS_ADMIN') continue
    check.invalid(
      asInternal('core.SecurityContext', context),
      'cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN',
    )
  }
}

export function validateProcMount(procMount: string, hostUsers: boolean, check: Check): void {
  if (procMount !== 'Default' && procMount !== 'Unmasked') check.notSupported(procMount, ['Default', 'Unmasked'])
  if (hostUsers && procMount === 'Unmasked') check.invalid(procMount, '`hostUsers` must be false to use `Unmasked`')
}

function validateUser(uid: number, check: Check): void {
  for (const message of userId(uid)) check.invalid(uid, message)
}

function validateGroup(gid: number, check: Check): void {
  for (const message of groupId(gid)) check.invalid(gid, message)
}

const seccompTypes = ['Localhost', 'RuntimeDefault', 'Unconfined']

function validateSeccompProfile(profile: V1SeccompProfile, check: Check): void {
  if (!profile.type) check.at('type').required('type is required when seccompProfile is set')
  else if (!seccompTypes.includes(profile.type)) check.at('type').notSupported(profile.type, seccompTypes)
  const path = profile.localhostProfile
  if (profile.type === 'Localhost') {
    if (path === undefined) check.at('localhostProfile').required('must be set when seccomp type is Localhost')
    else validateDescendingPath(path, check.at('localhostProfile'))
  } else if (path !== undefined) {
    const shown = asInternal('core.SeccompProfile', profile)
    check.at('localhostProfile').invalid(shown, 'can only be set when seccomp type is Localhost')
  }
}

const longestProfileName = 4095

export function validateAppArmorProfile(profile: V1AppArmorProfile, check: Check): void {
  const name = profile.localhostProfile
  switch (profile.type) {
    case 'Localhost':
      if (name === undefined) check.at('localhostProfile').required('must be set when AppArmor type is Localhost')
      else {
        if (name.trim() !== name) check.at('localhostProfile').invalid(name, 'must not be padded with whitespace')
        else if (name === '') check.at('localhostProfile').required('must be set when AppArmor type is Localhost')
        if (byteLength(name) > longestProfileName) check.at('localhostProfile').tooLong(longestProfileName)
      }
      return
    case 'RuntimeDefault':
    case 'Unconfined':
      if (name !== undefined) check.at('localhostProfile').invalid(name, 'can only be set when AppArmor type is Localhost')
      return
    default:
      if (!profile.type) check.at('type').required('type is required when appArmorProfile is set')
      else check.at('type').notSupported(profile.type, ['Localhost', 'RuntimeDefault', 'Unconfined'])
  }
}

const sysctlPattern = '^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$'
const sysctlRegex = new RegExp(sysctlPattern)
const sysctlMaxLength = 253

function validateSysctls(sysctls: readonly V1Sysctl[], spec: V1PodSpec, check: Check, options: PodValidationOptions): void {
  const names = new Set<string>()
  for (const [index, { name = '' }] of sysctls.entries()) {
    const at = check.at(index).at('name')
    if (name === '') at.required()
    else if (name.length > sysctlMaxLength || !sysctlRegex.test(name)) {
      at.invalid(name, `must have at most ${sysctlMaxLength} characters and match regex ${sysctlPattern}`)
    } else if (names.has(name)) at.duplicate(name)
    if (!options.allowHostNamespacedSysctls) {
      const option = hostNamespaceOf(name, spec)
      if (option !== undefined) at.invalid(name, `may not be specified when '${option}' is true`)
    }
    names.add(name)
  }
}

const ipcSysctls = new Set([
  ...['kernel.sem', 'kernel.shmall', 'kernel.shmmax', 'kernel.shmmni', 'kernel.shm_rmid_forced', 'kernel.shm'],
  ...['kernel.msgmax', 'kernel.msgmnb', 'kernel.msgmni', 'kernel.msg'],
])

/** The option by which the pod shares with its host what the sysctl would set; undefined when it does not. */
export function hostNamespaceOf(sysctl: string, spec: V1PodSpec): 'hostNetwork' | 'hostIPC' | undefined {
  const dotted = withDots(sysctl)
  const star = dotted.indexOf('*')
  const name = star < 0 ? dotted : dotted.slice(0, star)
  if (name.startsWith('net.')) return spec.hostNetwork ? 'hostNetwork' : undefined
  if (ipcSysctls.has(name) || name.startsWith('fs.mqueue.')) return spec.hostIPC ? 'hostIPC' : undefined
  return undefined
}

/** Sysctls written as paths have the roles of dots and slashes exchanged; the first separator tells. */
function withDots(sysctl: string): string {
  const first = sysctl.search(/[./]/)
  if (first < 0 || sysctl[first] === '.') return sysctl
  return sysctl.replace(/[./]/g, (char) => (char === '/' ? '.' : '/'))
}
