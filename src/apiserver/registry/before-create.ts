/** What happens to every new object before it is stored, whatever its kind. */

import { Check } from '#api/meta/check.ts'
import { nameIsDns1123Subdomain, nameIsPathSegment } from '#api/meta/names.ts'
import { validateObjectMeta } from '#api/meta/object-meta.ts'
import { dropStatus } from '#api/meta/spec-and-status.ts'
import { invalid } from '#api/meta/status-error.ts'
import type { V1ObjectMeta } from '#api/meta/v1/types.gen.ts'
import type { KubernetesObject, ResourceDefinition, RuleContext } from '#api/resource.ts'
import { metadataOf } from '#apiserver/registry/metadata-of.ts'
import type { Steps } from '#base/steps.ts'

/** Brings the object into shape and validates it; throws a StatusError of reason Invalid. Returns the warnings for its creator. */
export function* beforeCreate(definition: ResourceDefinition, object: KubernetesObject, context: RuleContext): Steps<string[]> {
  const metadata = metadataOf(object)
  delete metadata.deletionTimestamp
  delete metadata.deletionGracePeriodSeconds
  if (definition.generation) metadata.generation = 1
  else delete metadata.generation
  dropStatus(definition, object, context)
  definition.prepareForCreate?.(object, context)

  const { scope, nameRule = nameIsDns1123Subdomain, finalizers = 'qualified' } = definition
  const check = new Check(object)
  validateObjectMeta(check.at('metadata').with(metadata), { scope, nameRule, finalizers })
  yield
  const validation = definition.validate?.(object, check, context)
  if (validation) yield* validation
  yield
  if (!check.failed) checkPathSegment(check.at('metadata').with(metadata))
  if (check.failed) throw invalid(definition, metadata.name ?? '', check.errors)
  const warnings = definition.warningsOnCreate?.(object) ?? []
  definition.settle?.(object)
  return warnings
}

/** Whatever a kind's own rule allows, a name must fit into a URL. */
function checkPathSegment(check: Check<V1ObjectMeta>): void {
  const { name = '', generateName = '' } = check.value
  for (const message of nameIsPathSegment(name, false)) check.at('name').or('').invalid(message)
  if (generateName !== '') for (const message of nameIsPathSegment(generateName, true)) check.at('generateName').or('').invalid(message)
}
