import { validateNodeSelector } from '#api/core/v1/pod-spec/node-selectors.ts'
import { type Check, quoted } from '#api/meta/check.ts'
import { ageColumn, nameColumn } from '#api/meta/columns.ts'
import { mustNotChange } from '#api/meta/immutable.ts'
import { dns1123Label, dns1123Subdomain, mustBe } from '#api/meta/names.ts'
import { asInternal } from '#api/meta/quote-internal.ts'
import { boundedMap, boundedSet } from '#api/resource/v1/bounded.ts'
import { validateDriverName, validatePoolName } from '#api/resource/v1/device-names.ts'
import { stampTaints } from '#api/resource/v1/device-taints.ts'
import { dropDisabledSliceFields } from '#api/resource/v1/drop-disabled-slice-fields.ts'
import { ResourceSlice } from '#api/resource/v1/kinds.gen.ts'
import type { V1CounterSet, V1ResourcePool, V1ResourceSlice, V1ResourceSliceSpec } from '#api/resource/v1/types.gen.ts'
import { maxCounterNameBytes, maxCounters, mustBeCounterName, validateDevice } from '#api/resource/v1/validate-device.ts'
import { defineResource, type RuleContext } from '#api/resource.ts'

const maxDevices = 128
const maxAdvancedDevices = 64
const maxCounterSets = 8

export const resourceSliceResource = defineResource(ResourceSlice, {
  allowUnconditionalUpdate: true,
  defaultPropagation: 'Background',
  returnsDeletedObject: true,

  defaults(slice) {
    slice.spec ??= {} as V1ResourceSliceSpec
    for (const { nodeAllocatableResourceMappings } of slice.spec.devices ?? []) {
      for (const mapping of Object.values(nodeAllocatableResourceMappings ?? {})) mapping.allocationMultiplier ??= '1'
    }
  },
  prepareForCreate(slice, context) {
    stampDevices(slice, context)
    dropDisabledSliceFields(slice, undefined, context)
  },
  validate: (_object, check) => validateSpec(check.at('spec'), undefined),
  warningsOnCreate: driverWarnings,

  generation: 'spec',
  prepareForUpdate(next, prev, context) {
    stampDevices(next, context)
    dropDisabledSliceFields(next, prev, context)
  },
  validateUpdate: (_next, prev, check) => validateSpec(check.at('spec'), prev.spec),
  warningsOnUpdate: (next) => driverWarnings(next),

  fieldSelectors: {
    'spec.nodeName': ({ spec }) => spec.nodeName ?? '',
    'spec.driver': ({ spec }) => spec.driver,
  },

  columns: [
    nameColumn,
    { name: 'Node', type: 'string', description: { field: 'ResourceSliceSpec.nodeName' }, cell: ({ spec }) => spec.nodeName ?? '' },
    { name: 'Driver', type: 'string', description: { field: 'ResourceSliceSpec.driver' }, cell: ({ spec }) => spec.driver },
    { name: 'Pool', type: 'string', description: { field: 'ResourcePool.name' }, cell: ({ spec }) => spec.pool.name },
    ageColumn,
  ],
})

function stampDevices({ spec }: V1ResourceSlice, { now }: RuleContext): void {
  for (const { taints } of spec.devices ?? []) stampTaints(taints, now)
}

function driverWarnings({ spec: { driver = '' } }: V1ResourceSlice): string[] {
  if (driver === driver.toLowerCase()) return []
  return [`spec.driver: driver names should be lowercase; ${quoted(driver)} contains uppercase characters`]
}

function validateSpec(check: Check<V1ResourceSliceSpec>, prev: V1ResourceSliceSpec | undefined): void {
  const spec = check.value
  validateDriverName(spec.driver, check.at('driver'))
  validatePool(check.at('pool').or({}))
  if (prev) {
    mustNotChange(check.at('pool').at('name'), prev.pool?.name)
    mustNotChange(check.at('driver'), prev.driver)
    mustNotChange(check.at('nodeName'), prev.nodeName)
  }
  validateWhere(check)
  if (spec.sharedCounters && spec.devices) check.invalid('only one of `sharedCounters` or `devices` is allowed', '')
  boundedSet(check.at('devices').with(spec.devices), usesAdvancedFeatures(spec) ? maxAdvancedDevices : maxDevices, {
    key: ({ name }) => name ?? '',
    validate(at) {
      const device = at.value
      const prevDevice = prev?.devices?.find(({ name }) => name === device.name)
      validateDevice(at, prevDevice, spec.perDeviceNodeSelection === true)
    },
  })
  boundedSet(check.at('sharedCounters').with(spec.sharedCounters), maxCounterSets, {
    key: ({ name }) => name ?? '',
    validate: validateCounterSet,
  })
}

function validatePool(check: Check<Partial<V1ResourcePool>>): void {
  const { generation = 0, resourceSliceCount = 0 } = check.value
  validatePoolName(check.at('name'))
  if (resourceSliceCount <= 0) check.at('resourceSliceCount').or(0).invalid('must be greater than zero')
  if (generation < 0) check.at('generation').or(0).invalid('must be greater than or equal to zero')
}

/** Tells on which nodes the devices can be used, in exactly one of four ways. */
function validateWhere(check: Check<V1ResourceSliceSpec>): void {
  const { nodeName, nodeSelector, allNodes, perDeviceNodeSelection } = check.value
  const ways: string[] = []
  if (nodeName) {
    ways.push('`nodeName`')
    mustBe(dns1123Subdomain, check.at('nodeName').present)
  } else if (nodeName === '') check.at('nodeName').invalid('must be either unset or set to a non-empty string', '')
  if (nodeSelector) {
    ways.push('`nodeSelector`')
    validateNodeSelector(check.at('nodeSelector').present, false)
    const terms = nodeSelector.nodeSelectorTerms ?? []
    if (terms.length !== 1) {
      const shown = asInternal('[core.NodeSelectorTerm', nodeSelector.nodeSelectorTerms)
      check.at('nodeSelector').at('nodeSelectorTerms').invalid('must have exactly one node selector term', shown)
    }
  }
  if (allNodes) ways.push('`allNodes`')
  else if (allNodes === false) check.at('allNodes').invalid('must be either unset or set to true', false)
  if (perDeviceNodeSelection) ways.push('`perDeviceNodeSelection`')
  else if (perDeviceNodeSelection === false) check.at('perDeviceNodeSelection').invalid('must be either unset or set to true', false)
  const detail = 'exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required'
  if (ways.length === 0) check.required(detail)
  else if (ways.length > 1) check.invalid(`${detail}, but multiple fields are set`, `{${ways.join(', ')}}`)
}

/** Slices whose devices need more room each may have fewer of them. */
function usesAdvancedFeatures({ devices }: V1ResourceSliceSpec): boolean {
  return (
    devices?.some(
      ({ taints, consumesCounters, attributes }) =>
        taints?.length ||
        consumesCounters?.length ||
        Object.values(attributes ?? {}).some(({ bools, ints, strings, versions }) => bools ?? ints ?? strings ?? versions),
    ) ?? false
  )
}

function validateCounterSet(check: Check<V1CounterSet>): void {
  const { name, counters } = check.value
  if (!name) check.at('name').required()
  else mustBe(dns1123Label, check.at('name'))
  if (Object.keys(counters ?? {}).length === 0) check.at('counters').required()
  else boundedMap(check.at('counters').with(counters), maxCounters, maxCounterNameBytes, { key: mustBeCounterName })
}
