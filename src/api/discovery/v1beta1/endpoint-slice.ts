import { endpointSliceResource as endpointSliceV1 } from '#api/discovery/v1/endpoint-slice.ts'
import type { V1Endpoint, V1EndpointSlice } from '#api/discovery/v1/types.gen.ts'
import type { V1beta1Endpoint, V1beta1EndpointSlice } from '#api/discovery/v1beta1/types.gen.ts'
import { legacyVersion } from '#api/meta/legacy-version.ts'
import { defined } from '#base/defined.ts'
import { omitEmpty } from '#base/omit-empty.ts'

const zoneLabel = 'topology.kubernetes.io/zone'
const hostnameLabel = 'kubernetes.io/hostname'

/** Where an endpoint is was a map of labels; the zone and the node have fields of their own since. */
export const endpointSliceResource = legacyVersion<V1beta1EndpointSlice, V1EndpointSlice>(endpointSliceV1, {
  version: 'v1beta1',
  deprecated: { deprecatedIn: '1.21', removedIn: '1.25' },
  toStored: ({ endpoints, ...slice }) => ({ ...slice, endpoints: endpoints?.map(endpointToV1) ?? null }),
  fromStored: ({ endpoints, ...slice }) => ({ ...slice, endpoints: endpoints?.map(endpointFromV1) ?? null }) as V1beta1EndpointSlice,
})

function endpointToV1({ topology, ...endpoint }: V1beta1Endpoint): V1Endpoint {
  if (topology === undefined) return endpoint
  const { [zoneLabel]: zone, ...others } = topology
  // A node by another name than the endpoint's own is kept, odd as it is.
  if (endpoint.nodeName !== undefined && others[hostnameLabel] === endpoint.nodeName) delete others[hostnameLabel]
  return {
    ...endpoint,
    ...defined({ zone }),
    ...omitEmpty({ deprecatedTopology: others }),
  }
}

function endpointFromV1({ zone, deprecatedTopology, ...endpoint }: V1Endpoint): V1beta1Endpoint {
  const { nodeName } = endpoint
  if (zone === undefined && deprecatedTopology === undefined && nodeName === undefined) return endpoint
  const topology = { ...deprecatedTopology }
  if (zone !== undefined) topology[zoneLabel] = zone
  if (nodeName !== undefined && !topology[hostnameLabel]) topology[hostnameLabel] = nodeName
  return { ...endpoint, topology }
}
