import { validateEndpointIp } from '#api/core/v1/endpoint-ip.ts'
import { Endpoints } from '#api/core/v1/kinds.gen.ts'
import { validatePortNumber, validateProtocol } from '#api/core/v1/pod-spec/validate-ports.ts'
import type { V1EndpointAddress, V1EndpointPort, V1EndpointSubset, V1Endpoints } from '#api/core/v1/types.gen.ts'
import type { Check } from '#api/meta/check.ts'
import { ageColumn, nameColumn } from '#api/meta/columns.ts'
import { equalityOf } from '#api/meta/equality.ts'
import { ipForLegacyField, warningsForIp } from '#api/meta/ip.ts'
import { dns1123Label, dns1123Subdomain, mustBe, nameIsDns1123Subdomain, qualifiedName } from '#api/meta/names.ts'
import { validateObjectMeta } from '#api/meta/object-meta.ts'
import { defineResource } from '#api/resource.ts'
import { append } from '#base/append.ts'

const sameSubsets = equalityOf(Endpoints).at('subsets')

export const endpointsResource = defineResource(Endpoints, {
  storagePath: 'services/endpoints',
  deprecated: { deprecatedIn: '1.33', replacement: 'discovery.k8s.io/v1 EndpointSlice' },
  allowCreateOnUpdate: true,
  allowUnconditionalUpdate: true,

  defaults({ subsets }) {
    for (const { ports } of subsets ?? []) for (const port of ports ?? []) port.protocol ||= 'TCP'
  },

  validate: (_object, check) => validateSubsets(check.at('subsets').or([])),
  warningsOnCreate: endpointsWarnings,

  validateUpdate(next, prev, check) {
    validateObjectMeta(check.at('metadata'), { scope: 'Namespaced', nameRule: nameIsDns1123Subdomain })
    // What was stored under older rules may stay, as long as nobody touches it.
    if (!sameSubsets(next.subsets, prev.subsets)) validateSubsets(check.at('subsets').or([]))
  },
  warningsOnUpdate: endpointsWarnings,

  columns: [
    nameColumn,
    { name: 'Endpoints', type: 'string', description: { field: 'Endpoints.subsets' }, cell: ({ subsets }) => addressesCell(subsets ?? []) },
    ageColumn,
  ],
})

function validateSubsets(check: Check<readonly V1EndpointSubset[]>): void {
  for (const at of check.items()) {
    const { addresses = [], notReadyAddresses = [], ports = [] } = at.value
    if (addresses.length === 0 && notReadyAddresses.length === 0) at.required('must specify `addresses` or `notReadyAddresses`')
    for (const here of at.at('addresses').items()) validateAddress(here)
    for (const here of at.at('notReadyAddresses').items()) validateAddress(here)
    for (const here of at.at('ports').items()) validatePort(here, ports.length > 1)
  }
}

function validateAddress(check: Check<V1EndpointAddress>): void {
  const { hostname, nodeName } = check.value
  ipForLegacyField(check.at('ip').or(''))
  if (hostname) mustBe(dns1123Label, check.at('hostname').present)
  if (nodeName !== undefined) mustBe(dns1123Subdomain, check.at('nodeName').present)
  validateEndpointIp(check.at('ip').or(''))
}

function validatePort(check: Check<V1EndpointPort>, needsName: boolean): void {
  const { name, appProtocol } = check.value
  if (name) mustBe(dns1123Label, check.at('name').present)
  else if (needsName) check.at('name').required()
  validatePortNumber(check.at('port').or(0))
  validateProtocol(check.at('protocol'))
  if (appProtocol !== undefined) mustBe(qualifiedName, check.at('appProtocol').present)
}

/** The controller's own objects mirror what somebody else was warned of. */
function endpointsWarnings({ metadata, subsets = [] }: V1Endpoints): string[] {
  if (metadata.labels?.['endpoints.kubernetes.io/managed-by'] === 'endpoint-controller') return []
  return subsets.flatMap(({ addresses = [], notReadyAddresses = [] }, index) => [
    ...addresses.flatMap(({ ip = '' }, place) => warningsForIp(`subsets[${index}].addresses[${place}].ip`, ip)),
    ...notReadyAddresses.flatMap(({ ip = '' }, place) => warningsForIp(`subsets[${index}].notReadyAddresses[${place}].ip`, ip)),
  ])
}

const shownAddresses = 3

function addressesCell(subsets: readonly V1EndpointSubset[]): string {
  if (subsets.length === 0) return '<none>'
  const all: string[] = []
  for (const { addresses = [], ports = [] } of subsets) {
    const ips = addresses.map(({ ip = '' }) => ip)
    if (ports.length === 0) append(all, ips)
    for (const { port = 0 } of ports)
      append(
        all,
        ips.map((ip) => (ip.includes(':') ? `[${ip}]:${port}` : `${ip}:${port}`)),
      )
  }
  const shown = all.slice(0, shownAddresses).join(',')
  return all.length > shownAddresses ? `${shown} + ${all.length - shownAddresses} more...` : shown
}
