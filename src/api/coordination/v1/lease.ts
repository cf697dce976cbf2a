import { validateCoordinatedStrategy } from '#api/coordination/v1/coordinated-strategy.ts'
import { Lease } from '#api/coordination/v1/kinds.gen.ts'
import type { V1Lease, V1LeaseSpec } from '#api/coordination/v1/types.gen.ts'
import type { Check } from '#api/meta/check.ts'
import { ageColumn, nameColumn } from '#api/meta/columns.ts'
import { nonNegative } from '#api/meta/formats.ts'
import { defineResource, type RuleContext } from '#api/resource.ts'

export const leaseResource = defineResource(Lease, {
  finalizers: 'any',
  allowCreateOnUpdate: true,
  defaultPropagation: 'Background',

  defaults(lease) {
    lease.spec ??= {}
  },
  prepareForCreate: (lease, context) => dropDisabledFields(lease, undefined, context),
  validate: (_object, check) => validateSpec(check.at('spec')),
  prepareForUpdate: dropDisabledFields,
  validateUpdate: (_next, _prev, check) => validateSpec(check.at('spec')),

  columns: [
    nameColumn,
    { name: 'Holder', type: 'string', description: { field: 'LeaseSpec.holderIdentity' }, cell: ({ spec }) => spec.holderIdentity ?? '' },
    ageColumn,
  ],
})

function dropDisabledFields(next: V1Lease, prev: V1Lease | undefined, { isEnabled }: RuleContext): void {
  if (isEnabled('CoordinatedLeaderElection')) return
  if (prev?.spec.strategy === undefined) delete next.spec.strategy
  if (prev?.spec.preferredHolder === undefined) delete next.spec.preferredHolder
}

function validateSpec(check: Check<V1LeaseSpec>): void {
  const spec = check.value
  const { leaseDurationSeconds, strategy } = spec
  if (leaseDurationSeconds !== undefined && leaseDurationSeconds <= 0) {
    check.at('leaseDurationSeconds').invalid('must be greater than 0')
  }
  nonNegative(check.at('leaseTransitions'))
  if (strategy !== undefined) validateCoordinatedStrategy(check.at('strategy').present)
  if (spec.preferredHolder && !strategy) check.at('preferredHolder').forbidden('may only be specified if `strategy` is defined')
}
