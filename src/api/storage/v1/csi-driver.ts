import type { Check } from '#api/meta/check.ts'
import { ageColumn, nameColumn } from '#api/meta/columns.ts'
import { equalityOf } from '#api/meta/equality.ts'
import { mustNotChange } from '#api/meta/immutable.ts'
import { type Column, defineResource, type RuleContext } from '#api/resource.ts'
import { CSIDriver } from '#api/storage/v1/kinds.gen.ts'
import type { V1CSIDriver, V1CSIDriverSpec, V1TokenRequest } from '#api/storage/v1/types.gen.ts'

const sameSpec = equalityOf(CSIDriver).at('spec')

/** What a volume driver wants of the cluster. */
export const csiDriverResource = defineResource(CSIDriver, {
  generation: 'spec',
  returnsDeletedObject: true,

  defaults(driver) {
    driver.spec ??= {}
    const { spec } = driver
    spec.attachRequired ??= true
    spec.podInfoOnMount ??= false
    spec.storageCapacity ??= false
    spec.fsGroupPolicy ??= 'ReadWriteOnceWithFSType'
    if (!spec.volumeLifecycleModes?.length) spec.volumeLifecycleModes = ['Persistent']
    spec.requiresRepublish ??= false
    spec.seLinuxMount ??= false
  },
  prepareForCreate({ metadata, spec }, context) {
    // Changes are counted, but from none.
    delete metadata.generation
    dropDisabled(spec, undefined, context)
  },
  prepareForUpdate(next, prev, context) {
    dropDisabled(next.spec, prev.spec, context)
  },
  validate: (_driver, check, context) => validateSpec(check.at('spec'), context),
  validateUpdate(next, prev, check, context) {
    validateSpec(check.at('spec'), context)
    mustNotChange(check.at('spec').dynamic('attachedRequired').with(next.spec.attachRequired), prev.spec.attachRequired)
    mustNotChange(check.at('spec').at('volumeLifecycleModes'), prev.spec.volumeLifecycleModes, sameSpec.at('volumeLifecycleModes'))
  },
  warningsOnCreate: ({ spec }) => (sendsTokensInAttributes(spec) ? [tokenWarning] : []),
  warningsOnUpdate: (next, prev) =>
    sendsTokensInAttributes(next.spec) && !sameSpec.at('tokenRequests')(next.spec.tokenRequests, prev.spec.tokenRequests)
      ? [tokenWarning]
      : [],

  columns: [
    nameColumn,
    booleanColumn('AttachRequired', 'attachRequired', true),
    booleanColumn('PodInfoOnMount', 'podInfoOnMount', false),
    booleanColumn('StorageCapacity', 'storageCapacity', false),
    {
      name: 'TokenRequests',
      type: 'string',
      description: { field: 'CSIDriverSpec.tokenRequests' },
      cell: ({ spec }) => spec?.tokenRequests?.map(({ audience }) => audience).join(',') ?? '<unset>',
    },
    booleanColumn('RequiresRepublish', 'requiresRepublish', false),
    {
      name: 'Modes',
      type: 'string',
      description: { field: 'CSIDriverSpec.volumeLifecycleModes' },
      cell: ({ spec }) => spec?.volumeLifecycleModes?.join(',') || '<none>',
    },
    ageColumn,
  ],
})

type Switch = 'attachRequired' | 'podInfoOnMount' | 'storageCapacity' | 'requiresRepublish'

function booleanColumn(name: string, field: Switch, otherwise: boolean): Column<V1CSIDriver> {
  return { name, type: 'boolean', description: { field: `CSIDriverSpec.${field}` }, cell: ({ spec }) => spec?.[field] ?? otherwise }
}

const tokenWarning =
  'spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to true to prevent possible logging of tokens in volume attributes'

function sendsTokensInAttributes({ tokenRequests, serviceAccountTokenInSecrets }: V1CSIDriverSpec): boolean {
  return tokenRequests !== undefined && tokenRequests.length > 0 && serviceAccountTokenInSecrets == null
}

const gates = {
  seLinuxMount: 'SELinuxMountReadWriteOncePod',
  nodeAllocatableUpdatePeriodSeconds: 'MutableCSINodeAllocatableCount',
  serviceAccountTokenInSecrets: 'CSIServiceAccountTokenSecrets',
  preventPodSchedulingIfMissing: 'VolumeLimitScaling',
} as const

function dropDisabled(spec: V1CSIDriverSpec, prev: V1CSIDriverSpec | undefined, context: RuleContext): void {
  for (const field of Object.keys(gates) as (keyof typeof gates)[]) {
    if (prev?.[field] == null && !context.isEnabled(gates[field])) delete spec[field]
  }
  // Defaults know nothing of gates, hence this one is filled in here.
  if (context.isEnabled(gates.preventPodSchedulingIfMissing)) spec.preventPodSchedulingIfMissing ??= false
}

const fsGroupPolicies = ['File', 'None', 'ReadWriteOnceWithFSType']
const lifecycleModes = ['Persistent', 'Ephemeral']

function validateSpec(check: Check<V1CSIDriverSpec>, context: RuleContext): void {
  const spec = check.value
  // The path is upstream's, although the field is attachRequired.
  if (spec.attachRequired == null) check.dynamic('attachedRequired').required()
  if (spec.podInfoOnMount == null) check.at('podInfoOnMount').required()
  if (spec.storageCapacity == null) check.at('storageCapacity').required()
  if (spec.fsGroupPolicy != null && !fsGroupPolicies.includes(spec.fsGroupPolicy)) {
    check.at('fsGroupPolicy').notSupported(fsGroupPolicies)
  }
  validateTokenRequests(check.at('tokenRequests'))
  for (const mode of spec.volumeLifecycleModes ?? []) {
    if (!lifecycleModes.includes(mode)) check.at('volumeLifecycleModes').notSupported(lifecycleModes, mode)
  }
  if (spec.seLinuxMount == null && context.isEnabled(gates.seLinuxMount)) check.at('seLinuxMount').required()
  const period = spec.nodeAllocatableUpdatePeriodSeconds
  if (period != null && period < 10) {
    check.at('nodeAllocatableUpdatePeriodSeconds').invalid('must be greater than or equal to 10 seconds')
  }
  if (spec.serviceAccountTokenInSecrets != null && !spec.tokenRequests?.length) {
    check.at('serviceAccountTokenInSecrets').invalid('serviceAccountTokenInSecrets is set but no tokenRequests are specified')
  }
  if (spec.preventPodSchedulingIfMissing == null && context.isEnabled(gates.preventPodSchedulingIfMissing)) {
    check.at('preventPodSchedulingIfMissing').required()
  }
}

function validateTokenRequests(check: Check<readonly V1TokenRequest[] | undefined>): void {
  const audiences = new Set<string>()
  check.each((item) => {
    const { audience = '', expirationSeconds } = item.value
    if (audiences.has(audience)) {
      item.at('audience').or('').duplicate()
      return
    }
    audiences.add(audience)
    if (expirationSeconds == null) return
    const expiration = item.at('expirationSeconds')
    if (expirationSeconds < 600) expiration.invalid('may not specify a duration less than 10 minutes')
    if (expirationSeconds > 2 ** 32) expiration.invalid('may not specify a duration larger than 2^32 seconds')
  })
}
