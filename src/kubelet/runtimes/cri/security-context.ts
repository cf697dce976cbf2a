/** Who a container runs as and what it may do, from the pod's and its own security context. */

import { join } from 'node:path'
import type { V1Container, V1Pod, V1SeccompProfile, V1SecurityContext } from '#api/core/v1/types.gen.ts'
import { defined } from '#base/defined.ts'
import { podText } from '#kubelet/pod-worker/next-steps.ts'
import { StartFailure } from '#kubelet/pod-worker/runtime-helper.ts'
import {
  type ContainerSecurityContext,
  type NamespaceOption,
  namespaceModes,
  profileTypes,
  type SandboxSecurityContext,
  type SecurityProfile,
  supplementalGroupsPolicies,
  type UserNamespace,
} from '#wire/cri/cri-types.ts'

/** The user an image was made for: by number, or by name alone. */
export type ImageUser = { uid?: number; username: string }

export type SecurityOptions = {
  /** Where profiles named by pods lie. */
  seccompDirectory: string
  /** What containers get that name no profile. */
  defaultSeccomp: 'Unconfined' | 'RuntimeDefault'
}

export function namespacesOf({ spec }: V1Pod, userNamespace: UserNamespace | undefined): NamespaceOption {
  const { pod, container, node } = namespaceModes
  return {
    network: spec.hostNetwork ? node : pod,
    ipc: spec.hostIPC ? node : pod,
    pid: spec.hostPID ? node : spec.shareProcessNamespace ? pod : container,
    ...defined({ usernsOptions: userNamespace }),
  }
}

export function sandboxSecurityContext(pod: V1Pod, userNamespace: UserNamespace | undefined): SandboxSecurityContext {
  const { securityContext = {}, containers, initContainers = [] } = pod.spec
  const { runAsUser, runAsGroup, seLinuxOptions, supplementalGroupsPolicy } = securityContext
  return {
    namespaceOptions: namespacesOf(pod, userNamespace),
    privileged: [...initContainers, ...containers].some((container) => container.securityContext?.privileged === true),
    // The sandbox's own process needs no more, whatever the containers are given.
    seccomp: { profileType: profileTypes.RuntimeDefault },
    supplementalGroups: groupsOf(pod, []),
    ...defined({
      runAsUser: runAsUser === undefined ? undefined : { value: runAsUser },
      runAsGroup: runAsGroup === undefined ? undefined : { value: runAsGroup },
    }),
    ...defined({ selinuxOptions: seLinuxOptions }),
    ...groupsPolicy(supplementalGroupsPolicy),
  }
}

export function containerSecurityContext(
  pod: V1Pod,
  container: V1Container,
  context: { imageUser: ImageUser; namespaces: NamespaceOption; volumeGroups: readonly number[] },
  options: SecurityOptions,
): ContainerSecurityContext {
  const effective = effectiveSecurityContext(pod, container)
  const { capabilities, privileged, readOnlyRootFilesystem, allowPrivilegeEscalation, seLinuxOptions } = effective
  const isUnmasked = effective.procMount === 'Unmasked'
  return {
    namespaceOptions: context.namespaces,
    privileged: privileged ?? false,
    readonlyRootfs: readOnlyRootFilesystem ?? false,
    noNewPrivs: allowPrivilegeEscalation === false,
    supplementalGroups: groupsOf(pod, context.volumeGroups),
    maskedPaths: isUnmasked ? [] : maskedPaths,
    readonlyPaths: isUnmasked ? [] : readonlyPaths,
    seccomp: seccompProfile(pod, container, options),
    ...userOf(effective, context.imageUser),
    ...defined({
      capabilities:
        capabilities === undefined
          ? undefined
          : { addCapabilities: [...(capabilities.add ?? [])], dropCapabilities: [...(capabilities.drop ?? [])] },
    }),
    ...defined({ selinuxOptions: seLinuxOptions }),
    ...appArmorProfile(pod, container),
    ...groupsPolicy(pod.spec.securityContext?.supplementalGroupsPolicy),
  }
}

/** The container's own word counts before the pod's. */
function effectiveSecurityContext({ spec }: V1Pod, { securityContext = {} }: V1Container): V1SecurityContext {
  const { seLinuxOptions, runAsUser, runAsGroup, runAsNonRoot } = spec.securityContext ?? {}
  const ofPod = Object.entries({ seLinuxOptions, runAsUser, runAsGroup, runAsNonRoot }).filter(([, value]) => value !== undefined)
  const own = Object.entries(securityContext).filter(([, value]) => value !== undefined && value !== null)
  return Object.fromEntries([...ofPod, ...own]) as V1SecurityContext
}

/** Throws where a container that must not be root's would be, or nobody can tell. */
export function verifyNonRoot(pod: V1Pod, container: V1Container, { uid, username }: ImageUser): void {
  const { runAsNonRoot, runAsUser } = effectiveSecurityContext(pod, container)
  if (!runAsNonRoot) return
  const where = `(pod: "${podText(pod.metadata)}", container: ${container.name})`
  const refuse = (message: string): never => {
    throw new StartFailure('CreateContainerConfigError', `${message} ${where}`)
  }
  if (runAsUser !== undefined) {
    if (runAsUser === 0) refuse("container's runAsUser breaks non-root policy")
  } else if (uid === undefined && username !== '') {
    refuse(`container has runAsNonRoot and image has non-numeric user (${username}), cannot verify user is non-root`)
  } else if (uid === 0) {
    refuse('container has runAsNonRoot and image will run as root')
  }
}

function userOf({ runAsUser, runAsGroup }: V1SecurityContext, { uid, username }: ImageUser): ContainerSecurityContext {
  const group = runAsGroup === undefined ? {} : { runAsGroup: { value: runAsGroup } }
  if (runAsUser !== undefined) return { runAsUser: { value: runAsUser }, ...group }
  return { ...(uid === undefined ? { runAsUsername: username } : { runAsUser: { value: uid } }), ...group }
}

function groupsOf({ spec }: V1Pod, volumeGroups: readonly number[]): number[] {
  const { fsGroup, supplementalGroups = [] } = spec.securityContext ?? {}
  return [...(fsGroup === undefined ? [] : [fsGroup]), ...supplementalGroups, ...volumeGroups]
}

function groupsPolicy(policy: string | undefined): { supplementalGroupsPolicy?: number } {
  return policy === undefined ? {} : { supplementalGroupsPolicy: policy === 'Strict' ? supplementalGroupsPolicies.Strict : 0 }
}

function seccompProfile({ spec }: V1Pod, { securityContext }: V1Container, options: SecurityOptions): SecurityProfile {
  const profile: V1SeccompProfile | undefined = securityContext?.seccompProfile ?? spec.securityContext?.seccompProfile
  const { type = options.defaultSeccomp, localhostProfile = '' } = profile ?? {}
  if (type !== 'Localhost') return { profileType: type === 'RuntimeDefault' ? profileTypes.RuntimeDefault : profileTypes.Unconfined }
  if (localhostProfile === '') {
    throw new StartFailure('CreateContainerConfigError', 'localhostProfile must be set if seccompProfile type is Localhost.')
  }
  return { profileType: profileTypes.Localhost, localhostRef: join(options.seccompDirectory, localhostProfile) }
}

function appArmorProfile(
  { spec, metadata }: V1Pod,
  { securityContext, name }: V1Container,
): { apparmor?: SecurityProfile; apparmorProfile?: string } {
  const field = securityContext?.appArmorProfile
  const annotation = metadata.annotations?.[`container.apparmor.security.beta.kubernetes.io/${name}`]
  const profile = field ?? appArmorOfAnnotation(annotation) ?? spec.securityContext?.appArmorProfile
  if (profile === undefined) return {}
  const { type, localhostProfile = '' } = profile
  // Runtimes of before the profile had a message of its own read the text.
  if (type === 'RuntimeDefault') return { apparmor: { profileType: profileTypes.RuntimeDefault }, apparmorProfile: 'runtime/default' }
  if (type === 'Unconfined') return { apparmor: { profileType: profileTypes.Unconfined }, apparmorProfile: 'unconfined' }
  if (localhostProfile === '') {
    const message = 'missing localhost apparmor profile name'
    throw new StartFailure('CreateContainerConfigError', message)
  }
  return {
    apparmor: { profileType: profileTypes.Localhost, localhostRef: localhostProfile },
    apparmorProfile: `localhost/${localhostProfile}`,
  }
}

function appArmorOfAnnotation(text: string | undefined): { type: string; localhostProfile?: string } | undefined {
  if (text === undefined || text === '') return undefined
  if (text === 'runtime/default') return { type: 'RuntimeDefault' }
  if (text.startsWith('localhost/')) return { type: 'Localhost', localhostProfile: text.slice('localhost/'.length) }
  return { type: 'Unconfined' }
}

const maskedPaths = [
  '/proc/asound',
  '/proc/acpi',
  '/proc/interrupts',
  '/proc/kcore',
  '/proc/keys',
  '/proc/latency_stats',
  '/proc/timer_list',
  '/proc/timer_stats',
  '/proc/sched_debug',
  '/proc/scsi',
  '/sys/firmware',
  '/sys/devices/virtual/powercap',
]
const readonlyPaths = ['/proc/bus', '/proc/fs', '/proc/irq', '/proc/sys', '/proc/sysrq-trigger']
