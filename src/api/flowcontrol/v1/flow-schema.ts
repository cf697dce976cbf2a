import { validateFlowConditions } from '#api/flowcontrol/v1/flow-conditions.ts'
import { FlowSchema } from '#api/flowcontrol/v1/kinds.gen.ts'
import { mandatoryFlowSchemas } from '#api/flowcontrol/v1/mandatory-configuration.ts'
import { putBackMetadata } from '#api/flowcontrol/v1/put-back-metadata.ts'
import type { V1FlowSchema, V1FlowSchemaSpec } from '#api/flowcontrol/v1/types.gen.ts'
import { validateFlowRule } from '#api/flowcontrol/v1/validate-flow-rule.ts'
import type { Check } from '#api/meta/check.ts'
import { ageColumn, nameColumn } from '#api/meta/columns.ts'
import { equalityOf } from '#api/meta/equality.ts'
import { findCondition } from '#api/meta/find-condition.ts'
import { dns1123Subdomain, mustBe, nameIsDns1123Subdomain } from '#api/meta/names.ts'
import { validateObjectMeta } from '#api/meta/object-meta.ts'
import { asInternal } from '#api/meta/quote-internal.ts'
import { defineResource } from '#api/resource.ts'

const sameSpec = equalityOf(FlowSchema).at('spec')

const maxMatchingPrecedence = 10_000
const distinguisherMethods = ['ByNamespace', 'ByUser']

export const flowSchemaResource = defineResource(FlowSchema, {
  allowUnconditionalUpdate: true,
  defaultPropagation: 'Background',

  defaults(flowSchema) {
    flowSchema.spec ??= {} as V1FlowSchemaSpec
    flowSchema.spec.matchingPrecedence ||= 1000
  },

  validate: validateFlowSchema,

  generation: 'spec',
  revalidatesMetadata: false,
  validateUpdate(next, _prev, check) {
    validateObjectMeta(check.at('metadata'), { scope: 'Cluster', nameRule: nameIsDns1123Subdomain })
    validateFlowSchema(next, check)
  },

  subresources: {
    status: {
      resetFields: ['metadata', 'spec'],
      revalidatesMetadata: false,
      prepareForUpdate(next, prev) {
        putBackMetadata(next, prev)
      },
      validateUpdate: (_next, _prev, check) => validateFlowConditions(check.at('status').at('conditions')),
    },
  },

  columns: [
    nameColumn,
    {
      name: 'PriorityLevel',
      type: 'string',
      description: { field: 'PriorityLevelConfigurationReference.name' },
      cell: ({ spec }) => spec.priorityLevelConfiguration.name,
    },
    {
      name: 'MatchingPrecedence',
      type: 'string',
      description: { field: 'FlowSchemaSpec.matchingPrecedence' },
      cell: ({ spec }) => spec.matchingPrecedence ?? 0,
    },
    {
      name: 'DistinguisherMethod',
      type: 'string',
      description: { field: 'FlowSchemaSpec.distinguisherMethod' },
      cell: ({ spec }) => spec.distinguisherMethod?.type ?? '<none>',
    },
    ageColumn,
    {
      name: 'MissingPL',
      type: 'string',
      description: 'references a broken or non-existent PriorityLevelConfiguration',
      cell: ({ status }) => findCondition(status?.conditions, 'Dangling')?.status ?? '?',
    },
  ],
})

function validateFlowSchema({ metadata, spec }: V1FlowSchema, check: Check<V1FlowSchema>): void {
  const { name = '' } = metadata
  validateSpec(check.at('spec'), name)
  const mandatory = mandatoryFlowSchemas.get(name)
  if (mandatory && !sameSpec(spec, mandatory)) {
    check.at('spec').invalid(`spec of '${name}' must equal the fixed value`, asInternal('flowcontrol.FlowSchemaSpec', spec))
  }
  validateFlowConditions(check.at('status').at('conditions'))
}

function validateSpec(check: Check<V1FlowSchemaSpec>, name: string): void {
  const spec = check.value
  const { matchingPrecedence = 0, distinguisherMethod, priorityLevelConfiguration } = spec
  const at = check.at('matchingPrecedence')
  if (matchingPrecedence <= 0) at.or(0).invalid('must be a positive value')
  if (matchingPrecedence > maxMatchingPrecedence) at.or(0).invalid(`must not be greater than ${maxMatchingPrecedence}`)
  if (matchingPrecedence === 1 && name !== 'exempt') {
    at.or(0).invalid("only the schema named 'exempt' may have matchingPrecedence 1")
  }
  if (distinguisherMethod && !distinguisherMethods.includes(distinguisherMethod.type)) {
    const quoted = asInternal('flowcontrol.FlowDistinguisherMethod', distinguisherMethod)
    check.at('distinguisherMethod').at('type').notSupported(distinguisherMethods, quoted)
  }
  const levelName = priorityLevelConfiguration?.name
  if (levelName) mustBe(dns1123Subdomain, check.at('priorityLevelConfiguration').at('name'))
  else check.at('priorityLevelConfiguration').at('name').required('must reference a priority level')
  check.at('rules').each(validateFlowRule)
}
