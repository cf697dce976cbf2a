import { EndpointSlice } from '#api/discovery/v1/kinds.gen.ts'
import type { V1Endpoint, V1EndpointPort, V1EndpointSlice } from '#api/discovery/v1/types.gen.ts'
import { validateEndpoints, validatePorts } from '#api/discovery/v1/validate-endpoints.ts'
import { Check } from '#api/meta/check.ts'
import { ageColumn, nameColumn } from '#api/meta/columns.ts'
import { equalityOf } from '#api/meta/equality.ts'
import { mustNotChange } from '#api/meta/immutable.ts'
import { warningsForIp } from '#api/meta/ip.ts'
import { nameIsDns1123Subdomain } from '#api/meta/names.ts'
import { validateObjectMeta } from '#api/meta/object-meta.ts'
import { defineResource, type RuleContext } from '#api/resource.ts'
import { append } from '#base/append.ts'

const sameSlice = equalityOf(EndpointSlice)

const addressTypes = ['FQDN', 'IPv4', 'IPv6']
const hostnameLabel = 'kubernetes.io/hostname'
const managedByLabel = 'endpointslice.kubernetes.io/managed-by'
/** Controllers copy what users wrote elsewhere, where they were warned already. */
const unwarnedManagers = ['endpointslice-controller.k8s.io', 'endpointslicemirroring-controller.k8s.io']

export const endpointSliceResource = defineResource(EndpointSlice, {
  allowUnconditionalUpdate: true,
  defaultPropagation: 'Background',

  defaults({ ports }) {
    for (const port of ports ?? []) {
      port.name ??= ''
      port.protocol ??= 'TCP'
    }
  },

  prepareForCreate: (slice, context) => dropTopology(slice, undefined, context),
  validate: (_slice, check, context) => validateSlice(check, undefined, context),
  warningsOnCreate: (slice) => [
    ...(slice.addressType === 'FQDN' ? ['spec.addressType: FQDN endpoints are deprecated'] : []),
    ...addressWarnings(slice),
  ],

  generation: (next, prev) =>
    !sameSlice(contentOf(next), contentOf(prev)) || !sameSlice.at('metadata').at('labels')(next.metadata.labels, prev.metadata.labels),
  revalidatesMetadata: false,
  prepareForUpdate: (next, prev, context) => dropTopology(next, prev, context),
  validateUpdate(_next, prev, check, context) {
    validateObjectMeta(check.at('metadata'), { scope: 'Namespaced', nameRule: nameIsDns1123Subdomain })
    validateSlice(check, prev, context)
    mustNotChange(check.at('addressType'), prev.addressType)
  },
  warningsOnUpdate: (next) => addressWarnings(next),

  columns: [
    nameColumn,
    { name: 'AddressType', type: 'string', description: { field: 'EndpointSlice.addressType' }, cell: ({ addressType }) => addressType },
    {
      name: 'Ports',
      type: 'string',
      description: { field: 'EndpointSlice.ports' },
      cell: ({ ports }) => firstThree((ports ?? []).map(portText)),
    },
    {
      name: 'Endpoints',
      type: 'string',
      description: { field: 'EndpointSlice.endpoints' },
      cell: ({ endpoints }) => firstThree((endpoints ?? []).flatMap(({ addresses }) => addresses ?? [])),
    },
    ageColumn,
  ],
})

function contentOf({ addressType, endpoints, ports }: V1EndpointSlice): V1EndpointSlice {
  return { metadata: {}, addressType, endpoints, ports } as V1EndpointSlice
}

/** This version has no topology; the node's name in it was a field of old, and lives on as one of its own. */
function dropTopology(next: V1EndpointSlice, prev: V1EndpointSlice | undefined, { requestVersion }: RuleContext): void {
  if (requestVersion === 'discovery.k8s.io/v1beta1') return
  if (prev && sameSlice.at('endpoints')(prev.endpoints, next.endpoints)) return
  for (const endpoint of next.endpoints ?? []) {
    if (!endpoint.deprecatedTopology) continue
    const nodeName = endpoint.deprecatedTopology[hostnameLabel]
    if (nodeName && endpoint.nodeName === undefined && hadNodeInTopology(prev?.endpoints, nodeName)) endpoint.nodeName = nodeName
    delete endpoint.deprecatedTopology
  }
}

function hadNodeInTopology(endpoints: readonly V1Endpoint[] | undefined | null, nodeName: string): boolean {
  return endpoints?.some(({ deprecatedTopology }) => deprecatedTopology?.[hostnameLabel] === nodeName) ?? false
}

function validateSlice(check: Check<V1EndpointSlice>, prev: V1EndpointSlice | undefined, context: RuleContext): void {
  const slice = check.value
  const { addressType } = slice
  if (!addressType) check.at('addressType').required()
  else if (!addressTypes.includes(addressType)) check.at('addressType').notSupported(addressTypes)
  validatePorts(check.at('ports').or([]))
  const found = new Check(slice.endpoints, 'endpoints')
  validateEndpoints(slice.endpoints ?? [], addressType, found, context)
  // Endpoints that are wrong by newer rules may stay as they are.
  if (found.failed && !(prev && sameSlice.at('endpoints')(prev.endpoints, slice.endpoints))) append(check.errors, found.errors)
}

function addressWarnings({ metadata, endpoints }: V1EndpointSlice): string[] {
  if (unwarnedManagers.includes(metadata.labels?.[managedByLabel] ?? '')) return []
  return (endpoints ?? []).flatMap(({ addresses }, index) =>
    (addresses ?? []).flatMap((address, place) => warningsForIp(`endpoints[${index}].addresses[${place}]`, address)),
  )
}

function portText({ port, name }: V1EndpointPort): string {
  return String(port ?? name ?? '*')
}

function firstThree(texts: readonly string[]): string {
  if (texts.length > 3) return `${texts.slice(0, 3).join(',')} + ${texts.length - 3} more...`
  return texts.join(',') || '<unset>'
}
