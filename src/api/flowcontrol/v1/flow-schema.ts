import { validateFlowConditions } from '#api/flowcontrol/v1/flow-conditions.ts'
import { FlowSchema } from '#api/flowcontrol/v1/kinds.gen.ts'
import { mandatoryFlowSchemas } from '#api/flowcontrol/v1/mandatory-configuration.ts'
import { putBackMetadata } from '#api/flowcontrol/v1/put-back-metadata.ts'
import type { V1FlowSchema, V1FlowSchemaSpec } from '#api/flowcontrol/v1/types.gen.ts'
import { validateFlowRule } from '#api/flowcontrol/v1/validate-flow-rule.ts'
import type { Check } from '#api/meta/check.ts'
import { ageColumn, nameColumn } from '#api/meta/columns.ts'
import { each } from '#api/meta/each.ts'
import { semanticEqual } from '#api/meta/equality.ts'
import { dns1123Subdomain, mustBe, nameIsDns1123Subdomain } from '#api/meta/names.ts'
import { validateObjectMeta } from '#api/meta/object-meta.ts'
import { putBack } from '#api/meta/put-back.ts'
import { asInternal } from '#api/meta/quote-internal.ts'
import { defineResource } from '#api/resource.ts'

const maxMatchingPrecedence = 10_000
const distinguisherMethods = ['ByNamespace', 'ByUser']

export const flowSchemaResource = defineResource(FlowSchema, {
  allowUnconditionalUpdate: true,
  defaultPropagation: 'Background',
  resetFields: ['status'],

  defaults(flowSchema) {
    flowSchema.spec ??= {} as V1FlowSchemaSpec
    flowSchema.spec.matchingPrecedence ||= 1000
  },

  prepareForCreate(flowSchema) {
    delete flowSchema.status
  },
  validate: validateFlowSchema,

  generation: 'spec',
  rejudgesMetadata: false,
  prepareForUpdate: (next, prev) => putBack(next, prev, 'status'),
  validateUpdate(next, _prev, check) {
    validateObjectMeta(next.metadata, { scope: 'Cluster', nameRule: nameIsDns1123Subdomain }, check.at('metadata'))
    validateFlowSchema(next, check)
  },

  subresources: {
    status: {
      resetFields: ['metadata', 'spec'],
      rejudgesMetadata: false,
      prepareForUpdate(next, prev) {
        putBackMetadata(next, prev)
        putBack(next, prev, 'spec')
      },
      validateUpdate: ({ status }, _prev, check) => validateFlowConditions(status?.conditions, check.at('status.conditions')),
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
      cell: ({ status }) => status?.conditions?.find(({ type }) => type === 'Dangling')?.status ?? '?',
    },
  ],
})

function validateFlowSchema({ metadata, spec, status }: V1FlowSchema, check: Check): void {
  const { name = '' } = metadata
  validateSpec(spec, name, check.at('spec'))
  const mandatory = mandatoryFlowSchemas.get(name)
  if (mandatory && !semanticEqual(spec, mandatory)) {
    check.at('spec').invalid(asInternal('flowcontrol.FlowSchemaSpec', spec), `spec of '${name}' must equal the fixed value`)
  }
  validateFlowConditions(status?.conditions, check.at('status.conditions'))
}

function validateSpec(spec: V1FlowSchemaSpec, name: string, check: Check): void {
  const { matchingPrecedence = 0, distinguisherMethod, priorityLevelConfiguration } = spec
  const at = check.at('matchingPrecedence')
  if (matchingPrecedence <= 0) at.invalid(matchingPrecedence, 'must be a positive value')
  if (matchingPrecedence > maxMatchingPrecedence) at.invalid(matchingPrecedence, `must not be greater than ${maxMatchingPrecedence}`)
  if (matchingPrecedence === 1 && name !== 'exempt') {
    at.invalid(matchingPrecedence, "only the schema named 'exempt' may have matchingPrecedence 1")
  }
  if (distinguisherMethod && !distinguisherMethods.includes(distinguisherMethod.type)) {
    const quoted = asInternal('flowcontrol.FlowDistinguisherMethod', distinguisherMethod)
    check.at('distinguisherMethod.type').notSupported(quoted, distinguisherMethods)
  }
  const levelName = priorityLevelConfiguration?.name
  if (levelName) mustBe(dns1123Subdomain, levelName, check.at('priorityLevelConfiguration.name'))
  else check.at('priorityLevelConfiguration.name').required('must reference a priority level')
  each(spec.rules, check.at('rules'), validateFlowRule)
}
