/**
 * Spec and status are written apart: a write to the object leaves its status as it was, a write to the status everything else.
 * A kind declares this by having a status subresource.
 */
import { putBack } from '#api/meta/put-back.ts'
import { resetObjectMetaForStatus } from '#api/meta/reset-object-meta-for-status.ts'
import type { KubernetesObject, ResourceDefinition, RuleContext, StatusRules, UpdateRules } from '#api/resource.ts'

type WithStatus = KubernetesObject & { status?: unknown }

/** A new object has no status but what its kind gives it. */
export function dropStatus<T extends KubernetesObject>({ subresources }: ResourceDefinition<T>, object: T, context: RuleContext): void {
  const status = subresources?.status
  if (status !== undefined && !status.isSetOnCreate && isSplit(status, context)) delete (object as WithStatus).status
}

/** Undoes what a write through these rules (the definition's own, or a subresource's) did to the other part. */
export function putBackOtherPart<T extends KubernetesObject>(
  definition: ResourceDefinition<T>,
  rules: UpdateRules<T>,
  next: T,
  prev: T,
  context: RuleContext,
): void {
  const status = definition.subresources?.status
  if (status === undefined) return
  if (rules === definition && isSplit(status, context)) putBack<WithStatus, 'status'>(next, prev, 'status')
  if (rules !== status) return
  const others = new Set([...Object.keys(next), ...Object.keys(prev)] as (keyof T)[])
  for (const field of ['apiVersion', 'kind', 'metadata', 'status'] as (keyof T)[]) others.delete(field)
  for (const field of others) putBack(next, prev, field)
  const { keepsMetadata = [] } = status
  next.metadata ??= {}
  if (keepsMetadata === 'all') resetObjectMetaForStatus(next.metadata, prev.metadata ?? {})
  else for (const field of keepsMetadata) putBack(next.metadata, prev.metadata ?? {}, field)
}

/** Paths that an apply through these rules never owns. */
export function resetFieldsOf(definition: ResourceDefinition, rules: UpdateRules<KubernetesObject>): readonly string[] {
  const status = definition.subresources?.status
  if (rules.resetFields !== undefined || status === undefined) return rules.resetFields ?? []
  if (rules === definition) return ['status']
  if (rules !== status) return []
  const { keepsMetadata = [] } = status
  return ['spec', ...(keepsMetadata === 'all' ? ['metadata'] : keepsMetadata.map((field) => `metadata.${field}`))]
}

function isSplit<T>({ splitGate }: StatusRules<T>, { isEnabled }: RuleContext): boolean {
  return splitGate === undefined || isEnabled(splitGate)
}
