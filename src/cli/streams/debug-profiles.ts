/** The profiles of `kubectl debug`: what the container may do, and what a copy of a pod keeps. */
import type { V1Container, V1Pod, V1SecurityContext } from '#api/core/v1/types.gen.ts'
import type { Flags } from '#cli/flags/flags.ts'

export type Profile = 'legacy' | 'general' | 'baseline' | 'restricted' | 'netadmin' | 'sysadmin'
export const profiles: readonly string[] = ['legacy', 'general', 'baseline', 'restricted', 'netadmin', 'sysadmin']

/** What is made: a further container in a running pod, a copy of a pod, or a pod on a node. */
export type DebugStyle = 'ephemeral' | 'copy' | 'node'

/** Changes `pod` and its container in place. */
export function applyProfile(profile: Profile, style: DebugStyle, pod: V1Pod, container: V1Container, flags: Flags): void {
  restrict(profile, style, container)
  const { spec } = pod
  if (spec === undefined) return
  if (style === 'node') {
    if (profile === 'baseline' || profile === 'restricted') return
    Object.assign(spec, { hostNetwork: true, hostPID: true, hostIPC: true })
    if (profile === 'netadmin') return
    spec.volumes = [...(spec.volumes ?? []), { name: 'host-root', hostPath: { path: '/' } }]
    container.volumeMounts = [...(container.volumeMounts ?? []), { name: 'host-root', mountPath: '/host' }]
  } else if (style === 'copy') {
    if (profile === 'legacy') delete pod.metadata?.labels
    else {
      strip(pod, flags)
      spec.shareProcessNamespace ??= true
    }
  }
}

function restrict(profile: Profile, style: DebugStyle, container: V1Container): void {
  switch (profile) {
    case 'general':
      if (style === 'node') delete container.securityContext
      else addCapabilities(container, 'SYS_PTRACE')
      return
    case 'baseline':
      delete container.securityContext
      return
    case 'restricted':
      container.securityContext = {
        allowPrivilegeEscalation: false,
        capabilities: { drop: ['ALL'] },
        runAsNonRoot: true,
        seccompProfile: { type: 'RuntimeDefault' },
      }
      return
    case 'netadmin':
      addCapabilities(container, 'NET_ADMIN', 'NET_RAW')
      return
    case 'sysadmin':
      container.securityContext = { ...container.securityContext, privileged: true }
      return
    default:
      return
  }
}

function addCapabilities(container: V1Container, ...names: string[]): void {
  const context: V1SecurityContext = container.securityContext ?? {}
  container.securityContext = {
    ...context,
    capabilities: { ...context.capabilities, add: [...(context.capabilities?.add ?? []), ...names] },
  }
}

/** What would make the copy take the place of the pod that it was made of. */
function strip(pod: V1Pod, flags: Flags): void {
  if (!flags.isOn('keep-labels')) delete pod.metadata?.labels
  if (!flags.isOn('keep-annotations')) delete pod.metadata?.annotations
  for (const container of pod.spec?.containers ?? []) {
    if (!flags.isOn('keep-liveness')) delete container.livenessProbe
    if (!flags.isOn('keep-readiness')) delete container.readinessProbe
    if (!flags.isOn('keep-startup')) delete container.startupProbe
  }
  if (!flags.isOn('keep-init-containers')) delete pod.spec?.initContainers
}
