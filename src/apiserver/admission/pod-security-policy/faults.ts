/** What of a pod a policy does not allow. */
import { type AnyContainer, checkAtContainer, eachContainer } from '#api/core/v1/pod-spec/all-containers.ts'
import type { V1Capabilities, V1Pod, V1SELinuxOptions } from '#api/core/v1/types.gen.ts'
import { Check, type FieldError } from '#api/meta/check.ts'
import type { V1beta1IdStrategy, V1beta1PodSecurityPolicy } from '#api/policy/v1beta1/pod-security-policy-types.ts'
import { isInRanges, rangesText } from '#apiserver/admission/pod-security-policy/id-ranges.ts'
import { checkAppArmor, checkSeccompOfContainer, checkSeccompOfPod } from '#apiserver/admission/pod-security-policy/profiles.ts'
import { checkVolumes } from '#apiserver/admission/pod-security-policy/volumes.ts'

export function policyFaults(pod: V1Pod, policy: V1beta1PodSecurityPolicy): FieldError[] {
  const root = new Check(pod)
  const check = root.at('spec').at('securityContext')
  const { spec } = pod
  const { spec: rules } = policy
  const context = spec.securityContext ?? {}
  checkGroups(context.fsGroup === undefined ? [] : [context.fsGroup], rules.fsGroup, check.at('fsGroup'))
  checkGroups(context.supplementalGroups ?? [], rules.supplementalGroups, check.at('supplementalGroups'))
  checkSeccompOfPod(pod, policy, root)
  checkSeLinux(check.at('seLinuxOptions').with(context.seLinuxOptions), policy)
  if (spec.hostNetwork && !rules.hostNetwork) check.dynamic('hostNetwork').invalid('Host network is not allowed to be used', true)
  if (spec.hostPID && !rules.hostPID) check.dynamic('hostPID').invalid('Host PID is not allowed to be used', true)
  if (spec.hostIPC && !rules.hostIPC) check.dynamic('hostIPC').invalid('Host IPC is not allowed to be used', true)
  checkSysctls(pod, policy, root.dynamic('pod').at('spec').at('securityContext').at('sysctls'))
  checkVolumes(pod, policy, root.at('spec'))
  const allowedRuntimes = rules.runtimeClass?.allowedRuntimeClassNames
  if (
    spec.runtimeClassName !== undefined &&
    allowedRuntimes &&
    !allowedRuntimes.some((name) => name === '*' || name === spec.runtimeClassName)
  ) {
    root.at('spec').at('runtimeClassName').invalid('', spec.runtimeClassName)
  }
  eachContainer(spec, (container, list, index) => {
    checkContainer(pod, container, policy, checkAtContainer(root.at('spec'), list, index), root)
  })
  return root.errors
}

function checkContainer(
  pod: V1Pod,
  container: AnyContainer,
  policy: V1beta1PodSecurityPolicy,
  place: Check<AnyContainer>,
  root: Check<V1Pod>,
): void {
  const { spec: rules } = policy
  const ofPod = pod.spec.securityContext ?? {}
  const own = container.securityContext ?? {}
  const check = place.at('securityContext')
  checkUser(
    check.with({ runAsUser: own.runAsUser ?? ofPod.runAsUser, runAsNonRoot: own.runAsNonRoot ?? ofPod.runAsNonRoot }),
    rules.runAsUser,
  )
  const group = own.runAsGroup ?? ofPod.runAsGroup
  if (rules.runAsGroup) checkGroups(group === undefined ? [] : [group], rules.runAsGroup, check)
  checkSeLinux(check.at('seLinuxOptions').with(own.seLinuxOptions ?? ofPod.seLinuxOptions), policy)
  checkAppArmor(pod, container, policy, root)
  checkSeccompOfContainer(pod, container, policy, root)
  if (own.privileged && !rules.privileged) check.at('privileged').invalid('Privileged containers are not allowed', true)
  const procMounts = rules.allowedProcMountTypes?.length ? rules.allowedProcMountTypes : ['Default']
  const procMount = own.procMount ?? 'Default'
  if (!procMounts.includes(procMount)) check.at('procMount').invalid('ProcMountType is not allowed', procMount)
  checkCapabilities(check.at('capabilities'), policy)
  checkHostPorts(place, policy)
  if (rules.readOnlyRootFilesystem && own.readOnlyRootFilesystem !== true) {
    const isUnset = own.readOnlyRootFilesystem === undefined
    const why = `ReadOnlyRootFilesystem ${isUnset ? 'may not be nil and ' : ''}must be set to true`
    check.at('readOnlyRootFilesystem').invalid(why, own.readOnlyRootFilesystem ?? null)
  }
  if (rules.allowPrivilegeEscalation === false && own.allowPrivilegeEscalation !== false) {
    const why = 'Allowing privilege escalation for containers is not allowed'
    check.at('allowPrivilegeEscalation').invalid(why, own.allowPrivilegeEscalation ?? null)
  }
}

function checkGroups(groups: readonly number[], { rule, ranges }: V1beta1IdStrategy, check: Check<unknown>): void {
  if (rule === 'RunAsAny') return
  if (rule === 'MustRunAs' && groups.length === 0) check.invalid('unable to validate empty groups against required ranges', null)
  for (const group of groups) {
    if (!isInRanges(group, ranges)) check.invalid(`group ${group} must be in the ranges: ${rangesText(ranges)}`, groups)
  }
}

type User = { runAsUser: number | undefined; runAsNonRoot: boolean | undefined }

function checkUser(check: Check<User>, { rule, ranges }: V1beta1IdStrategy): void {
  const { runAsUser, runAsNonRoot } = check.value
  if (rule === 'MustRunAs') {
    if (runAsUser === undefined) check.at('runAsUser').required()
    else if (!isInRanges(runAsUser, ranges)) check.at('runAsUser').invalid(`must be in the ranges: ${rangesText(ranges)}`)
  } else if (rule === 'MustRunAsNonRoot') {
    if (runAsNonRoot === undefined && runAsUser === undefined) check.at('runAsNonRoot').required('must be true')
    else if (runAsNonRoot === false) check.at('runAsNonRoot').invalid('must be true', false)
    else if (runAsUser === 0) check.at('runAsUser').invalid('running with the root UID is forbidden', 0)
  }
}

function checkSeLinux(check: Check<V1SELinuxOptions | undefined>, { spec }: V1beta1PodSecurityPolicy): void {
  const options = check.value
  if (spec.seLinux.rule !== 'MustRunAs') return
  if (options === undefined) {
    check.required()
    return
  }
  const wanted = spec.seLinux.seLinuxOptions ?? {}
  if (!isSameLevel(wanted.level ?? '', options.level ?? ''))
    check
      .at('level')
      .or('')
      .invalid(`must be ${wanted.level ?? ''}`)
  for (const field of ['role', 'type', 'user'] as const) {
    if ((options[field] ?? '') !== (wanted[field] ?? ''))
      check
        .at(field)
        .or('')
        .invalid(`must be ${wanted[field] ?? ''}`)
  }
}

/** `s0:c6,c0` is the same as `s0:c0,c6`. */
function isSameLevel(one: string, other: string): boolean {
  if (one === other) return true
  const [[sensitivity, categories], [otherSensitivity, otherCategories]] = [one, other].map((level) => level.split(/:(.*)/s)) as [
    string[],
    string[],
  ]
  if (categories === undefined || otherCategories === undefined || sensitivity !== otherSensitivity) return false
  return categories.split(',').sort().join() === otherCategories.split(',').sort().join()
}

const safeSysctls = [
  'kernel.shm_rmid_forced',
  'net.ipv4.ip_local_port_range',
  'net.ipv4.tcp_syncookies',
  'net.ipv4.ping_group_range',
  'net.ipv4.ip_unprivileged_port_start',
]

function checkSysctls({ spec }: V1Pod, { spec: rules }: V1beta1PodSecurityPolicy, check: Check<readonly unknown[]>): void {
  const isIn = (patterns: readonly string[] = [], name: string) =>
    patterns.some((pattern) => (pattern.endsWith('*') ? name.startsWith(pattern.slice(0, -1)) : name === pattern))
  for (const [index, { name }] of (spec.securityContext?.sysctls ?? []).entries()) {
    if (isIn(rules.forbiddenSysctls, name)) check.at(index).forbidden(`sysctl "${name}" is not allowed`)
    else if (!safeSysctls.includes(name) && !isIn(rules.allowedUnsafeSysctls, name)) {
      check.at(index).forbidden(`unsafe sysctl "${name}" is not allowed`)
    }
  }
}

function checkCapabilities(check: Check<V1Capabilities | undefined>, { spec: rules }: V1beta1PodSecurityPolicy): void {
  const { defaultAddCapabilities = [], requiredDropCapabilities = [], allowedCapabilities = [] } = rules
  const capabilities = check.value
  if (capabilities === undefined) {
    if (defaultAddCapabilities.length === 0 && requiredDropCapabilities.length === 0) return
    check.invalid('required capabilities are not set on the securityContext', null)
    return
  }
  if (allowedCapabilities.includes('*')) return
  for (const name of capabilities.add ?? []) {
    if (![...defaultAddCapabilities, ...allowedCapabilities].includes(name)) check.at('add').invalid('capability may not be added', name)
  }
  for (const name of requiredDropCapabilities) {
    if (capabilities.drop?.includes(name)) continue
    check.at('drop').invalid(`${name} is required to be dropped but was not found`, capabilities.drop ?? null)
  }
}

function checkHostPorts(check: Check<AnyContainer>, { spec: { hostPorts = [] } }: V1beta1PodSecurityPolicy): void {
  const { ports = [] } = check.value
  const allowed = hostPorts.map(({ min, max }) => (min === max ? String(min) : `${min}-${max}`)).join(',')
  for (const { hostPort = 0 } of ports) {
    if (hostPort <= 0 || isInRanges(hostPort, hostPorts)) continue
    check.dynamic('hostPort').invalid(`Host port ${hostPort} is not allowed to be used. Allowed ports: [${allowed}]`, hostPort)
  }
}
