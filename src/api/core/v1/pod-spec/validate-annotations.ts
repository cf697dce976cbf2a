/** Judges the annotations that mean something to pods. `check` stands at the annotations. */
import { jsonSyntaxError } from '#api/codec/json-syntax-error.ts'
import { checkAtContainer, eachContainer, someContainer } from '#api/core/v1/pod-spec/all-containers.ts'
import { validateDescendingPath } from '#api/core/v1/pod-spec/paths.ts'
import { validateTolerations } from '#api/core/v1/pod-spec/validate-tolerations.ts'
import type { PodValidationOptions } from '#api/core/v1/pod-spec/validation-options.ts'
import type { V1AppArmorProfile, V1PodSpec, V1SeccompProfile, V1Toleration } from '#api/core/v1/types.gen.ts'
import { type Check, quoted } from '#api/meta/check.ts'

export const mirrorPodAnnotation = 'kubernetes.io/config.mirror'
const deletionCostAnnotation = 'controller.kubernetes.io/pod-deletion-cost'
export const seccompPodAnnotation = 'seccomp.security.alpha.kubernetes.io/pod'
export const seccompContainerPrefix = 'container.seccomp.security.alpha.kubernetes.io/'
export const appArmorContainerPrefix = 'container.apparmor.security.beta.kubernetes.io/'
const tolerationsAnnotation = 'scheduler.alpha.kubernetes.io/tolerations'

const localhostPrefix = 'localhost/'

type Annotations = { readonly [key: string]: string } | undefined

export function validatePodAnnotations(annotations: Annotations, spec: V1PodSpec, check: Check, options: PodValidationOptions): void {
  if (annotations === undefined) return
  const mirrorOf = annotations[mirrorPodAnnotation]
  if (mirrorOf !== undefined && !spec.nodeName) {
    check.key(mirrorPodAnnotation).invalid(mirrorOf, 'must set spec.nodeName if mirror pod annotation is set')
  }
  if (annotations[tolerationsAnnotation]) validateTolerationsAnnotation(annotations[tolerationsAnnotation], check, options)
  if (!options.allowInvalidPodDeletionCost && !isDeletionCost(annotations)) {
    check.key(deletionCostAnnotation).invalid(annotations[deletionCostAnnotation], 'must be a 32bit integer')
  }
  validateSeccompAnnotations(annotations, check)
  validateAppArmorAnnotations(annotations, spec, check)
}

/** On update: some annotations are read once, when the pod starts. */
export function validatePodAnnotationsUpdate(
  next: Annotations,
  prev: Annotations,
  spec: V1PodSpec,
  check: Check,
  options: PodValidationOptions,
): void {
  for (const [key, value] of Object.entries(prev ?? {})) {
    if (next?.[key] === value) continue
    if (key.startsWith(appArmorContainerPrefix)) check.key(key).forbidden('may not remove or update AppArmor annotations')
    if (key === mirrorPodAnnotation) check.key(key).forbidden('may not remove or update mirror pod annotation')
  }
  for (const key in next) {
    if (prev?.[key] !== undefined) continue
    if (key.startsWith(appArmorContainerPrefix)) check.key(key).forbidden('may not add AppArmor annotations')
    if (key === mirrorPodAnnotation) check.key(key).forbidden('may not add mirror pod annotation')
  }
  validatePodAnnotations(next, spec, check, options)
}

/** Absent, or a number of 32 bits that does not start with a plus or a zero too many. */
export function isDeletionCost(annotations: Annotations): boolean {
  const cost = annotations?.[deletionCostAnnotation]
  if (cost === undefined || cost === '0') return true
  return /^(?:-[0-9]+|[1-9][0-9]*)$/.test(cost) && Number(cost) >= -(2 ** 31) && Number(cost) < 2 ** 31
}

function validateTolerationsAnnotation(text: string, check: Check, options: PodValidationOptions): void {
  const error = jsonSyntaxError(Buffer.from(text))
  if (error !== undefined) {
    check.invalid(tolerationsAnnotation, error)
    return
  }
  const parsed: unknown = JSON.parse(text)
  if (Array.isArray(parsed)) validateTolerations(parsed.map(withLoweredKeys), check.at(tolerationsAnnotation), options)
}

/** The keys were written by many hands: `Key`, `key`. */
function withLoweredKeys(toleration: unknown): V1Toleration {
  const entries = Object.entries((toleration ?? {}) as Record<string, unknown>)
  return Object.fromEntries(entries.map(([key, value]) => [`${key.charAt(0).toLowerCase()}${key.slice(1)}`, value])) as V1Toleration
}

function validateSeccompAnnotations(annotations: NonNullable<Annotations>, check: Check): void {
  const ofPod = annotations[seccompPodAnnotation]
  if (ofPod !== undefined) validateSeccompName(ofPod, check.at(seccompPodAnnotation))
  for (const key in annotations) {
    if (key.startsWith(seccompContainerPrefix)) validateSeccompName(annotations[key] ?? '', check.at(key))
  }
}

export function validateSeccompName(name: string, check: Check): void {
  if (name === 'runtime/default' || name === 'docker/default' || name === 'unconfined') return
  if (name.startsWith(localhostPrefix)) validateDescendingPath(name.slice(localhostPrefix.length), check)
  else check.invalid(name, 'must be a valid seccomp profile')
}

function validateAppArmorAnnotations(annotations: NonNullable<Annotations>, spec: V1PodSpec, check: Check): void {
  for (const key in annotations) {
    if (!key.startsWith(appArmorContainerPrefix)) continue
    const container = key.slice(appArmorContainerPrefix.length)
    if (!someContainer(spec, ({ name }) => name === container)) check.key(key).invalid(container, 'container not found')
    const profile = annotations[key] ?? ''
    if (profile === '' || profile === 'runtime/default' || profile === 'unconfined' || profile.startsWith(localhostPrefix)) continue
    check.key(key).invalid(profile, `invalid AppArmor profile name: ${quoted(profile)}`)
  }
}

/** What an annotation of old says in terms of the field. */
export function appArmorProfileOf(annotation: string): V1AppArmorProfile | undefined {
  if (annotation === 'unconfined') return { type: 'Unconfined' }
  if (annotation === 'runtime/default') return { type: 'RuntimeDefault' }
  if (!annotation.startsWith(localhostPrefix) || annotation === localhostPrefix) return undefined
  return { type: 'Localhost', localhostProfile: annotation.slice(localhostPrefix.length) }
}

/** Annotations and fields that tell the same must tell the same. `check` stands at the spec. */
export function validateProfilesMatch(annotations: Annotations, spec: V1PodSpec, check: Check): void {
  if (annotations === undefined) return
  const ofPod = spec.securityContext?.seccompProfile
  const seccompOfPod = annotations[seccompPodAnnotation]
  if (ofPod && seccompOfPod !== undefined) validateMatch('seccomp', seccompOfPod, ofPod, check.at('securityContext.seccompProfile'))
  eachContainer(spec, (container, list, index) => {
    const profile = container.securityContext?.seccompProfile
    const annotation = annotations[seccompContainerPrefix + container.name]
    if (!profile || annotation === undefined) return
    validateMatch('seccomp', annotation, profile, checkAtContainer(check, list, index).at('securityContext.seccompProfile'))
  })
  if (spec.os?.name === 'windows') return
  eachContainer(spec, (container, list, index) => {
    const profile = container.securityContext?.appArmorProfile ?? spec.securityContext?.appArmorProfile
    const annotation = annotations[appArmorContainerPrefix + container.name]
    if (!profile || annotation === undefined) return
    validateMatch('apparmor', annotation, profile, checkAtContainer(check, list, index).at('securityContext.appArmorProfile'))
  })
}

function validateMatch(
  kind: 'seccomp' | 'apparmor',
  annotation: string,
  profile: V1SeccompProfile | V1AppArmorProfile,
  check: Check,
): void {
  const isSameType =
    profile.type === 'Unconfined'
      ? annotation === 'unconfined'
      : profile.type === 'RuntimeDefault'
        ? annotation === 'runtime/default' || (kind === 'seccomp' && annotation === 'docker/default')
        : profile.type !== 'Localhost' || annotation.startsWith(localhostPrefix)
  if (!isSameType) check.at('type').forbidden(`${kind} type in annotation and field must match`)
  else if (profile.type === 'Localhost' && annotation.slice(localhostPrefix.length) !== profile.localhostProfile) {
    check.at('localhostProfile').forbidden(`${kind} profile in annotation and field must match`)
  }
}
