/** What a pod gets from a policy where it does not say itself. */

import { type AnyContainer, eachContainer } from '#api/core/v1/pod-spec/all-containers.ts'
import type { V1Capabilities, V1Pod, V1PodSecurityContext, V1SecurityContext } from '#api/core/v1/types.gen.ts'
import type {
  V1beta1IdStrategy,
  V1beta1PodSecurityPolicy,
  V1beta1PodSecurityPolicySpec,
} from '#api/policy/v1beta1/pod-security-policy-types.ts'
import {
  annotationOfProfile,
  appArmorPrefix,
  profileOfAnnotation,
  seccompPodAnnotation,
} from '#apiserver/admission/pod-security-policy/profiles.ts'
import { defined } from '#base/defined.ts'

const defaultSeccomp = 'seccomp.security.alpha.kubernetes.io/defaultProfileName'
const defaultAppArmor = 'apparmor.security.beta.kubernetes.io/defaultProfileName'

/** Changes the pod in place. */
export function fillIn(pod: V1Pod, { metadata, spec: policy }: V1beta1PodSecurityPolicy): void {
  const { spec } = pod
  const context: V1PodSecurityContext = { ...spec.securityContext }
  const annotations: Record<string, string> = { ...pod.metadata.annotations }
  const [group, supplementalGroup] = [firstId(policy.fsGroup), firstId(policy.supplementalGroups)]
  if (context.supplementalGroups === undefined && supplementalGroup !== undefined) context.supplementalGroups = [supplementalGroup]
  if (context.fsGroup === undefined && group !== undefined) context.fsGroup = group
  if (context.seLinuxOptions === undefined && requiredSeLinux(policy)) context.seLinuxOptions = { ...requiredSeLinux(policy) }
  const seccomp = annotations[seccompPodAnnotation] || annotationOfProfile(context.seccompProfile) || metadata.annotations?.[defaultSeccomp]
  if (seccomp) {
    annotations[seccompPodAnnotation] = seccomp
    const profile = profileOfAnnotation(seccomp)
    if (context.seccompProfile === undefined && profile !== undefined) context.seccompProfile = profile
  }
  if (Object.keys(context).length > 0) spec.securityContext = context
  const defaultRuntime = policy.runtimeClass?.defaultRuntimeClassName
  if (spec.runtimeClassName === undefined && defaultRuntime !== undefined) spec.runtimeClassName = defaultRuntime

  const appArmor = metadata.annotations?.[defaultAppArmor]
  eachContainer(spec, (container) => {
    fillInContainer(container, context, policy)
    if (appArmor) annotations[appArmorPrefix + container.name] ||= appArmor
  })
  if (Object.keys(annotations).length > 0) pod.metadata.annotations = annotations
}

function fillInContainer(container: AnyContainer, ofPod: V1PodSecurityContext, policy: V1beta1PodSecurityPolicySpec): void {
  const context: V1SecurityContext = { ...container.securityContext }
  const user = firstId(policy.runAsUser)
  const group = policy.runAsGroup && firstId(policy.runAsGroup)
  if ((context.runAsUser ?? ofPod.runAsUser) === undefined && user !== undefined) context.runAsUser = user
  if ((context.runAsGroup ?? ofPod.runAsGroup) === undefined && group !== undefined) context.runAsGroup = group
  const isSilent = (context.runAsNonRoot ?? ofPod.runAsNonRoot ?? context.runAsUser ?? ofPod.runAsUser) === undefined
  if (isSilent && policy.runAsUser.rule === 'MustRunAsNonRoot') context.runAsNonRoot = true
  const capabilities = capabilitiesFor(context.capabilities, policy)
  if (capabilities !== undefined) context.capabilities = capabilities
  if (policy.readOnlyRootFilesystem) context.readOnlyRootFilesystem ??= true
  const mayEscalate = policy.defaultAllowPrivilegeEscalation ?? (policy.allowPrivilegeEscalation === false ? false : undefined)
  if (context.allowPrivilegeEscalation === undefined && mayEscalate !== undefined) context.allowPrivilegeEscalation = mayEscalate
  if (Object.keys(context).length > 0) container.securityContext = context
}

const requiredSeLinux = ({ seLinux }: V1beta1PodSecurityPolicySpec) => (seLinux.rule === 'MustRunAs' ? seLinux.seLinuxOptions : undefined)

const firstId = ({ rule, ranges }: V1beta1IdStrategy): number | undefined => (rule === 'MustRunAs' ? ranges?.[0]?.min : undefined)

function capabilitiesFor(own: V1Capabilities | undefined, policy: V1beta1PodSecurityPolicySpec): V1Capabilities | undefined {
  const [ownAdd, ownDrop] = [new Set(own?.add), new Set(own?.drop)]
  const add = ownAdd.union(new Set(policy.defaultAddCapabilities).difference(ownDrop))
  const drop = ownDrop.union(new Set(policy.requiredDropCapabilities))
  if (add.size === ownAdd.size && drop.size === ownDrop.size) return own
  return defined({ add: add.size > 0 ? [...add].sort() : undefined, drop: drop.size > 0 ? [...drop].sort() : undefined })
}
