import { validateTemplateMeta } from '#api/core/v1/persistent-volume-claim/claim-spec.ts'
import type { Check } from '#api/meta/check.ts'
import { ageColumn, nameColumn } from '#api/meta/columns.ts'
import { equalityOf } from '#api/meta/equality.ts'
import { mustNotChange } from '#api/meta/immutable.ts'
import { nameIsDns1123Subdomain } from '#api/meta/names.ts'
import { validateObjectMeta, validateObjectMetaUpdate } from '#api/meta/object-meta.ts'
import { defaultClaimSpec, dropDisabledClaimFields, validateAdminAccess, validateClaimSpec } from '#api/resource/v1/claim-spec.ts'
import { ResourceClaimTemplate } from '#api/resource/v1/kinds.gen.ts'
import type { V1ResourceClaimTemplate, V1ResourceClaimTemplateSpec } from '#api/resource/v1/types.gen.ts'
import { defineResource, type RuleContext } from '#api/resource.ts'
import type { Steps } from '#base/steps.ts'

export const resourceClaimTemplateResource = defineResource(ResourceClaimTemplate, {
  allowUnconditionalUpdate: true,
  defaultPropagation: 'Background',
  returnsDeletedObject: true,

  defaults(template) {
    template.spec ??= {} as V1ResourceClaimTemplateSpec
    template.spec.spec ??= {}
    defaultClaimSpec(template.spec.spec)
  },
  prepareForCreate: (template, context) => dropDisabledClaimFields(template.spec.spec, undefined, context),
  *validate(template, check, context) {
    validateAdminAccess(template.spec.spec, template.metadata.namespace ?? '', check, context)
    yield* validateTemplate(check, context)
  },
  prepareForUpdate: (next, prev, context) => dropDisabledClaimFields(next.spec.spec, prev.spec.spec, context),
  revalidatesMetadata: false,
  *validateUpdate(_next, prev, check, context) {
    validateObjectMeta(check.at('metadata'), { scope: 'Namespaced', nameRule: nameIsDns1123Subdomain })
    yield* validateTemplate(check, context)
    validateObjectMetaUpdate(check.at('metadata'), prev.metadata)
    mustNotChange(check.at('spec'), prev.spec, equalityOf(ResourceClaimTemplate).at('spec'), 'resource.ResourceClaimTemplateSpec')
  },

  columns: [nameColumn, ageColumn],
})

function* validateTemplate(check: Check<V1ResourceClaimTemplate>, context: RuleContext): Steps<void> {
  validateTemplateMeta(check.at('spec').at('metadata').or({}))
  yield* validateClaimSpec(check.at('spec').at('spec'), context)
}
