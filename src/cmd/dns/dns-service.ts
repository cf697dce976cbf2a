/** The service that a cluster's name servers are reached by, where the server is no pod. */

import { Service } from '#api/core/v1/kinds.gen.ts'
import { EndpointSlice } from '#api/discovery/v1/kinds.gen.ts'
import { serviceNameLabel } from '#api/discovery/v1/service-name.ts'
import { ignoreNotFound } from '#api/meta/server-response.ts'
import { defined } from '#base/defined.ts'
import type { SocketAddress } from '#base/sockets.ts'
import type { Client } from '#client/client.ts'

export const dnsServicePlace = { namespace: 'kube-system', name: 'kube-dns' }
const place = dnsServicePlace
const managedBy = 'endpointslice.kubernetes.io/managed-by'
const manager = 'typernetes.dns'
const apply = { fieldManager: manager, force: true }

const unlessMissing = <T>(reading: Promise<T>): Promise<T | undefined> => reading.catch(ignoreNotFound)

/** `nodeName`: where it is on one, whose pods may always reach it. */
export type DnsPlace = SocketAddress & { nodeName?: string }

/** Leads the usual service to this server. False where the service is somebody else's, whose pods it selects. */
export async function publishDnsService(client: Client, clusterIp: string, at: DnsPlace): Promise<boolean> {
  const known = await unlessMissing(client.get(Service, place.namespace, place.name))
  if (known?.spec?.selector !== undefined && Object.keys(known.spec.selector).length > 0) {
    await withdrawSlice(client)
    return false
  }
  const labels = { 'k8s-app': 'kube-dns', 'kubernetes.io/cluster-service': 'true', 'kubernetes.io/name': 'CoreDNS' }
  const ports = [
    { name: 'dns', protocol: 'UDP', port: 53 },
    { name: 'dns-tcp', protocol: 'TCP', port: 53 },
  ] as const
  if (known !== undefined && known.spec?.clusterIP !== clusterIp) {
    // An address cannot be changed, and pods have been told this one.
    await unlessMissing(client.delete(Service, place))
  } else if (known?.spec?.ports?.some(({ name, port }) => port !== 53 || !ports.some((own) => own.name === name))) {
    // Applying adds ports and takes none away that somebody else has added.
    await client.update(Service, { ...known, spec: { ...known.spec, ports: [...ports] } })
  }
  await client.apply(Service, { metadata: { ...place, labels }, spec: { clusterIP: clusterIp, ports: [...ports] } }, apply)
  await client.apply(
    EndpointSlice,
    {
      metadata: { ...place, labels: { 'k8s-app': 'kube-dns', [serviceNameLabel]: place.name, [managedBy]: manager } },
      addressType: at.host.includes(':') ? 'IPv6' : 'IPv4',
      endpoints: [
        { addresses: [at.host], ...defined({ nodeName: at.nodeName }), conditions: { ready: true, serving: true, terminating: false } },
      ],
      ports: ports.map(({ name, protocol }) => ({ name, protocol, port: at.port })),
    },
    apply,
  )
  return true
}

/** Takes back what was published before; the service of somebody else stays. */
export async function withdrawDnsService(client: Client): Promise<void> {
  if (await withdrawSlice(client)) await unlessMissing(client.delete(Service, place))
}

async function withdrawSlice(client: Client): Promise<boolean> {
  const slice = await unlessMissing(client.get(EndpointSlice, place.namespace, place.name))
  if (slice?.metadata.labels?.[managedBy] !== manager) return false
  await unlessMissing(client.delete(EndpointSlice, place))
  return true
}
