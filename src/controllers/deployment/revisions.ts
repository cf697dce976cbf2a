/** Which replica set is which revision, written into annotations. */

import { Deployment } from '#api/apps/v1/kinds.gen.ts'
import type { V1Deployment, V1ReplicaSet } from '#api/apps/v1/types.gen.ts'
import type { V1PodTemplateSpec } from '#api/core/v1/types.gen.ts'
import { equalityOf } from '#api/meta/equality.ts'
import { byAge } from '#controllers/workload/pods.ts'

const sameTemplate = equalityOf(Deployment).at('spec').at('template')

export const revisionAnnotation = 'deployment.kubernetes.io/revision'
const historyAnnotation = 'deployment.kubernetes.io/revision-history'
const desiredAnnotation = 'deployment.kubernetes.io/desired-replicas'
const maxAnnotation = 'deployment.kubernetes.io/max-replicas'
export const rollbackAnnotation = 'deprecated.deployment.rollback.to'
export const hashLabel = 'pod-template-hash'

const historyLimitChars = 2000

/** These are the controller's or the client's own business, and not copied between deployments and replica sets. */
const uncopied: ReadonlySet<string> = new Set([
  'kubectl.kubernetes.io/last-applied-configuration',
  revisionAnnotation,
  historyAnnotation,
  desiredAnnotation,
  maxAnnotation,
  rollbackAnnotation,
])

type Annotations = { [name: string]: string }

/** Of 64 bits; 0 where there is none, or one that is no number. */
export function revisionOf({ metadata }: V1ReplicaSet): bigint {
  return int64(metadata.annotations?.[revisionAnnotation] ?? '0') ?? 0n
}

/** Undefined for what is no whole number of 64 bits. */
export function int64(text: string): bigint | undefined {
  if (!/^[+-]?\d{1,20}$/.test(text)) return undefined
  const value = BigInt(text.replace(/^\+/, ''))
  return BigInt.asIntN(64, value) === value ? value : undefined
}

export const byRevision = (left: V1ReplicaSet, right: V1ReplicaSet): number => {
  const [one, other] = [revisionOf(left), revisionOf(right)]
  return one < other ? -1 : one > other ? 1 : 0
}

export function maxRevision(sets: readonly V1ReplicaSet[]): bigint {
  const newest = [...sets].sort(byRevision).at(-1)
  const revision = newest === undefined ? 0n : revisionOf(newest)
  return revision < 0n ? 0n : revision
}

/** The second highest revision: what an undo without a number goes back to. */
export function lastRevision(sets: readonly V1ReplicaSet[]): bigint {
  const [, last] = [...sets].sort(byRevision).reverse()
  return last === undefined ? 0n : revisionOf(last)
}

/** Whether two templates are the same but for the hash label. */
export function isSameTemplate(one: V1PodTemplateSpec, other: V1PodTemplateSpec): boolean {
  return sameTemplate(withoutHash(one), withoutHash(other))
}

function withoutHash(template: V1PodTemplateSpec): V1PodTemplateSpec {
  const { [hashLabel]: _hash, ...labels } = template.metadata?.labels ?? {}
  return { ...template, metadata: { ...template.metadata, labels } }
}

/** The set with the deployment's present template, the oldest where there are several; and all the others. */
export function newAndOldSets(
  { spec }: V1Deployment,
  sets: readonly V1ReplicaSet[],
): { newSet: V1ReplicaSet | undefined; oldSets: V1ReplicaSet[] } {
  const sorted = [...sets].sort(byAge)
  const newSet = sorted.find((set) => spec?.template && set.spec?.template && isSameTemplate(set.spec.template, spec.template))
  return { newSet, oldSets: sorted.filter((set) => set !== newSet) }
}

/** The annotations that the new replica set must have: the deployment's, and its revision and those it had before. */
export function annotationsOfNewSet(deployment: V1Deployment, current: Readonly<Annotations>, revision: bigint): Annotations {
  const annotations: Annotations = { ...current }
  for (const [name, value] of Object.entries(deployment.metadata.annotations ?? {})) if (!uncopied.has(name)) annotations[name] = value
  const before = current[revisionAnnotation]
  const beforeNumber = int64(before || '0')
  if (beforeNumber === undefined || beforeNumber >= revision) return annotations
  annotations[revisionAnnotation] = String(revision)
  // It had a revision already: somebody rolls back to it.
  if (before !== undefined) annotations[historyAnnotation] = withinLimit([...(current[historyAnnotation]?.split(',') ?? []), before])
  return annotations
}

function withinLimit(revisions: readonly string[]): string {
  let length = revisions.reduce((sum, revision) => sum + revision.length + 1, -1)
  let first = 0
  for (; length > historyLimitChars && first < revisions.length; first++) length -= (revisions[first]?.length ?? 0) + 1
  return revisions.slice(first).join(',')
}

export function sizeAnnotations(desired: number, max: number): Annotations {
  return { [desiredAnnotation]: String(desired), [maxAnnotation]: String(max) }
}

export function hasSizeAnnotations({ metadata }: V1ReplicaSet, desired: number, max: number): boolean {
  return metadata.annotations?.[desiredAnnotation] === String(desired) && metadata.annotations[maxAnnotation] === String(max)
}

/** The size the deployment had when the set was last scaled; undefined if nobody noted it. */
export function desiredBeforeScale({ metadata }: V1ReplicaSet): number | undefined {
  return wholeNumber(metadata.annotations?.[desiredAnnotation])
}

export const replicasBeforeScale = ({ metadata }: V1ReplicaSet): number => wholeNumber(metadata.annotations?.[maxAnnotation]) ?? 0

const wholeNumber = (text: string | undefined): number | undefined =>
  text !== undefined && /^\d{1,10}$/.test(text) ? Number(text) : undefined

/** The deployment's annotations after going back to a replica set: those the set got from it then. */
export function annotationsAfterRollback({ metadata }: V1Deployment, { metadata: old }: V1ReplicaSet): Annotations {
  const own = Object.entries(metadata.annotations ?? {}).filter(([name]) => uncopied.has(name) && name !== rollbackAnnotation)
  const copied = Object.entries(old.annotations ?? {}).filter(([name]) => !uncopied.has(name))
  return Object.fromEntries([...own, ...copied])
}
