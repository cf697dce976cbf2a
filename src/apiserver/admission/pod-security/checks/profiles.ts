/** The profiles by which the kernel holds processes in check: seccomp, AppArmor, SELinux. */
import type { V1SELinuxOptions } from '#api/core/v1/types.gen.ts'
import { quoted } from '#api/meta/check.ts'
import {
  type CheckPod,
  containersOf,
  containersText,
  isWindows,
  namesWhere,
  type PodCheck,
  plural,
  quotedList,
  settersText,
  sortedSet,
  unless,
  type Violation,
} from '#apiserver/admission/pod-security/checks/check.ts'

type SecurityContext = NonNullable<ReturnType<typeof containersOf>[number]['securityContext']>

const allowedProfiles = ['RuntimeDefault', 'Localhost']

const isForbidden = (profile: { type: string } | undefined): boolean => profile !== undefined && !allowedProfiles.includes(profile.type)

const appArmorPrefix = 'container.apparmor.security.beta.kubernetes.io/'

export const appArmorProfile: PodCheck = {
  id: 'appArmorProfile',
  level: 'baseline',
  versions: [
    {
      since: 0,
      check(spec, { annotations = {} }) {
        const ofPod = spec.securityContext?.appArmorProfile
        const profileOf = (context: SecurityContext | undefined) => context?.appArmorProfile
        const names = namesWhere(spec, ({ securityContext }) => isForbidden(profileOf(securityContext)))
        const ofAll = [ofPod, ...containersOf(spec).map(({ securityContext }) => profileOf(securityContext))]
        const inAnnotations = Object.entries(annotations)
          .filter(([key, value]) => key.startsWith(appArmorPrefix) && !/^(|runtime\/default|localhost\/.*)$/s.test(value))
          .map(([key, value]) => `${key}=${quoted(value)}`)
          .sort()
        const setters = [
          ...(isForbidden(ofPod) || names.length > 0 ? [settersText(isForbidden(ofPod), names)] : []),
          ...(inAnnotations.length > 0 ? [plural('annotation', inAnnotations.length)] : []),
        ]
        if (setters.length === 0) return undefined
        const values = [...sortedSet(ofAll.filter(isForbidden).map((profile) => profile?.type ?? '')), ...inAnnotations]
        return {
          reason: plural('forbidden AppArmor profile', values.length),
          detail: `${setters.join(' and ')} must not set AppArmor profile type to ${quotedList(values)}`,
        }
      },
    },
  ],
}

const seccompPodAnnotation = 'seccomp.security.alpha.kubernetes.io/pod'
const seccompContainerPrefix = 'container.seccomp.security.alpha.kubernetes.io/'

/** Before the field there were annotations. */
const seccompAnnotations: CheckPod = (spec, { annotations = {} }) => {
  const keys = [seccompPodAnnotation, ...containersOf(spec).map(({ name }) => seccompContainerPrefix + name)]
  const forbidden = sortedSet(
    keys.flatMap((key) => {
      const value = annotations[key]
      return value === undefined || /^(runtime\/default|docker\/default|localhost\/.*)$/s.test(value) ? [] : [`${key}=${quoted(value)}`]
    }),
  )
  if (forbidden.length === 0) return undefined
  return { reason: 'seccompProfile', detail: `forbidden ${plural('annotation', forbidden.length)} ${forbidden.join(', ')}` }
}

const forbiddenSeccomp: CheckPod = (spec): Violation | undefined => {
  const ofPod = spec.securityContext?.seccompProfile
  const names = namesWhere(spec, ({ securityContext }) => isForbidden(securityContext?.seccompProfile))
  if (!isForbidden(ofPod) && names.length === 0) return undefined
  const ofAll = [ofPod, ...containersOf(spec).map(({ securityContext }) => securityContext?.seccompProfile)]
  const values = sortedSet(ofAll.filter(isForbidden).map((profile) => profile?.type ?? ''))
  const setters = settersText(isForbidden(ofPod), names)
  return { reason: 'seccompProfile', detail: `${setters} must not set securityContext.seccompProfile.type to ${quotedList(values)}` }
}

const mustSetSeccomp: CheckPod = (spec, metadata) => {
  const forbidden = forbiddenSeccomp(spec, metadata)
  if (forbidden !== undefined || spec.securityContext?.seccompProfile !== undefined) return forbidden
  const silent = namesWhere(spec, ({ securityContext }) => securityContext?.seccompProfile === undefined)
  if (silent.length === 0) return undefined
  const allowed = '"RuntimeDefault" or "Localhost"'
  return { reason: 'seccompProfile', detail: `pod or ${containersText(silent)} must set securityContext.seccompProfile.type to ${allowed}` }
}

export const seccompProfileBaseline: PodCheck = {
  id: 'seccompProfile_baseline',
  level: 'baseline',
  versions: [
    { since: 0, check: seccompAnnotations },
    { since: 19, check: forbiddenSeccomp },
  ],
}

export const seccompProfileRestricted: PodCheck = {
  id: 'seccompProfile_restricted',
  level: 'restricted',
  versions: [
    { since: 19, check: mustSetSeccomp, overrides: ['seccompProfile_baseline'] },
    { since: 25, check: unless(isWindows, mustSetSeccomp), overrides: ['seccompProfile_baseline'] },
  ],
}

const seLinuxTypes = ['', 'container_t', 'container_init_t', 'container_kvm_t']

const forbiddenSeLinux =
  (allowedTypes: readonly string[]): CheckPod =>
  (spec) => {
    const isWrong = (options: V1SELinuxOptions | undefined) =>
      options !== undefined && (!allowedTypes.includes(options.type ?? '') || Boolean(options.user) || Boolean(options.role))
    const ofPod = spec.securityContext?.seLinuxOptions
    const names = namesWhere(spec, ({ securityContext }) => isWrong(securityContext?.seLinuxOptions))
    if (!isWrong(ofPod) && names.length === 0) return undefined
    const wrong = [ofPod, ...containersOf(spec).map(({ securityContext }) => securityContext?.seLinuxOptions)].filter(isWrong)
    const types = sortedSet(wrong.map((options) => options?.type ?? '').filter((type) => !allowedTypes.includes(type)))
    const faults = [
      ...(types.length > 0 ? [`${plural('type', types.length)} ${quotedList(types)}`] : []),
      ...(wrong.some((options) => options?.user) ? ['user may not be set'] : []),
      ...(wrong.some((options) => options?.role) ? ['role may not be set'] : []),
    ]
    const setters = settersText(isWrong(ofPod), names)
    return { reason: 'seLinuxOptions', detail: `${setters} set forbidden securityContext.seLinuxOptions: ${faults.join('; ')}` }
  }

export const seLinuxOptions: PodCheck = {
  id: 'seLinuxOptions',
  level: 'baseline',
  versions: [
    { since: 0, check: forbiddenSeLinux(seLinuxTypes) },
    { since: 31, check: forbiddenSeLinux([...seLinuxTypes, 'container_engine_t']) },
  ],
}
