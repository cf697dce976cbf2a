import type { Check } from '#api/meta/check.ts'
import { ageColumn, nameColumn } from '#api/meta/columns.ts'
import { isIpv4, parseCidr, validCidr } from '#api/meta/ip.ts'
import { asInternal } from '#api/meta/quote-internal.ts'
import { ServiceCIDR } from '#api/networking/v1/kinds.gen.ts'
import type { V1ServiceCIDR } from '#api/networking/v1/types.gen.ts'
import { defineResource } from '#api/resource.ts'

/** A range that services get their cluster addresses from; two make it dual-stack. */
export const serviceCIDRResource = defineResource(ServiceCIDR, {
  generation: false,
  allowUnconditionalUpdate: true,

  validate: (range, check) => validateSpec(range, check.at('spec').at('cidrs')),
  validateUpdate: (next, prev, check) => validateCidrsUpdate(next, prev, check.at('spec').at('cidrs')),

  subresources: {
    status: {
      splitGate: 'ServiceCIDRStatusFieldWiping',
      keepsMetadata: 'all',
    },
  },

  columns: [
    nameColumn,
    {
      name: 'CIDRs',
      type: 'string',
      description: { field: 'ServiceCIDRSpec.cidrs' },
      cell: ({ spec }) => (spec?.cidrs ?? []).join(','),
    },
    ageColumn,
  ],
})

function validateSpec({ spec }: V1ServiceCIDR, check: Check<unknown>): void {
  const cidrs = spec?.cidrs ?? []
  if (cidrs.length === 0) {
    check.required('at least one CIDR required')
    return
  }
  if (cidrs.length > 2) {
    check.invalid('may only hold up to 2 values', asInternal('networking.ServiceCIDRSpec', spec))
    return
  }
  check.with(cidrs).each(validCidr)
  const [first, second] = cidrs.map(familyOf)
  if (first !== undefined && first === second) {
    check.invalid('may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64', cidrs)
  }
}

function familyOf(text: string): 4 | 6 | undefined {
  const cidr = parseCidr(text)
  if (cidr === undefined) return undefined
  return isIpv4(cidr.network) ? 4 : 6
}

/** Nothing may change but that a second family joins the first. */
function validateCidrsUpdate(next: V1ServiceCIDR, prev: V1ServiceCIDR, check: Check<string[] | undefined>): void {
  const cidrs = next.spec?.cidrs ?? []
  const before = prev.spec?.cidrs ?? []
  const isWidened = before.length === 1 && cidrs.length === 2
  if (cidrs.length !== before.length && !isWidened) {
    check.invalid('field is immutable', next.spec?.cidrs)
    return
  }
  for (const [index, cidr] of before.entries()) {
    if (cidrs[index] !== cidr) check.at(index).invalid('field is immutable', cidrs[index])
  }
  if (isWidened) validateSpec(next, check)
}
