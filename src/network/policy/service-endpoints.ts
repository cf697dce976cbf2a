/** What policies see of a service: where its endpoints are, whether they are ready or not. */
import { serviceNameOf } from '#api/discovery/v1/service-name.ts'
import type { V1EndpointSlice } from '#api/discovery/v1/types.gen.ts'
import { canonicalIp } from '#api/meta/ip.ts'
import type { ServiceEndpoint } from '#network/policy/compiled-policy.ts'

/** `namespace/name`. */
export function serviceOfSlice({ metadata }: V1EndpointSlice): string | undefined {
  const name = serviceNameOf({ metadata })
  return name === '' ? undefined : `${metadata.namespace}/${name}`
}

export function endpointsIn({ addressType, endpoints, ports }: V1EndpointSlice): ServiceEndpoint[] {
  if (addressType === 'FQDN') return []
  const addresses = (endpoints ?? []).flatMap((endpoint) => endpoint.addresses).flatMap((address) => canonicalIp(address) ?? [])
  return (ports ?? []).flatMap(({ port, protocol = 'TCP' }) =>
    port === undefined || port === null ? [] : addresses.map((ip) => ({ ip, protocol, port })),
  )
}
