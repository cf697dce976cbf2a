import { deprecatedNodeLabelMessage } from '#api/core/v1/deprecated-node-labels.ts'
import type { V1TopologySelectorTerm } from '#api/core/v1/types.gen.ts'
import type { Check } from '#api/meta/check.ts'
import { ageColumn, nameColumn } from '#api/meta/columns.ts'
import { each } from '#api/meta/each.ts'
import { semanticEqual } from '#api/meta/equality.ts'
import { mustNotChange } from '#api/meta/immutable.ts'
import { mustBe, nameIsDns1123Subdomain, qualifiedName } from '#api/meta/names.ts'
import { validateObjectMeta, validateObjectMetaUpdate } from '#api/meta/object-meta.ts'
import { asInternal } from '#api/meta/quote-internal.ts'
import { defineResource } from '#api/resource.ts'
import { StorageClass } from '#api/storage/v1/kinds.gen.ts'
import { validateParameters, validateProvisioner } from '#api/storage/v1/parameters.ts'
import type { V1StorageClass } from '#api/storage/v1/types.gen.ts'

/** How volumes are made for the claims that name this class. */
export const storageClassResource = defineResource(StorageClass, {
  generation: false,
  returnsDeletedObject: true,
  rejudgesMetadata: false,
  allowUnconditionalUpdate: true,

  defaults(storageClass) {
    storageClass.reclaimPolicy ??= 'Delete'
    storageClass.volumeBindingMode ??= 'Immediate'
  },
  validate: validateStorageClass,
  validateUpdate(next, prev, check) {
    validateObjectMeta(next.metadata, { scope: 'Cluster', nameRule: nameIsDns1123Subdomain }, check.at('metadata'))
    validateStorageClass(next, check)
    validateObjectMetaUpdate(next.metadata, prev.metadata, check.at('metadata'))
    if (!semanticEqual({ parameters: next.parameters }, { parameters: prev.parameters })) {
      check.at('parameters').invalid(asInternal('{s', next.parameters), 'field is immutable')
    }
    mustNotChange(next.provisioner, prev.provisioner, check.at('provisioner'))
    mustNotChange(next.reclaimPolicy, prev.reclaimPolicy, check.at('reclaimPolicy'))
    mustNotChange(next.volumeBindingMode, prev.volumeBindingMode, check.at('volumeBindingMode'))
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

function validateStorageClass(storageClass: V1StorageClass, check: Check): void {
  const { provisioner, parameters, reclaimPolicy, volumeBindingMode, allowedTopologies } = storageClass
  validateProvisioner(provisioner, check.at('provisioner'))
  validateParameters(parameters, check.at('parameters'))
  if (reclaimPolicy && !reclaimPolicies.includes(reclaimPolicy)) check.at('reclaimPolicy').notSupported(reclaimPolicy, reclaimPolicies)
  if (volumeBindingMode == null) check.at('volumeBindingMode').required()
  else if (!bindingModes.includes(volumeBindingMode)) check.at('volumeBindingMode').notSupported(volumeBindingMode, bindingModes)
  validateTopologies(allowedTopologies ?? [], check.at('allowedTopologies'))
}

function validateTopologies(terms: readonly V1TopologySelectorTerm[], check: Check): void {
  // Upstream starts with an empty term for each one there is, so that an empty term is a duplicate from the beginning.
  const seen = terms.map(() => '')
  each(terms, check, (term, item) => {
    const shape = validateTopologyTerm(term, item.at('matchLabelExpressions'))
    for (const other of seen) if (other === shape) item.at('matchLabelExpressions').duplicate('')
    seen.push(shape)
  })
}

/** Returns a text that is the same for terms that mean the same. */
function validateTopologyTerm({ matchLabelExpressions }: V1TopologySelectorTerm, check: Check): string {
  const valuesOf = new Map<string, string[]>()
  each(matchLabelExpressions, check, ({ key = '', values = [] }, item) => {
    if (values.length === 0) item.at('values').required()
    const distinct = new Set<string>()
    each(values, item.at('values'), (value, place) => {
      if (distinct.has(value)) place.duplicate(value)
      distinct.add(value)
    })
    mustBe(qualifiedName, key, item.at('key'))
    if (valuesOf.has(key)) item.at('key').duplicate(key)
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
