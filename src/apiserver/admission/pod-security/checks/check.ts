/** What a rule of a standard is made of. */
import type { AnyContainer } from '#api/core/v1/pod-spec/all-containers.ts'
import type { V1PodSpec } from '#api/core/v1/types.gen.ts'
import type { V1ObjectMeta } from '#api/meta/v1/types.gen.ts'
import type { Level } from '#apiserver/admission/pod-security/level-version.ts'

export type Violation = {
  /** Short: `hostPort`. */
  readonly reason: string
  /** Who does it, and how: `container "web" uses hostPort 80`. */
  readonly detail: string
}

export type CheckPod = (spec: V1PodSpec, metadata: V1ObjectMeta) => Violation | undefined

/** A rule, and how it changed over the versions of Kubernetes. */
export type PodCheck = {
  readonly id: string
  readonly level: Exclude<Level, 'privileged'>
  /** Ascending. */
  readonly versions: readonly {
    readonly since: number
    readonly check: CheckPod
    /** Rules of the baseline that this stricter one makes superfluous. */
    readonly overrides?: readonly string[]
  }[]
}

/** In the order in which messages name them: init containers first. */
export function containersOf({ initContainers, containers, ephemeralContainers }: V1PodSpec): AnyContainer[] {
  return [...(initContainers ?? []), ...(containers ?? []), ...(ephemeralContainers ?? [])]
}

export function namesWhere(spec: V1PodSpec, holds: (container: AnyContainer) => boolean): string[] {
  return containersOf(spec)
    .filter(holds)
    .map(({ name }) => name)
}

export const quotedList = (names: readonly string[]): string => names.map((name) => `"${name}"`).join(', ')

export const plural = (word: string, count: number, words = `${word}s`): string => (count === 1 ? word : words)

/** `containers "a", "b"`. */
export const containersText = (names: readonly string[]): string => `${plural('container', names.length)} ${quotedList(names)}`

/** `pod and container "a"`. */
export function settersText(isPod: boolean, containers: readonly string[]): string {
  return [...(isPod ? ['pod'] : []), ...(containers.length > 0 ? [containersText(containers)] : [])].join(' and ')
}

export const sortedSet = (values: Iterable<string>): string[] => [...new Set(values)].sort()

/** User namespaces make root on the inside harmless outside. */
export const hasOwnUsers = ({ hostUsers }: V1PodSpec): boolean => hostUsers === false

export const isWindows = ({ os }: V1PodSpec): boolean => os?.name === 'windows'

export const unless =
  (isExempt: (spec: V1PodSpec) => boolean, check: CheckPod): CheckPod =>
  (spec, metadata) =>
    isExempt(spec) ? undefined : check(spec, metadata)
