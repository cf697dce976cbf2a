import { deprecatedNodeLabelMessage } from '#api/core/v1/deprecated-node-labels.ts'
import { validateOverhead } from '#api/core/v1/pod-spec/validate-resources.ts'
import { validateTolerations } from '#api/core/v1/pod-spec/validate-tolerations.ts'
import { optionsForCreate } from '#api/core/v1/pod-spec/validation-options.ts'
import type { V1Toleration } from '#api/core/v1/types.gen.ts'
import type { Check } from '#api/meta/check.ts'
import { ageColumn, nameColumn } from '#api/meta/columns.ts'
import { mustNotChange } from '#api/meta/immutable.ts'
import { validateLabels } from '#api/meta/labels.ts'
import { dns1123Label, mustBe, nameIsDns1123Subdomain } from '#api/meta/names.ts'
import { validateObjectMeta, validateObjectMetaUpdate } from '#api/meta/object-meta.ts'
import { asInternal } from '#api/meta/quote-internal.ts'
import { RuntimeClass } from '#api/node/v1/kinds.gen.ts'
import type { V1RuntimeClass } from '#api/node/v1/types.gen.ts'
import { defineResource, type RuleContext } from '#api/resource.ts'

export const runtimeClassResource = defineResource(RuntimeClass, {
  finalizers: 'any',
  allowCreateOnUpdate: true,
  defaultPropagation: 'Background',

  validate: validateRuntimeClass,
  warningsOnCreate: selectorWarnings,
  revalidatesMetadata: false,
  validateUpdate(next, prev, check, context) {
    const at = check.at('metadata')
    validateObjectMeta(at, { scope: 'Cluster', nameRule: nameIsDns1123Subdomain, finalizers: 'any' })
    validateRuntimeClass(next, check, context)
    validateObjectMetaUpdate(at, prev.metadata, { finalizers: 'any' })
    mustNotChange(check.at('handler'), prev.handler)
  },
  warningsOnUpdate: (next) => selectorWarnings(next),

  columns: [nameColumn, { name: 'Handler', type: 'string', description: '', cell: ({ handler }) => handler }, ageColumn],
})

function validateRuntimeClass({ handler, overhead, scheduling }: V1RuntimeClass, check: Check<V1RuntimeClass>, context: RuleContext): void {
  if (!handler) check.at('handler').required()
  else mustBe(dns1123Label, check.at('handler'))
  if (overhead) validateOverhead(check.at('overhead').with(overhead.podFixed ?? {}), optionsForCreate(context))
  if (!scheduling) return
  validateLabels(check.at('scheduling').at('nodeSelector'))
  validateTolerations(check.at('scheduling').at('tolerations').or([]), optionsForCreate(context))
  mustBeDifferent(check.at('scheduling').at('tolerations').or([]))
}

function mustBeDifferent(check: Check<readonly V1Toleration[]>): void {
  const seen = new Set<string>()
  for (const at of check.items()) {
    const toleration = at.value
    const { key = '', operator = '', value = '', effect = '' } = toleration
    const identity = JSON.stringify([key, operator, value, effect])
    if (seen.has(identity)) at.duplicate(asInternal('core.Toleration', toleration))
    seen.add(identity)
  }
}

function selectorWarnings({ scheduling }: V1RuntimeClass): string[] {
  const warnings: string[] = []
  for (const key in scheduling?.nodeSelector) {
    const message = deprecatedNodeLabelMessage(key)
    if (message !== undefined) warnings.push(`scheduling.nodeSelector: ${message}`)
  }
  return warnings
}
