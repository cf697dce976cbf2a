/** Validates the security contexts of pods and containers. */
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
export function validatePodSecurityContext(check: Check<V1PodSecurityContext>, spec: V1PodSpec, options: PodValidationOptions): void {
  const context = check.value
  if (context.fsGroup !== undefined) validateGroup(check.at('fsGroup').present)
  if (context.runAsUser !== undefined) validateUser(check.at('runAsUser').present)
  if (context.runAsGroup !== undefined) validateGroup(check.at('runAsGroup').present)
  for (const at of check.at('supplementalGroups').items()) {
    validateGroup(at)
  }
  if (spec.hostPID && spec.shareProcessNamespace) {
    check.dynamic('shareProcessNamespace').invalid('ShareProcessNamespace and HostPID cannot both be enabled', true)
  }
  if (context.sysctls?.length) validateSysctls(check.at('sysctls').present, spec, options)
  validateChoice(check.at('fsGroupChangePolicy'), ['Always', 'OnRootMismatch'])
  if (context.seccompProfile) validateSeccompProfile(check.at('seccompProfile').present)
  if (context.windowsOptions) validateWindowsOptions(check.at('windowsOptions').present)
  if (context.appArmorProfile) validateAppArmorProfile(check.at('appArmorProfile').present)
  validateChoice(check.at('supplementalGroupsPolicy'), ['Merge', 'Strict'])
  const seLinuxPolicies = options.allowOnlyRecursiveSELinuxChangePolicy ? ['Recursive'] : ['MountOption', 'Recursive']
  validateChoice(check.at('seLinuxChangePolicy'), seLinuxPolicies)
}

function validateChoice(check: Check<string | undefined>, choices: readonly string[]): void {
  const { value } = check
  if (value !== undefined && !choices.includes(value)) check.notSupported(choices)
}

/** `check` stands at the container's security context. */
export function validateSecurityContext(check: Check<V1SecurityContext>, hostUsers: boolean): void {
  const context = check.value
  if (context.runAsUser !== undefined) validateUser(check.at('runAsUser').present)
  if (context.runAsGroup !== undefined) validateGroup(check.at('runAsGroup').present)
  if (context.procMount !== undefined) validateProcMount(check.at('procMount').present, hostUsers)
  if (context.seccompProfile) validateSeccompProfile(check.at('seccompProfile').present)
  if (context.allowPrivilegeEscalation === false) validateNoEscalation(check)
  if (context.windowsOptions) validateWindowsOptions(check.at('windowsOptions').present)
  if (context.appArmorProfile) validateAppArmorProfile(check.at('appArmorProfile').present)
}

function validateNoEscalation(check: Check<V1SecurityContext>): void {
  const context = check.value
  if (context.privileged) {
    check.invalid('cannot set `allowPrivilegeEscalation` to false and `privileged` to true', asInternal('core.SecurityContext', context))
  }
  for (const capability of context.capabilities?.add ?? []) {
    if (capability !== 'CAP_SYS_ADMIN') continue
    check.invalid(
      'cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN',
      asInternal('core.SecurityContext', context),
    )
  }
}

export function validateProcMount(check: Check<string>, hostUsers: boolean): void {
  const procMount = check.value
  if (procMount !== 'Default' && procMount !== 'Unmasked') check.notSupported(['Default', 'Unmasked'])
  if (hostUsers && procMount === 'Unmasked') check.invalid('`hostUsers` must be false to use `Unmasked`')
}

function validateUser(check: Check<number>): void {
  const uid = check.value
  for (const message of userId(uid)) check.invalid(message)
}

function validateGroup(check: Check<number>): void {
  const gid = check.value
  for (const message of groupId(gid)) check.invalid(message)
}

const seccompTypes = ['Localhost', 'RuntimeDefault', 'Unconfined']

function validateSeccompProfile(check: Check<V1SeccompProfile>): void {
  const profile = check.value
  if (!profile.type) check.at('type').required('type is required when seccompProfile is set')
  else if (!seccompTypes.includes(profile.type)) check.at('type').notSupported(seccompTypes)
  const path = profile.localhostProfile
  if (profile.type === 'Localhost') {
    if (path === undefined) check.at('localhostProfile').required('must be set when seccomp type is Localhost')
    else validateDescendingPath(check.at('localhostProfile').present)
  } else if (path !== undefined) {
    const shown = asInternal('core.SeccompProfile', profile)
    check.at('localhostProfile').invalid('can only be set when seccomp type is Localhost', shown)
  }
}

const longestProfileName = 4095

export function validateAppArmorProfile(check: Check<V1AppArmorProfile>): void {
  const profile = check.value
  const name = profile.localhostProfile
  switch (profile.type) {
    case 'Localhost':
      if (name === undefined) check.at('localhostProfile').required('must be set when AppArmor type is Localhost')
      else {
        if (name.trim() !== name) check.at('localhostProfile').invalid('must not be padded with whitespace')
        else if (name === '') check.at('localhostProfile').required('must be set when AppArmor type is Localhost')
        if (byteLength(name) > longestProfileName) check.at('localhostProfile').tooLong(longestProfileName)
      }
      return
    case 'RuntimeDefault':
    case 'Unconfined':
      if (name !== undefined) check.at('localhostProfile').invalid('can only be set when AppArmor type is Localhost')
      return
    default:
      if (!profile.type) check.at('type').required('type is required when appArmorProfile is set')
      else check.at('type').notSupported(['Localhost', 'RuntimeDefault', 'Unconfined'])
  }
}

const sysctlPattern = '^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$'
const sysctlRegex = new RegExp(sysctlPattern)
const sysctlMaxLength = 253

function validateSysctls(check: Check<readonly V1Sysctl[]>, spec: V1PodSpec, options: PodValidationOptions): void {
  const names = new Set<string>()
  for (const place of check.items()) {
    const { name = '' } = place.value
    const at = place.at('name')
    if (name === '') at.required()
    else if (name.length > sysctlMaxLength || !sysctlRegex.test(name)) {
      at.or('').invalid(`must have at most ${sysctlMaxLength} characters and match regex ${sysctlPattern}`)
    } else if (names.has(name)) at.or('').duplicate()
    if (!options.allowHostNamespacedSysctls) {
      const option = hostNamespaceOf(name, spec)
      if (option !== undefined) at.or('').invalid(`may not be specified when '${option}' is true`)
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
