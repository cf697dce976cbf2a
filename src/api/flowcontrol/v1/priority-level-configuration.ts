import { validateFlowConditions } from '#api/flowcontrol/v1/flow-conditions.ts'
import { PriorityLevelConfiguration } from '#api/flowcontrol/v1/kinds.gen.ts'
import { mandatoryPriorityLevels } from '#api/flowcontrol/v1/mandatory-configuration.ts'
import { putBackMetadata } from '#api/flowcontrol/v1/put-back-metadata.ts'
import type {
  V1ExemptPriorityLevelConfiguration,
  V1LimitedPriorityLevelConfiguration,
  V1LimitResponse,
  V1PriorityLevelConfiguration,
  V1PriorityLevelConfigurationSpec,
  V1QueuingConfiguration,
} from '#api/flowcontrol/v1/types.gen.ts'
import type { Check } from '#api/meta/check.ts'
import { ageColumn, nameColumn } from '#api/meta/columns.ts'
import { semanticEqual } from '#api/meta/equality.ts'
import { nameIsDns1123Subdomain } from '#api/meta/names.ts'
import { validateObjectMeta } from '#api/meta/object-meta.ts'
import { putBack } from '#api/meta/put-back.ts'
import { asInternal } from '#api/meta/quote-internal.ts'
import { defineResource } from '#api/resource.ts'

export const preserveZeroSharesAnnotation = 'flowcontrol.k8s.io/v1beta3-preserve-zero-concurrency-shares'
const maxQueues = 10_000_000
/** A request's flow is hashed once; every card dealt from the deck of queues uses up bits of that hash. */
const hashBits = 60

export const priorityLevelConfigurationResource = defineResource(PriorityLevelConfiguration, {
  allowUnconditionalUpdate: true,
  defaultPropagation: 'Background',
  resetFields: ['status'],

  defaults(level) {
    level.spec ??= {} as V1PriorityLevelConfigurationSpec
    const { exempt, limited } = level.spec
    if (exempt) {
      exempt.nominalConcurrencyShares ??= 0
      exempt.lendablePercent ??= 0
    }
    if (!limited) return
    limited.nominalConcurrencyShares ??= 30
    limited.lendablePercent ??= 0
    const queuing = limited.limitResponse?.queuing
    if (!queuing) return
    queuing.handSize ||= 8
    queuing.queues ||= 64
    queuing.queueLengthLimit ||= 50
  },

  prepareForCreate(level) {
    delete level.status
  },
  validate: validateLevel,

  generation: 'spec',
  rejudgesMetadata: false,
  prepareForUpdate: (next, prev) => putBack(next, prev, 'status'),
  validateUpdate(next, _prev, check) {
    validateObjectMeta(next.metadata, { scope: 'Cluster', nameRule: nameIsDns1123Subdomain }, check.at('metadata'))
    validateLevel(next, check)
  },

  subresources: {
    status: {
      resetFields: ['spec', 'metadata'],
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
    { name: 'Type', type: 'string', description: { field: 'PriorityLevelConfigurationSpec.type' }, cell: ({ spec }) => spec.type },
    {
      name: 'NominalConcurrencyShares',
      type: 'string',
      description: { field: 'LimitedPriorityLevelConfiguration.nominalConcurrencyShares' },
      cell: ({ spec }) => (spec.limited ? (spec.limited.nominalConcurrencyShares ?? 0) : '<none>'),
    },
    {
      name: 'Queues',
      type: 'string',
      description: { field: 'QueuingConfiguration.queues' },
      cell: ({ spec }) => spec.limited?.limitResponse?.queuing?.queues ?? '<none>',
    },
    {
      name: 'HandSize',
      type: 'string',
      description: { field: 'QueuingConfiguration.handSize' },
      cell: ({ spec }) => spec.limited?.limitResponse?.queuing?.handSize ?? '<none>',
    },
    {
      name: 'QueueLengthLimit',
      type: 'string',
      description: { field: 'QueuingConfiguration.queueLengthLimit' },
      cell: ({ spec }) => spec.limited?.limitResponse?.queuing?.queueLengthLimit ?? '<none>',
    },
    ageColumn,
  ],
})

function validateLevel({ metadata, spec, status }: V1PriorityLevelConfiguration, check: Check): void {
  const { name = '' } = metadata
  if (metadata.annotations?.[preserveZeroSharesAnnotation] !== undefined) {
    check.at('metadata.annotations').forbidden(`annotation '${preserveZeroSharesAnnotation}' is forbidden`)
  }
  validateSpec(spec, name, check.at('spec'))
  mustBeMandatory(spec, name, check.at('spec'))
  validateFlowConditions(status?.conditions, check.at('status.conditions'))
}

/** How much of its seats the exempt level lends is the one thing about these levels that may be changed. */
function mustBeMandatory(spec: V1PriorityLevelConfigurationSpec, name: string, check: Check): void {
  const mandatory = mandatoryPriorityLevels.get(name)
  if (!mandatory) return
  const compared = name === 'exempt' && mandatory.exempt ? { ...spec, exempt: mandatory.exempt } : spec
  if (semanticEqual(compared, mandatory)) return
  const except = name === 'exempt' ? " except the 'spec.exempt' field" : ''
  check.invalid(asInternal('flowcontrol.PriorityLevelConfigurationSpec', spec), `spec of '${name}'${except} must equal the fixed value`)
}

function validateSpec({ type = '', limited, exempt }: V1PriorityLevelConfigurationSpec, name: string, check: Check): void {
  if ((name === 'exempt') !== (type === 'Exempt')) check.at('type').invalid(type, "must be 'Exempt' if and only if `name` is 'exempt'")
  if (type === 'Exempt') {
    if (limited) check.at('limited').forbidden('must be nil if the type is not Limited')
    if (exempt) validateExempt(exempt, check.at('exempt'))
  } else if (type === 'Limited') {
    if (exempt) check.at('exempt').forbidden('must be nil if the type is Limited')
    if (limited) validateLimited(limited, check.at('limited'))
    else check.at('limited').required('must not be empty when type is Limited')
  } else if (type === '') check.at('type').required()
  else check.at('type').notSupported(type, ['Exempt', 'Limited'])
}

function validateExempt({ nominalConcurrencyShares = 0, lendablePercent }: V1ExemptPriorityLevelConfiguration, check: Check): void {
  mustHaveShares(nominalConcurrencyShares, check.at('nominalConcurrencyShares'))
  mustBePercentage(lendablePercent, check.at('lendablePercent'))
}

function validateLimited(limited: V1LimitedPriorityLevelConfiguration, check: Check): void {
  mustHaveShares(limited.nominalConcurrencyShares ?? 0, check.at('nominalConcurrencyShares'))
  validateLimitResponse(limited.limitResponse ?? { type: '' }, check.at('limitResponse'))
  mustBePercentage(limited.lendablePercent, check.at('lendablePercent'))
  const { borrowingLimitPercent } = limited
  if (borrowingLimitPercent !== undefined && borrowingLimitPercent < 0) {
    check.at('borrowingLimitPercent').invalid(borrowingLimitPercent, 'if specified, must be a non-negative integer')
  }
}

function mustHaveShares(shares: number, check: Check): void {
  if (shares < 0) check.invalid(shares, 'must be a non-negative integer')
}

function mustBePercentage(percent: number | undefined, check: Check): void {
  if (percent !== undefined && (percent < 0 || percent > 100)) check.invalid(percent, 'must be between 0 and 100, inclusive')
}

function validateLimitResponse({ type = '', queuing }: V1LimitResponse, check: Check): void {
  if (type === 'Reject') {
    if (queuing) check.at('queuing').forbidden('must be nil if limited.limitResponse.type is not Limited')
  } else if (type === 'Queue') {
    if (queuing) validateQueuing(queuing, check.at('queuing'))
    else check.at('queuing').required('must not be empty if limited.limitResponse.type is Limited')
  } else if (type === '') check.at('type').required()
  else check.at('type').notSupported(type, ['Queue', 'Reject'])
}

function validateQueuing({ queues = 0, handSize = 0, queueLengthLimit = 0 }: V1QueuingConfiguration, check: Check): void {
  if (queueLengthLimit <= 0) check.at('queueLengthLimit').invalid(queueLengthLimit, 'must be positive')
  if (queues <= 0) check.at('queues').invalid(queues, 'must be positive')
  else if (queues > maxQueues) check.at('queues').invalid(queues, `must not be greater than ${maxQueues}`)
  const at = check.at('handSize')
  if (handSize <= 0) at.invalid(handSize, 'must be positive')
  else if (handSize > queues) at.invalid(handSize, `should not be greater than queues (${queues})`)
  else if (Math.ceil(Math.log2(queues) * handSize) > hashBits) {
    at.invalid(handSize, `required entropy bits of deckSize ${queues} and handSize ${handSize} should not be greater than ${hashBits}`)
  }
}
