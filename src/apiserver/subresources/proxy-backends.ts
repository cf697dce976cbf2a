/** Which server stands behind a pod, a service or a node. Each may be named `name`, `name:port` or `scheme:name:port`. */

import { Endpoints, Pod, Service } from '#api/core/v1/kinds.gen.ts'
import { EndpointSlice } from '#api/discovery/v1/kinds.gen.ts'
import { serviceNameOf } from '#api/discovery/v1/service-name.ts'
import { badRequest, notFound, serviceUnavailable } from '#api/meta/status-error.ts'
import type { ClusterView } from '#apiserver/cluster-view/cluster-view.ts'
import type { RequestInfo } from '#apiserver/http/request-info.ts'
import type { Backend } from '#apiserver/node-connections/backend.ts'
import { joinedHostPort, type NodeConnections } from '#apiserver/node-connections/node-connections.ts'
import { isGlobalUnicast } from '#apiserver/node-connections/proxyable-address.ts'
import { addressesOf } from '#base/name-lookup.ts'
import type { Random } from '#base/random.ts'

export type ProxyServices = { cluster: ClusterView; nodes: NodeConnections; random: Random }

export async function podBackend({ namespace, name: id }: RequestInfo, { cluster, nodes }: ProxyServices): Promise<Backend> {
  const { scheme, name, port } = named(id, 'pod')
  const pod = await cluster.getFresh(Pod, namespace, name)
  if (pod === undefined) throw notFound({ group: '', resource: 'pods' }, name)
  const first = pod.spec.containers.flatMap(({ ports = [] }) => ports)[0]?.containerPort
  const ip = pod.status?.podIPs?.[0]?.ip ?? ''
  if (!isGlobalUnicast(ip)) throw badRequest('address not allowed')
  return nodes.otherBackend(scheme, joinedHostPort(ip, port === '' && first !== undefined ? String(first) : port))
}

export async function nodeBackend({ name: id }: RequestInfo, { nodes }: ProxyServices): Promise<Backend> {
  const { scheme, name, port } = named(id, 'node')
  const connection = await nodes.connectionTo(name)
  const isAgent = port === '' || port === String(connection.port)
  if (isAgent && connection.isInProcess) return connection.backend
  const address = connection.address()
  await mustBeProxyable(address)
  return isAgent ? connection.backend : nodes.otherBackend(scheme, joinedHostPort(address, port))
}

async function mustBeProxyable(hostname: string): Promise<void> {
  const addresses = await addressesOf(hostname).catch((): never => {
    throw badRequest(`lookup ${hostname}: no such host`)
  })
  if (!addresses.every(isGlobalUnicast)) throw badRequest('address not allowed')
}

/** Only addresses that are those of pods are used: whoever may write endpoints could otherwise point anywhere. */
export async function serviceBackend({ namespace, name: id }: RequestInfo, services: ProxyServices): Promise<Backend> {
  const { cluster, nodes, random } = services
  const { scheme, name, port } = named(id, 'service')
  let portName = port
  if (/^[+-]?\d+$/.test(port)) {
    const service = await cluster.getFresh(Service, namespace, name)
    if (service === undefined) throw notFound({ group: '', resource: 'services' }, name)
    const found = service.spec?.ports?.find((each) => each.port === Number(port))
    if (found === undefined) throw serviceUnavailable(`no service port ${Number(port)} found for service "${name}"`)
    portName = found.name ?? ''
  }
  const subsets = await subsetsOf(cluster, namespace, name)
  if (subsets.length === 0) throw serviceUnavailable(`no endpoints available for service "${name}"`)
  for (const { addresses, ports } of fromRandomStart(subsets, random)) {
    const found = ports.find((each) => each.name === portName)
    if (found === undefined) continue
    for (const address of fromRandomStart(addresses, random)) {
      if (isOfPod(cluster, namespace, address)) return nodes.otherBackend(scheme, joinedHostPort(address.ip, String(found.port)))
    }
  }
  throw serviceUnavailable(`no endpoints available for service "${id}"`)
}

type Address = { ip: string; pod: string; namespace: string }
type Subset = { addresses: Address[]; ports: { name: string; port: number }[] }

/** Ready addresses, from Endpoints where somebody keeps them, or else from the slices. */
async function subsetsOf(cluster: ClusterView, namespace: string, name: string): Promise<Subset[]> {
  const endpoints = await cluster.getFresh(Endpoints, namespace, name)
  if (endpoints !== undefined) {
    return (endpoints.subsets ?? []).map(({ addresses = [], ports = [] }) => ({
      addresses: addresses.map(({ ip, targetRef }) => ({ ip, pod: targetRef?.name ?? '', namespace: targetRef?.namespace ?? '' })),
      ports: ports.map((each) => ({ name: each.name ?? '', port: each.port })),
    }))
  }
  const slices = cluster.list(EndpointSlice, namespace).filter((slice) => serviceNameOf(slice) === name)
  if (slices.length === 0) throw notFound({ group: '', resource: 'endpoints' }, name)
  return slices.map((slice) => ({
    addresses: (slice.endpoints ?? [])
      .filter(({ conditions }) => conditions?.ready !== false)
      .flatMap(({ addresses, targetRef }) =>
        addresses.map((ip) => ({ ip, pod: targetRef?.name ?? '', namespace: targetRef?.namespace ?? '' })),
      ),
    ports: (slice.ports ?? []).flatMap((each) => (each.port === undefined ? [] : { name: each.name ?? '', port: each.port })),
  }))
}

function isOfPod(cluster: ClusterView, namespace: string, address: Address): boolean {
  if (address.pod === '' || address.namespace !== namespace) return false
  const pod = cluster.get(Pod, namespace, address.pod)
  return pod?.status?.podIPs?.some(({ ip }) => ip === address.ip) ?? false
}

function* fromRandomStart<T>(items: readonly T[], random: Random): Generator<T> {
  const start = items.length === 0 ? 0 : random.int(items.length)
  yield* items.slice(start)
  yield* items.slice(0, start)
}

function named(id: string, what: string): { scheme: string; name: string; port: string } {
  const parts = id.split(':')
  const [scheme, name, port] = parts.length === 3 ? parts : ['', parts[0], parts[1]]
  if (parts.length > 3 || !name || (scheme !== '' && scheme !== 'http' && scheme !== 'https')) {
    throw badRequest(`invalid ${what} request "${id}"`)
  }
  return { scheme: scheme ?? '', name, port: port ?? '' }
}
