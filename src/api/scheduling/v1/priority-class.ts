import type { Check } from '#api/meta/check.ts'
import { ageColumn, nameColumn } from '#api/meta/columns.ts'
import { mustNotChange } from '#api/meta/immutable.ts'
import { defineResource } from '#api/resource.ts'
import { PriorityClass } from '#api/scheduling/v1/kinds.gen.ts'

const systemPrefix = 'system-'
const highestUserDefinablePriority = 1_000_000_000
const systemCriticalPriority = 2 * highestUserDefinablePriority

/** The classes every cluster has, which nobody may delete. */
const systemPriorities: Readonly<Record<string, number>> = {
  'system-node-critical': systemCriticalPriority + 1000,
  'system-cluster-critical': systemCriticalPriority,
}

export const priorityClassResource = defineResource(PriorityClass, {
  allowUnconditionalUpdate: true,
  defaultPropagation: 'Background',

  defaults(priorityClass) {
    priorityClass.preemptionPolicy ??= 'PreemptLowerPriority'
  },
  // There is a generation, but it never counts.
  prepareForCreate({ metadata }) {
    metadata.generation = 1
  },
  validate({ metadata, value = 0, globalDefault = false, preemptionPolicy }, check) {
    const { name = '' } = metadata
    if (name.startsWith(systemPrefix)) {
      const problem = systemClassProblem(name, value, globalDefault)
      if (problem !== undefined) {
        check
          .at('metadata')
          .at('name')
          .forbidden(`priority class names with '${systemPrefix}' prefix are reserved for system use only. error: ${problem}`)
      }
    } else if (value > highestUserDefinablePriority) {
      check.at('value').forbidden(`maximum allowed value of a user defined priority is ${highestUserDefinablePriority}`)
    }
    if (preemptionPolicy !== undefined) validatePreemptionPolicy(check.at('preemptionPolicy').present)
  },
  validateUpdate(next, prev, check) {
    if ((next.value ?? 0) !== (prev.value ?? 0)) check.at('value').forbidden('may not be changed in an update.')
    mustNotChange(check.at('preemptionPolicy'), prev.preemptionPolicy)
  },

  deletionForbidden: (name) =>
    Object.hasOwn(systemPriorities, name) ? 'this is a system priority class and cannot be deleted' : undefined,

  columns: [
    nameColumn,
    { name: 'Value', type: 'integer', description: { field: 'PriorityClass.value' }, cell: ({ value }) => value ?? 0 },
    {
      name: 'Global-Default',
      type: 'boolean',
      description: { field: 'PriorityClass.globalDefault' },
      cell: ({ globalDefault }) => globalDefault ?? false,
    },
    ageColumn,
    {
      name: 'PreemptionPolicy',
      type: 'string',
      description: { field: 'PriorityClass.preemptionPolicy' },
      cell: ({ preemptionPolicy }) => preemptionPolicy ?? '',
    },
  ],
})

function systemClassProblem(name: string, value: number, globalDefault: boolean): string | undefined {
  const known = Object.hasOwn(systemPriorities, name) ? systemPriorities[name] : undefined
  if (known === undefined) return `${name} is not a known system priority class`
  if (value !== known) return `value of ${name} PriorityClass must be ${known}`
  return globalDefault ? `globalDefault of ${name} PriorityClass must be false` : undefined
}

function validatePreemptionPolicy(check: Check<string>): void {
  const policy = check.value
  if (policy === '') check.required()
  else if (policy !== 'PreemptLowerPriority' && policy !== 'Never') check.notSupported(['PreemptLowerPriority', 'Never'])
}
