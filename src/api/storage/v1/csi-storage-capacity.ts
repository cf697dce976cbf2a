import { deprecatedNodeLabelMessage } from '#api/core/v1/deprecated-node-labels.ts'
import { Check } from '#api/meta/check.ts'
import { defaultColumns } from '#api/meta/columns.ts'
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
  rejudgesMetadata: false,
  columns: defaultColumns,

  validate: (capacity, check) => validateCapacity(capacity, check, {}),
  validateUpdate(next, prev, check) {
    validateObjectMeta(next.metadata, { scope: 'Namespaced', nameRule: nameIsDns1123Subdomain }, check.at('metadata'))
    validateCapacity(next, check, { allowInvalidValues: hasInvalidTopology(prev) })
    validateObjectMetaUpdate(next.metadata, prev.metadata, check.at('metadata'))
    mustNotChange(next.nodeTopology, prev.nodeTopology, check.at('nodeTopology'), '*meta.LabelSelector')
    mustNotChange(next.storageClassName, prev.storageClassName, check.at('storageClassName'))
  },
  warningsOnCreate: topologyWarnings,
  warningsOnUpdate: topologyWarnings,
})

function validateCapacity(capacity: V1CSIStorageCapacity, check: Check, options: LabelSelectorOptions): void {
  if (capacity.nodeTopology != null) validateLabelSelector(capacity.nodeTopology, check.at('nodeTopology'), options)
  mustBe(dns1123Subdomain, capacity.storageClassName ?? '', check.at('storageClassName'))
  if (capacity.capacity != null && compareQuantities(capacity.capacity, '0') < 0) {
    check.at('capacity').invalid(capacity.capacity, mustBeNonNegative)
  }
}

function hasInvalidTopology({ nodeTopology }: V1CSIStorageCapacity): boolean {
  const scratch = new Check()
  validateLabelSelector(nodeTopology, scratch)
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
