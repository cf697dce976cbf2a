import { deprecatedNodeLabelMessage } from '#api/core/v1/deprecated-node-labels.ts'
import { Check } from '#api/meta/check.ts'
import { defaultColumns } from '#api/meta/columns.ts'
import { equalityOf } from '#api/meta/equality.ts'
import { mustBeNonNegative } from '#api/meta/formats.ts'
import { mustNotChange } from '#api/meta/immutable.ts'
import { type LabelSelectorOptions, validateLabelSelector } from '#api/meta/labels.ts'
import { dns1123Subdomain, mustBe, nameIsDns1123Subdomain } from '#api/meta/names.ts'
import { validateObjectMeta, validateObjectMetaUpdate } from '#api/meta/object-meta.ts'
import { compareQuantities } from '#api/meta/quantity.ts'
import { defineResource } from '#api/resource.ts'
import { CSIStorageCapacity } from '#api/storage/v1/kinds.gen.ts'
import type { V1CSIStorageCapacity } from '#api/storage/v1/types.gen.ts'

/** How much room a driver says there is for a class of volumes, in one part of the cluster. */
export const csiStorageCapacityResource = defineResource(CSIStorageCapacity, {
  generation: false,
  revalidatesMetadata: false,
  columns: defaultColumns,

  validate: (_capacity, check) => validateCapacity(check, {}),
  validateUpdate(_next, prev, check) {
    validateObjectMeta(check.at('metadata'), { scope: 'Namespaced', nameRule: nameIsDns1123Subdomain })
    validateCapacity(check, { allowInvalidValues: hasInvalidTopology(prev) })
    validateObjectMetaUpdate(check.at('metadata'), prev.metadata)
    mustNotChange(check.at('nodeTopology'), prev.nodeTopology, equalityOf(CSIStorageCapacity).at('nodeTopology'), '*meta.LabelSelector')
    mustNotChange(check.at('storageClassName'), prev.storageClassName)
  },
  warningsOnCreate: topologyWarnings,
  warningsOnUpdate: topologyWarnings,
})

function validateCapacity(check: Check<V1CSIStorageCapacity>, options: LabelSelectorOptions): void {
  const capacity = check.value
  if (capacity.nodeTopology != null) validateLabelSelector(check.at('nodeTopology'), options)
  mustBe(dns1123Subdomain, check.at('storageClassName').or(''))
  if (capacity.capacity != null && compareQuantities(capacity.capacity, '0') < 0) {
    check.at('capacity').invalid(mustBeNonNegative)
  }
}

function hasInvalidTopology({ nodeTopology }: V1CSIStorageCapacity): boolean {
  const scratch = new Check(nodeTopology)
  validateLabelSelector(scratch)
  return scratch.failed
}

function topologyWarnings({ nodeTopology }: V1CSIStorageCapacity): string[] {
  const warnings: string[] = []
  for (const [index, { key }] of (nodeTopology?.matchExpressions ?? []).entries()) {
    const message = deprecatedNodeLabelMessage(key)
    if (message !== undefined) warnings.push(`nodeTopology.matchExpressions[${index}].key: ${key} is ${message}`)
  }
  for (const label of Object.keys(nodeTopology?.matchLabels ?? {})) {
    const message = deprecatedNodeLabelMessage(label)
    if (message !== undefined) warnings.push(`nodeTopology.matchLabels.${label}: ${message}`)
  }
  return warnings
}
