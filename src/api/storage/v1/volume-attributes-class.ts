import type { Check } from '#api/meta/check.ts'
import { ageColumn, nameColumn } from '#api/meta/columns.ts'
import { equalityOf } from '#api/meta/equality.ts'
import { nameIsDns1123Subdomain } from '#api/meta/names.ts'
import { validateObjectMeta } from '#api/meta/object-meta.ts'
import { defineResource } from '#api/resource.ts'
import { VolumeAttributesClass } from '#api/storage/v1/kinds.gen.ts'
import { validateParameters, validateProvisioner } from '#api/storage/v1/parameters.ts'
import type { V1VolumeAttributesClass } from '#api/storage/v1/types.gen.ts'

const sameParameters = equalityOf(VolumeAttributesClass).at('parameters')

/** Attributes of a volume that may be changed while it is in use. */
export const volumeAttributesClassResource = defineResource(VolumeAttributesClass, {
  generation: false,
  returnsDeletedObject: true,
  allowUnconditionalUpdate: true,

  validate: validateClass,
  validateUpdate(next, prev, check) {
    if (next.driverName !== prev.driverName) check.at('driverName').forbidden('updates to driverName are forbidden.')
    if (!sameParameters(next.parameters, prev.parameters)) check.at('parameters').forbidden('updates to parameters are forbidden.')
    validateObjectMeta(check.at('metadata'), { scope: 'Cluster', nameRule: nameIsDns1123Subdomain })
    validateClass(next, check)
  },

  columns: [
    nameColumn,
    {
      name: 'DriverName',
      type: 'string',
      description: { field: 'VolumeAttributesClass.driverName' },
      cell: ({ driverName }) => driverName ?? '',
    },
    ageColumn,
  ],
})

function validateClass({ parameters }: V1VolumeAttributesClass, check: Check<V1VolumeAttributesClass>): void {
  validateProvisioner(check.at('driverName'))
  validateParameters(check.at('parameters'))
  if (Object.keys(parameters ?? {}).length === 0) check.at('parameters').required('must contain at least one key/value pair')
}
