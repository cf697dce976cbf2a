/** Validates the annotations that mean something to pods. `check` stands at the annotations. */
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

export function validatePodAnnotations(check: Check<Annotations>, spec: V1PodSpec, options: PodValidationOptions): void {
  const annotations = check.value
  if (annotations === undefined) return
  const mirrorOf = annotations[mirrorPodAnnotation]
  if (mirrorOf !== undefined && !spec.nodeName) {
    check.key(mirrorPodAnnotation).invalid('must set spec.nodeName if mirror pod annotation is set')
  }
  if (annotations[tolerationsAnnotation]) validateTolerationsAnnotation(annotations[tolerationsAnnotation], check, options)
  if (!options.allowInvalidPodDeletionCost && !isDeletionCost(annotations)) {
    check.key(deletionCostAnnotation).invalid('must be a 32bit integer')
  }
  validateSeccompAnnotations(check.present)
  validateAppArmorAnnotations(check.present, spec)
}

/** On update: some annotations are read once, when the pod starts. */
export function validatePodAnnotationsUpdate(
  check: Check<Annotations>,
  prev: Annotations,
  spec: V1PodSpec,
  options: PodValidationOptions,
): void {
  const next = check.value
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
  validatePodAnnotations(check, spec, options)
}

/** Absent, or a number of 32 bits that does not start with a plus or a zero too many. */
export function isDeletionCost(annotations: Annotations): boolean {
  const cost = annotations?.[deletionCostAnnotation]
  if (cost === undefined || cost === '0') return true
  return /^(?:-[0-9]+|[1-9][0-9]*)$/.test(cost) && Number(cost) >= -(2 ** 31) && Number(cost) < 2 ** 31
}

function validateTolerationsAnnotation(text: string, check: Check<Annotations>, options: PodValidationOptions): void {
  const error = jsonSyntaxError(Buffer.from(text))
  if (error !== undefined) {
    check.invalid(error, tolerationsAnnotation)
    return
  }
  const parsed: unknown = JSON.parse(text)
  if (Array.isArray(parsed)) validateTolerations(check.at(tolerationsAnnotation).with(parsed.map(withLoweredKeys)), options)
}

/** The keys were written by many hands: `Key`, `key`. */
function withLoweredKeys(toleration: unknown): V1Toleration {
  const entries = Object.entries((toleration ?? {}) as Record<string, unknown>)
  return Object.fromEntries(entries.map(([key, value]) => [`${key.charAt(0).toLowerCase()}${key.slice(1)}`, value])) as V1Toleration
}

function validateSeccompAnnotations(check: Check<NonNullable<Annotations>>): void {
  const annotations = check.value
  const ofPod = annotations[seccompPodAnnotation]
  if (ofPod !== undefined) validateSeccompName(check.at(seccompPodAnnotation))
  for (const key in annotations) {
    if (key.startsWith(seccompContainerPrefix)) validateSeccompName(check.at(key).or(''))
  }
}

export function validateSeccompName(check: Check<string>): void {
  const name = check.value
  if (name === 'runtime/default' || name === 'docker/default' || name === 'unconfined') return
  if (name.startsWith(localhostPrefix)) validateDescendingPath(check.with(name.slice(localhostPrefix.length)))
  else check.invalid('must be a valid seccomp profile')
}

function validateAppArmorAnnotations(check: Check<NonNullable<Annotations>>, spec: V1PodSpec): void {
  const annotations = check.value
  for (const key in annotations) {
    if (!key.startsWith(appArmorContainerPrefix)) continue
    const container = key.slice(appArmorContainerPrefix.length)
    if (!someContainer(spec, ({ name }) => name === container)) check.key(key).invalid('container not found', container)
    const profile = annotations[key] ?? ''
    if (profile === '' || profile === 'runtime/default' || profile === 'unconfined' || profile.startsWith(localhostPrefix)) continue
    check
      .key(key)
      .or('')
      .invalid(`invalid AppArmor profile name: ${quoted(profile)}`)
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
export function validateProfilesMatch(annotations: Annotations, check: Check<V1PodSpec>): void {
  const spec = check.value
  if (annotations === undefined) return
  const ofPod = spec.securityContext?.seccompProfile
  const seccompOfPod = annotations[seccompPodAnnotation]
  if (ofPod && seccompOfPod !== undefined) validateMatch('seccomp', seccompOfPod, check.at('securityContext').at('seccompProfile').present)
  eachContainer(spec, (container, list, index) => {
    const profile = container.securityContext?.seccompProfile
    const annotation = annotations[seccompContainerPrefix + container.name]
    if (!profile || annotation === undefined) return
    validateMatch('seccomp', annotation, checkAtContainer(check, list, index).at('securityContext').at('seccompProfile').present)
  })
  if (spec.os?.name === 'windows') return
  eachContainer(spec, (container, list, index) => {
    const profile = container.securityContext?.appArmorProfile ?? spec.securityContext?.appArmorProfile
    const annotation = annotations[appArmorContainerPrefix + container.name]
    if (!profile || annotation === undefined) return
    validateMatch('apparmor', annotation, checkAtContainer(check, list, index).at('securityContext').at('appArmorProfile').present)
  })
}

function validateMatch(kind: 'seccomp' | 'apparmor', annotation: string, check: Check<V1SeccompProfile | V1AppArmorProfile>): void {
  const profile = check.value
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
