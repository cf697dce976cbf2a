import { Check } from '#api/meta/check.ts'
import { nameColumn } from '#api/meta/columns.ts'
import { equalityOf } from '#api/meta/equality.ts'
import { mustNotChange } from '#api/meta/immutable.ts'
import { validIp } from '#api/meta/ip.ts'
import { dns1123Subdomain, mustBe, type NameRule, pathSegmentName } from '#api/meta/names.ts'
import { validateObjectMeta, validateObjectMetaUpdate } from '#api/meta/object-meta.ts'
import { IPAddress } from '#api/networking/v1/kinds.gen.ts'
import type { V1IPAddress, V1ParentReference } from '#api/networking/v1/types.gen.ts'
import { defineResource } from '#api/resource.ts'

const nameIsIp: NameRule = (name) => {
  const check = new Check(name)
  validIp(check)
  return check.errors.map(({ body }) => body.slice(body.lastIndexOf(`": `) + 3))
}

/** Marks one address of a service range as taken, and by whom. */
export const ipAddressResource = defineResource(IPAddress, {
  nameRule: nameIsIp,
  generation: false,
  revalidatesMetadata: false,
  allowUnconditionalUpdate: true,

  validate: (address, check) => validateSpec(address.spec, check.at('spec').at('parentRef')),
  validateUpdate(next, prev, check) {
    validateObjectMeta(check.at('metadata'), { scope: 'Cluster', nameRule: nameIsIp })
    validateSpec(next.spec, check.at('spec').at('parentRef'))
    validateObjectMetaUpdate(check.at('metadata'), prev.metadata)
    mustNotChange(
      check.at('spec').at('parentRef'),
      prev.spec?.parentRef,
      equalityOf(IPAddress).at('spec').at('parentRef'),
      '*networking.ParentReference',
    )
  },

  columns: [
    nameColumn,
    {
      name: 'ParentRef',
      type: 'string',
      description: { field: 'IPAddressSpec.parentRef' },
      cell: ({ spec }) => parentCell(spec?.parentRef),
    },
  ],
})

function validateSpec(spec: V1IPAddress['spec'], check: Check<V1ParentReference>): void {
  const parent = spec?.parentRef as V1ParentReference | undefined
  if (parent == null) {
    check.required()
    return
  }
  const { group, resource, name, namespace } = parent
  if (group) mustBe(dns1123Subdomain, check.at('group').with(group))
  if (!resource) check.at('resource').required()
  else mustBe(pathSegmentName, check.at('resource').with(resource))
  if (!name) check.at('name').required()
  else mustBe(pathSegmentName, check.at('name').with(name))
  if (namespace) mustBe(pathSegmentName, check.at('namespace').with(namespace))
}

function parentCell(parent: V1ParentReference | undefined): string {
  if (parent == null) return '<none>'
  const resource = (parent.group ? `${parent.resource}.${parent.group}` : parent.resource).toLowerCase()
  return [resource, parent.namespace, parent.name].filter(Boolean).join('/')
}
