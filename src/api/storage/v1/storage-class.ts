import { deprecatedNodeLabelMessage } from '#api/core/v1/deprecated-node-labels.ts'
import type { V1TopologySelectorTerm } from '#api/core/v1/types.gen.ts'
import type { Check } from '#api/meta/check.ts'
import { ageColumn, nameColumn } from '#api/meta/columns.ts'
import { equalityOf } from '#api/meta/equality.ts'
import { mustNotChange } from '#api/meta/immutable.ts'
import { mustBe, nameIsDns1123Subdomain, qualifiedName } from '#api/meta/names.ts'
import { validateObjectMeta, validateObjectMetaUpdate } from '#api/meta/object-meta.ts'
import { asInternal } from '#api/meta/quote-internal.ts'
import { defineResource } from '#api/resource.ts'
import { StorageClass } from '#api/storage/v1/kinds.gen.ts'
import { validateParameters, validateProvisioner } from '#api/storage/v1/parameters.ts'
import type { V1StorageClass } from '#api/storage/v1/types.gen.ts'

const sameParameters = equalityOf(StorageClass).at('parameters')

/** How volumes are made for the claims that name this class. */
export const storageClassResource = defineResource(StorageClass, {
  generation: false,
  returnsDeletedObject: true,
  revalidatesMetadata: false,
  allowUnconditionalUpdate: true,

  defaults(storageClass) {
    storageClass.reclaimPolicy ??= 'Delete'
    storageClass.volumeBindingMode ??= 'Immediate'
  },
  validate: validateStorageClass,
  validateUpdate(next, prev, check) {
    validateObjectMeta(check.at('metadata'), { scope: 'Cluster', nameRule: nameIsDns1123Subdomain })
    validateStorageClass(next, check)
    validateObjectMetaUpdate(check.at('metadata'), prev.metadata)
    if (!sameParameters(next.parameters, prev.parameters)) {
      check.at('parameters').invalid('field is immutable', asInternal('{s', next.parameters))
    }
    mustNotChange(check.at('provisioner'), prev.provisioner)
    mustNotChange(check.at('reclaimPolicy'), prev.reclaimPolicy)
    mustNotChange(check.at('volumeBindingMode'), prev.volumeBindingMode)
  },
  warningsOnCreate: topologyWarnings,
  warningsOnUpdate: topologyWarnings,

  columns: [
    { ...nameColumn, cell: ({ metadata }) => `${metadata.name ?? ''}${isDefaultStorageClass(metadata) ? ' (default)' : ''}` },
    {
      name: 'Provisioner',
      type: 'string',
      description: { field: 'StorageClass.provisioner' },
      cell: ({ provisioner }) => provisioner ?? '',
    },
    {
      name: 'ReclaimPolicy',
      type: 'string',
      description: { field: 'StorageClass.reclaimPolicy' },
      cell: ({ reclaimPolicy }) => reclaimPolicy ?? 'Delete',
    },
    {
      name: 'VolumeBindingMode',
      type: 'string',
      description: { field: 'StorageClass.volumeBindingMode' },
      cell: ({ volumeBindingMode }) => volumeBindingMode ?? 'Immediate',
    },
    {
      name: 'AllowVolumeExpansion',
      type: 'string',
      description: { field: 'StorageClass.allowVolumeExpansion' },
      cell: ({ allowVolumeExpansion }) => allowVolumeExpansion ?? false,
    },
    ageColumn,
  ],
})

/** The class that claims without one get; the older of the two annotations still counts. */
function isDefaultStorageClass({ annotations }: V1StorageClass['metadata']): boolean {
  return (
    annotations?.['storageclass.kubernetes.io/is-default-class'] === 'true' ||
    annotations?.['storageclass.beta.kubernetes.io/is-default-class'] === 'true'
  )
}

const reclaimPolicies = ['Delete', 'Retain']
const bindingModes = ['Immediate', 'WaitForFirstConsumer']

function validateStorageClass(storageClass: V1StorageClass, check: Check<V1StorageClass>): void {
  const { reclaimPolicy, volumeBindingMode } = storageClass
  validateProvisioner(check.at('provisioner'))
  validateParameters(check.at('parameters'))
  if (reclaimPolicy && !reclaimPolicies.includes(reclaimPolicy)) check.at('reclaimPolicy').notSupported(reclaimPolicies)
  if (volumeBindingMode == null) check.at('volumeBindingMode').required()
  else if (!bindingModes.includes(volumeBindingMode)) check.at('volumeBindingMode').notSupported(bindingModes)
  validateTopologies(check.at('allowedTopologies').or([]))
}

function validateTopologies(check: Check<readonly V1TopologySelectorTerm[]>): void {
  // Upstream starts with an empty term for each one there is, so that an empty term is a duplicate from the beginning.
  const seen = new Map([['', check.value.length]])
  check.each((item) => {
    const term = item.value
    const shape = validateTopologyTerm(item.at('matchLabelExpressions').with(term))
    const times = seen.get(shape) ?? 0
    // Once for each it repeats, as upstream has it.
    for (let count = times; count > 0 && !item.isFull; count--) item.at('matchLabelExpressions').duplicate('')
    seen.set(shape, times + 1)
  })
}

/** Returns a text that is the same for terms that mean the same. */
function validateTopologyTerm(check: Check<V1TopologySelectorTerm>): string {
  const { matchLabelExpressions } = check.value
  const valuesOf = new Map<string, string[]>()
  check.with(matchLabelExpressions).each((item) => {
    const { key = '', values = [] } = item.value
    if (values.length === 0) item.at('values').required()
    const distinct = new Set<string>()
    item.at('values').each((place) => {
      const value = place.value
      if (distinct.has(value)) place.duplicate()
      distinct.add(value)
    })
    mustBe(qualifiedName, item.at('key').or(''))
    if (valuesOf.has(key)) item.at('key').or('').duplicate()
    valuesOf.set(key, [...distinct].sort())
  })
  return valuesOf.size === 0 ? '' : JSON.stringify([...valuesOf].sort(([one], [other]) => (one < other ? -1 : 1)))
}

function topologyWarnings({ allowedTopologies }: V1StorageClass): string[] {
  return (allowedTopologies ?? []).flatMap((term, index) =>
    (term.matchLabelExpressions ?? []).flatMap(({ key }, place) => {
      const message = deprecatedNodeLabelMessage(key)
      return message === undefined ? [] : `allowedTopologies[${index}].matchLabelExpressions[${place}].key: ${message}`
    }),
  )
}
