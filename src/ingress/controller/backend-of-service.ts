import type { V1Service, V1ServicePort } from '#api/core/v1/types.gen.ts'
import type { V1EndpointSlice } from '#api/discovery/v1/types.gen.ts'
import type { BackendReference } from '#ingress/controller/source.ts'
import type { Backend, BackendProtocol, Endpoint } from '#ingress/data-plane/backend.ts'

const nobody: Backend = { protocol: 'http', endpoints: [] }

/**
 * Where requests for a port of a service go: to its pods themselves. Those that are ready; where there is none, those that end but still answer.
 * A service that stands for a name outside has none: requests would leave the cluster, whoever may write a service.
 */
export function backendOfService(
  service: V1Service | undefined,
  slices: Iterable<V1EndpointSlice>,
  reference: Pick<BackendReference, 'port' | 'protocol'>,
): Backend {
  const port = service && portOf(service, reference.port)
  if (port === undefined || service?.spec?.type === 'ExternalName') return nobody
  const ready = new Map<string, Endpoint>()
  const ending = new Map<string, Endpoint>()
  for (const { ports, endpoints } of slices) {
    const target = ports?.find(({ name, protocol }) => (name ?? '') === (port.name ?? '') && (protocol ?? 'TCP') === 'TCP')?.port
    if (!target) continue
    for (const { addresses, conditions } of endpoints ?? []) {
      const [host] = addresses
      if (host === undefined) continue
      const endpoint = { host, port: target }
      if (conditions?.ready ?? true) ready.set(`${host} ${target}`, endpoint)
      else if (conditions?.serving && conditions.terminating) ending.set(`${host} ${target}`, endpoint)
    }
  }
  const found = ready.size > 0 ? ready : ending
  const endpoints = [...found.keys()].sort().flatMap((key) => found.get(key) ?? [])
  return { protocol: reference.protocol ?? protocolOf(port), endpoints }
}

export function portOf({ spec }: V1Service, port: string | number): V1ServicePort | undefined {
  return spec?.ports?.find((each) => (typeof port === 'number' ? each.port === port : each.name === port))
}

/** As `appProtocol` says. */
function protocolOf({ appProtocol }: V1ServicePort): BackendProtocol {
  switch (appProtocol?.toLowerCase()) {
    case 'kubernetes.io/h2c':
    case 'grpc':
      return 'h2c'
    case 'https':
    case 'kubernetes.io/wss':
      return 'https'
    case 'grpcs':
      return 'h2'
    default:
      return 'http'
  }
}
