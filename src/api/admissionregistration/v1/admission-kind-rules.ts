import { staticSuffixWarnings, validateStaticSuffix } from '#api/admissionregistration/v1/static-suffix.ts'
import type { Check } from '#api/meta/check.ts'
import { nameIsDns1123Subdomain } from '#api/meta/names.ts'
import { validateObjectMeta } from '#api/meta/object-meta.ts'
import type { V1ObjectMeta } from '#api/meta/v1/types.gen.ts'
import type { KubernetesObject, ResourceRules, RuleContext } from '#api/resource.ts'

/** What webhook configurations, policies and their bindings have in common. `validate` is told of no `prev` when one is created. */
export function admissionKindRules<T extends KubernetesObject & { metadata: V1ObjectMeta }>(
  validate: (check: Check<T>, prev: T | undefined, context: RuleContext) => void,
) {
  return {
    finalizers: 'any',
    revalidatesMetadata: false,
    validate(_object, check, context) {
      validate(check, undefined, context)
      validateStaticSuffix(check, context)
    },
    validateUpdate(_next, prev, check, context) {
      validateObjectMeta(check.at('metadata'), {
        scope: 'Cluster',
        nameRule: nameIsDns1123Subdomain,
        finalizers: 'any',
      })
      validate(check, prev, context)
    },
    warningsOnCreate: staticSuffixWarnings,
    warningsOnUpdate: staticSuffixWarnings,
  } satisfies ResourceRules<T>
}
