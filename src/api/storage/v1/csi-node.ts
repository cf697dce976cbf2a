import { validateCsiDriverName } from '#api/core/v1/volume-sources.ts'
import type { Check } from '#api/meta/check.ts'
import { ageColumn, nameColumn } from '#api/meta/columns.ts'
import { equalityOf } from '#api/meta/equality.ts'
import { nonNegative } from '#api/meta/formats.ts'
import { mustNotChange } from '#api/meta/immutable.ts'
import { byteLength, mustBe, nameIsDns1123Subdomain, qualifiedName } from '#api/meta/names.ts'
import { validateObjectMeta } from '#api/meta/object-meta.ts'
import { defineResource, type RuleContext } from '#api/resource.ts'
import { CSINode } from '#api/storage/v1/kinds.gen.ts'
import type { V1CSINode, V1CSINodeDriver } from '#api/storage/v1/types.gen.ts'

const maxNodeIdLength = 256

/** The volume drivers that run on a node, and what each calls it. */
export const csiNodeResource = defineResource(CSINode, {
  generation: false,
  returnsDeletedObject: true,
  revalidatesMetadata: false,

  validate: validateDrivers,
  validateUpdate(next, prev, check, context) {
    validateObjectMeta(check.at('metadata'), { scope: 'Cluster', nameRule: nameIsDns1123Subdomain })
    validateDrivers(next, check)
    validateDriversUpdate(check.at('spec').at('drivers').with(next), prev, context)
  },

  columns: [
    nameColumn,
    {
      name: 'Drivers',
      type: 'integer',
      description: 'Drivers indicates the number of CSI drivers registered on the node',
      cell: ({ spec }) => spec?.drivers?.length ?? 0,
    },
    ageColumn,
  ],
})

function validateDrivers(_object: V1CSINode, check: Check<V1CSINode>): void {
  const names = new Set<string>()
  check
    .at('spec')
    .at('drivers')
    .each((item) => {
      const driver = item.value
      validateDriver(item, names)
      names.add(driver.name ?? '')
    })
}

function validateDriver(check: Check<V1CSINodeDriver>, names: ReadonlySet<string>): void {
  const driver = check.value
  const { name = '', nodeID = '', topologyKeys } = driver
  validateCsiDriverName(name, check.at('name'))
  if (nodeID === '') check.at('nodeID').required()
  if (byteLength(nodeID) > maxNodeIdLength) check.at('nodeID').or('').invalid(`must be ${maxNodeIdLength} characters or less`)
  nonNegative(check.at('allocatable').at('count'))
  if (names.has(name)) check.at('name').or('').duplicate()
  const keys = new Set<string>()
  for (const key of topologyKeys ?? []) {
    if (key === '') check.required()
    if (keys.has(key)) check.duplicate(key)
    keys.add(key)
    mustBe(qualifiedName, check.with(key))
  }
}

/** Drivers come and go, but while one is there only its allocatable count may change. */
function validateDriversUpdate(check: Check<V1CSINode>, prev: V1CSINode, context: RuleContext): void {
  const next = check.value
  const isCountMutable = context.isEnabled('MutableCSINodeAllocatableCount')
  const validated = ({ allocatable, ...rest }: V1CSINodeDriver) => (isCountMutable || allocatable == null ? rest : { ...rest, allocatable })
  const drivers = Map.groupBy(next.spec?.drivers ?? [], ({ name }) => name)
  for (const before of prev.spec?.drivers ?? []) {
    for (const driver of drivers.get(before.name) ?? []) {
      mustNotChange(
        check.with(validated(driver)),
        validated(before),
        equalityOf(CSINode).at('spec').at('drivers').each,
        'storage.CSINodeDriver',
      )
    }
  }
}
