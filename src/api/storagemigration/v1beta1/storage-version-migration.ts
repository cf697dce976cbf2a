import type { Check } from '#api/meta/check.ts'
import { nameColumn } from '#api/meta/columns.ts'
import { validateConditions } from '#api/meta/conditions.ts'
import { equalityOf } from '#api/meta/equality.ts'
import { isConditionTrue } from '#api/meta/find-condition.ts'
import { groupResourceText } from '#api/meta/gvk.ts'
import { mustNotChange } from '#api/meta/immutable.ts'
import { dns1035Label, dns1123Subdomain, nameIsDns1123Subdomain } from '#api/meta/names.ts'
import { validateObjectMeta, validateObjectMetaUpdate } from '#api/meta/object-meta.ts'
import { asInternal } from '#api/meta/quote-internal.ts'
import { defineResource } from '#api/resource.ts'
import { StorageVersionMigration } from '#api/storagemigration/v1beta1/kinds.gen.ts'
import type { V1beta1StorageVersionMigrationSpec, V1beta1StorageVersionMigrationStatus } from '#api/storagemigration/v1beta1/types.gen.ts'

export const storageVersionMigrationResource = defineResource(StorageVersionMigration, {
  featureGate: 'StorageVersionMigrator',
  defaultPropagation: 'Background',

  defaults(migration) {
    migration.spec ??= {} as V1beta1StorageVersionMigrationSpec
  },
  validate: (_object, check) => validateSpec(check.at('spec')),
  revalidatesMetadata: false,
  validateUpdate(_next, prev, check) {
    validateObjectMeta(check.at('metadata'), { scope: 'Cluster', nameRule: nameIsDns1123Subdomain })
    validateSpec(check.at('spec'))
    validateObjectMetaUpdate(check.at('metadata'), prev.metadata)
    mustNotChange(
      check.at('spec'),
      prev.spec,
      equalityOf(StorageVersionMigration).at('spec'),
      'storagemigration.StorageVersionMigrationSpec',
    )
  },

  subresources: {
    status: {
      keepsMetadata: 'all',
      validateUpdate: (_next, prev, check) => validateStatus(check.at('status').or({}), prev.status),
    },
  },

  columns: [
    { name: 'Name', type: 'string', description: nameColumn.description, cell: ({ metadata }) => metadata.name ?? '' },
    {
      name: 'Resource',
      type: 'string',
      description: 'GroupResource to migrate',
      cell: ({ spec }) => groupResourceText({ group: spec.resource.group ?? '', resource: spec.resource.resource }),
    },
    { name: 'Status', type: 'string', description: 'Status of the migration', cell: ({ status }) => statusCell(status) },
  ],
})

function statusCell(status: V1beta1StorageVersionMigrationStatus | undefined): string {
  const known = ['Running', 'Failed', 'Succeeded']
  return status?.conditions?.findLast((each) => each.status === 'True' && known.includes(each.type))?.type ?? 'Unknown'
}

function validateSpec(check: Check<V1beta1StorageVersionMigrationSpec>): void {
  const { resource: target } = check.value
  const { group = '', resource = '' } = target ?? {}
  if (resource === '') check.at('resource').at('resource').required('resource is required to be set')
  else mustBeAllOf(dns1035Label(resource), resource, check.at('resource').at('resource'))
  if (group !== '') mustBeAllOf(dns1123Subdomain(group), group, check.at('resource').at('group'))
}

function mustBeAllOf(problems: readonly string[], value: string, check: Check<unknown>): void {
  if (problems.length > 0) check.invalid(problems.join(','), value)
}

function isTrue(status: V1beta1StorageVersionMigrationStatus | undefined, type: string): boolean {
  return isConditionTrue(status?.conditions, type)
}

function validateStatus(check: Check<V1beta1StorageVersionMigrationStatus>, prev: V1beta1StorageVersionMigrationStatus | undefined): void {
  const status = check.value
  const { resourceVersion = '' } = status
  const conditions = check.at('conditions')
  const shown = () => asInternal('[meta.Condition', status.conditions)
  if (resourceVersion !== '' && !/^[1-9][0-9]*$/.test(resourceVersion)) {
    check.at('resourceVersion').or('').invalid(`resource version is not well formed: ${resourceVersion}`)
  }
  validateConditions(conditions)
  if (prev?.resourceVersion && prev.resourceVersion !== resourceVersion) {
    check.at('resourceVersion').or('').invalid('field is immutable')
  }
  const succeeded = isTrue(status, 'Succeeded')
  const failed = isTrue(status, 'Failed')
  if (succeeded && failed) conditions.invalid('Both success and failed conditions cannot be true at the same time', shown())
  if (isTrue(prev, 'Succeeded') && !succeeded) conditions.invalid('Success condition cannot be set to false once it is true', shown())
  if (isTrue(prev, 'Failed') && !failed) conditions.invalid('Failed condition cannot be set to false once it is true', shown())
}
