/** What happens to every changed object before it is stored, whatever its kind. */

import { Check } from '#api/meta/check.ts'
import { equalityOf } from '#api/meta/equality.ts'
import { nameIsPathSegment } from '#api/meta/names.ts'
import { validateObjectMeta, validateObjectMetaUpdate } from '#api/meta/object-meta.ts'
import { putBackOtherPart } from '#api/meta/spec-and-status.ts'
import { invalid } from '#api/meta/status-error.ts'
import type { KubernetesObject, ResourceDefinition, RuleContext, UpdateRules } from '#api/resource.ts'
import { metadataOf } from '#apiserver/registry/metadata-of.ts'
import type { Steps } from '#base/steps.ts'

/** `rules` are the definition's own, or those of the subresource that is written. Returns the warnings for the writer. */
export function* beforeUpdate(
  definition: ResourceDefinition,
  rules: UpdateRules<KubernetesObject>,
  next: KubernetesObject,
  prev: KubernetesObject,
  context: RuleContext,
): Steps<string[]> {
  const metadata = metadataOf(next)
  const before = prev.metadata ?? {}
  keep(metadata, before, 'generation')
  putBackOtherPart(definition, rules, next, prev, context)
  rules.prepareForUpdate?.(next, prev, context)
  if (rules === definition && counts(definition, next, prev)) metadata.generation = (before.generation ?? 0) + 1

  metadata.uid ||= before.uid ?? ''
  if (before.creationTimestamp) metadata.creationTimestamp = before.creationTimestamp
  if (before.deletionTimestamp) metadata.deletionTimestamp = before.deletionTimestamp
  if (before.deletionGracePeriodSeconds !== undefined) metadata.deletionGracePeriodSeconds ??= before.deletionGracePeriodSeconds

  yield
  const check = new Check(next)
  validateObjectMeta(check.at('metadata').with(metadata), { scope: definition.scope, nameRule: nameIsPathSegment, finalizers: 'any' })
  validateObjectMetaUpdate(check.at('metadata').with(metadata), before, { finalizers: 'any' })
  // Upstream validates the metadata once for all kinds and once more with the kind's own rules: clients see both.
  const { finalizers = 'qualified' } = definition
  if (rules.revalidatesMetadata !== false) validateObjectMetaUpdate(check.at('metadata').with(metadata), before, { finalizers })
  yield
  const validation = rules.validateUpdate?.(next, prev, check, context)
  if (validation) yield* validation
  yield
  if (check.failed) throw invalid(definition, metadata.name ?? '', check.errors)
  return rules.warningsOnUpdate?.(next, prev) ?? []
}

function keep<K extends string>(target: { [P in K]?: unknown }, source: { [P in K]?: unknown }, field: K): void {
  if (source[field] === undefined) delete target[field]
  else target[field] = source[field]
}

function counts(definition: ResourceDefinition, next: KubernetesObject, prev: KubernetesObject): boolean {
  const { generation } = definition
  if (!generation) return false
  if (typeof generation === 'function') return generation(next, prev)
  return !equalityOf(definition)(contentOf(next), contentOf(prev))
}

function contentOf(object: KubernetesObject): KubernetesObject {
  const { apiVersion: _v, kind: _k, metadata: _m, status: _s, ...content } = object as KubernetesObject & { status?: unknown }
  return content
}
