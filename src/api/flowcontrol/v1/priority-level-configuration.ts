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
import { equalityOf } from '#api/meta/equality.ts'
import { nameIsDns1123Subdomain } from '#api/meta/names.ts'
import { validateObjectMeta } from '#api/meta/object-meta.ts'
import { asInternal } from '#api/meta/quote-internal.ts'
import { defineResource } from '#api/resource.ts'

const sameSpec = equalityOf(PriorityLevelConfiguration).at('spec')

export const preserveZeroSharesAnnotation = 'flowcontrol.k8s.io/v1beta3-preserve-zero-concurrency-shares'
const maxQueues = 10_000_000
/** A request's flow is hashed once; every card dealt from the deck of queues uses up bits of that hash. */
const hashBits = 60

export const priorityLevelConfigurationResource = defineResource(PriorityLevelConfiguration, {
  allowUnconditionalUpdate: true,
  defaultPropagation: 'Background',

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

  validate: validateLevel,

  generation: 'spec',
  revalidatesMetadata: false,
  validateUpdate(next, _prev, check) {
    validateObjectMeta(check.at('metadata'), { scope: 'Cluster', nameRule: nameIsDns1123Subdomain })
    validateLevel(next, check)
  },

  subresources: {
    status: {
      resetFields: ['spec', 'metadata'],
      revalidatesMetadata: false,
      prepareForUpdate(next, prev) {
        putBackMetadata(next, prev)
      },
      validateUpdate: (_next, _prev, check) => validateFlowConditions(check.at('status').at('conditions')),
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

function validateLevel({ metadata }: V1PriorityLevelConfiguration, check: Check<V1PriorityLevelConfiguration>): void {
  const { name = '' } = metadata
  if (metadata.annotations?.[preserveZeroSharesAnnotation] !== undefined) {
    check.at('metadata').at('annotations').forbidden(`annotation '${preserveZeroSharesAnnotation}' is forbidden`)
  }
  validateSpec(check.at('spec'), name)
  mustBeMandatory(check.at('spec'), name)
  validateFlowConditions(check.at('status').at('conditions'))
}

/** How much of its seats the exempt level lends is the one thing about these levels that may be changed. */
function mustBeMandatory(check: Check<V1PriorityLevelConfigurationSpec>, name: string): void {
  const spec = check.value
  const mandatory = mandatoryPriorityLevels.get(name)
  if (!mandatory) return
  const compared = name === 'exempt' && mandatory.exempt ? { ...spec, exempt: mandatory.exempt } : spec
  if (sameSpec(compared, mandatory)) return
  const except = name === 'exempt' ? " except the 'spec.exempt' field" : ''
  check.invalid(`spec of '${name}'${except} must equal the fixed value`, asInternal('flowcontrol.PriorityLevelConfigurationSpec', spec))
}

function validateSpec(check: Check<V1PriorityLevelConfigurationSpec>, name: string): void {
  const { type = '', limited, exempt } = check.value
  if ((name === 'exempt') !== (type === 'Exempt')) check.at('type').or('').invalid("must be 'Exempt' if and only if `name` is 'exempt'")
  if (type === 'Exempt') {
    if (limited) check.at('limited').forbidden('must be nil if the type is not Limited')
    if (exempt) validateExempt(check.at('exempt').present)
  } else if (type === 'Limited') {
    if (exempt) check.at('exempt').forbidden('must be nil if the type is Limited')
    if (limited) validateLimited(check.at('limited').present)
    else check.at('limited').required('must not be empty when type is Limited')
  } else if (type === '') check.at('type').required()
  else check.at('type').or('').notSupported(['Exempt', 'Limited'])
}

function validateExempt(check: Check<V1ExemptPriorityLevelConfiguration>): void {
  mustHaveShares(check.at('nominalConcurrencyShares').or(0))
  mustBePercentage(check.at('lendablePercent'))
}

function validateLimited(check: Check<V1LimitedPriorityLevelConfiguration>): void {
  const limited = check.value
  mustHaveShares(check.at('nominalConcurrencyShares').or(0))
  validateLimitResponse(check.at('limitResponse').or({ type: '' }))
  mustBePercentage(check.at('lendablePercent'))
  const { borrowingLimitPercent } = limited
  if (borrowingLimitPercent !== undefined && borrowingLimitPercent < 0) {
    check.at('borrowingLimitPercent').invalid('if specified, must be a non-negative integer')
  }
}

function mustHaveShares(check: Check<number>): void {
  const shares = check.value
  if (shares < 0) check.invalid('must be a non-negative integer')
}

function mustBePercentage(check: Check<number | undefined>): void {
  const percent = check.value
  if (percent !== undefined && (percent < 0 || percent > 100)) check.invalid('must be between 0 and 100, inclusive')
}

function validateLimitResponse(check: Check<V1LimitResponse>): void {
  const { type = '', queuing } = check.value
  if (type === 'Reject') {
    if (queuing) check.at('queuing').forbidden('must be nil if limited.limitResponse.type is not Limited')
  } else if (type === 'Queue') {
    if (queuing) validateQueuing(check.at('queuing').present)
    else check.at('queuing').required('must not be empty if limited.limitResponse.type is Limited')
  } else if (type === '') check.at('type').required()
  else check.at('type').or('').notSupported(['Queue', 'Reject'])
}

function validateQueuing(check: Check<V1QueuingConfiguration>): void {
  const { queues = 0, handSize = 0, queueLengthLimit = 0 } = check.value
  if (queueLengthLimit <= 0) check.at('queueLengthLimit').or(0).invalid('must be positive')
  if (queues <= 0) check.at('queues').or(0).invalid('must be positive')
  else if (queues > maxQueues) check.at('queues').or(0).invalid(`must not be greater than ${maxQueues}`)
  const at = check.at('handSize')
  if (handSize <= 0) at.or(0).invalid('must be positive')
  else if (handSize > queues) at.or(0).invalid(`should not be greater than queues (${queues})`)
  else if (Math.ceil(Math.log2(queues) * handSize) > hashBits) {
    at.or(0).invalid(`required entropy bits of deckSize ${queues} and handSize ${handSize} should not be greater than ${hashBits}`)
  }
}
