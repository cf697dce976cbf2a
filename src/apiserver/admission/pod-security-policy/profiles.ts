/** Profiles of seccomp and AppArmor, which policies know as texts in annotations. */

import type { AnyContainer } from '#api/core/v1/pod-spec/all-containers.ts'
import type { V1Pod, V1SeccompProfile } from '#api/core/v1/types.gen.ts'
import { type Check, quoted } from '#api/meta/check.ts'
import type { V1beta1PodSecurityPolicy } from '#api/policy/v1beta1/pod-security-policy-types.ts'

export const seccompPodAnnotation = 'seccomp.security.alpha.kubernetes.io/pod'
const seccompContainerPrefix = 'container.seccomp.security.alpha.kubernetes.io/'
const allowedSeccomp = 'seccomp.security.alpha.kubernetes.io/allowedProfileNames'
export const appArmorPrefix = 'container.apparmor.security.beta.kubernetes.io/'
const allowedAppArmor = 'apparmor.security.beta.kubernetes.io/allowedProfileNames'

export function annotationOfProfile(profile: V1SeccompProfile | undefined): string {
  switch (profile?.type) {
    case 'RuntimeDefault':
      return 'runtime/default'
    case 'Unconfined':
      return 'unconfined'
    case 'Localhost':
      return `localhost/${profile.localhostProfile ?? ''}`
    default:
      return ''
  }
}

export function profileOfAnnotation(text: string): V1SeccompProfile | undefined {
  if (text === 'runtime/default' || text === 'docker/default') return { type: 'RuntimeDefault' }
  if (text === 'unconfined') return { type: 'Unconfined' }
  return text.startsWith('localhost/') ? { type: 'Localhost', localhostProfile: text.slice('localhost/'.length) } : undefined
}

/** `check` stands at the root. */
export function checkSeccompOfPod(pod: V1Pod, policy: V1beta1PodSecurityPolicy, check: Check<V1Pod>): void {
  const profile = pod.metadata.annotations?.[seccompPodAnnotation] || annotationOfProfile(pod.spec.securityContext?.seccompProfile)
  checkSeccomp(profile, policy, check.dynamic('pod').at('metadata').at('annotations').key(seccompPodAnnotation))
}

export function checkSeccompOfContainer(pod: V1Pod, container: AnyContainer, policy: V1beta1PodSecurityPolicy, check: Check<V1Pod>): void {
  const { annotations = {} } = pod.metadata
  const key = seccompContainerPrefix + container.name
  const profile =
    annotationOfProfile(container.securityContext?.seccompProfile) ||
    (annotations[key] ?? (annotationOfProfile(pod.spec.securityContext?.seccompProfile) || (annotations[seccompPodAnnotation] ?? '')))
  checkSeccomp(profile, policy, check.dynamic('pod').at('metadata').at('annotations').key(key))
}

function checkSeccomp(profile: string, { metadata }: V1beta1PodSecurityPolicy, check: Check<unknown>): void {
  const text = metadata.annotations?.[allowedSeccomp]
  const allowed = new Set(text?.split(','))
  if (allowed.has('*')) return
  if (allowed.has('docker/default') || allowed.has('runtime/default')) allowed.add('docker/default').add('runtime/default')
  if (allowed.size === 0) {
    if (profile !== '') check.forbidden('seccomp may not be set')
  } else if (!allowed.has(profile)) check.forbidden(`${profile} is not an allowed seccomp profile. Valid values are ${text}`)
}

export function checkAppArmor(pod: V1Pod, container: AnyContainer, { metadata }: V1beta1PodSecurityPolicy, check: Check<V1Pod>): void {
  const text = metadata.annotations?.[allowedAppArmor]
  if (text === undefined) return
  const key = appArmorPrefix + container.name
  const profile = pod.metadata.annotations?.[key] ?? ''
  const place = check.dynamic('pod').at('metadata').at('annotations').key(key)
  if (profile === '') place.forbidden('AppArmor profile must be set')
  else if (!text.split(',').includes(profile)) place.forbidden(`${profile} is not an allowed profile. Allowed values: ${quoted(text)}`)
}
