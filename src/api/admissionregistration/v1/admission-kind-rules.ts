import { staticSuffixWarnings, validateStaticSuffix } from '#api/admissionregistration/v1/static-suffix.ts'
import type { Check } from '#api/meta/check.ts'
import { nameIsDns1123Subdomain } from '#api/meta/names.ts'
import { validateObjectMeta } from '#api/meta/object-meta.ts'
import type { V1ObjectMeta } from '#api/meta/v1/types.gen.ts'
import type { KubernetesObject, ResourceRules, RuleContext } from '#api/resource.ts'
import type { Steps } from '#base/steps.ts'

/** What webhook configurations, policies and their bindings have in common. `validate` is told of no `prev` when one is created. */
export function admissionKindRules<T extends KubernetesObject & { metadata: V1ObjectMeta }>(
  validate: (check: Check<T>, prev: T | undefined, context: RuleContext) => void | Steps<void>,
) {
  return {
    finalizers: 'any',
    revalidatesMetadata: false,
    *validate(_object, check, context) {
      const validation = validate(check, undefined, context)
      if (validation) yield* validation
      validateStaticSuffix(check, context)
    },
    *validateUpdate(_next, prev, check, context) {
      validateObjectMeta(check.at('metadata'), {
        scope: 'Cluster',
        nameRule: nameIsDns1123Subdomain,
        finalizers: 'any',
      })
      const validation = validate(check, prev, context)
      if (validation) yield* validation
    },
    warningsOnCreate: staticSuffixWarnings,
    warningsOnUpdate: staticSuffixWarnings,
  } satisfies ResourceRules<T>
}
