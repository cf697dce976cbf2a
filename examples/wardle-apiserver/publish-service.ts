/** A service for a server that runs beside the cluster, not in it: its endpoints are told by hand. */
import { type Client, EndpointSlice, Namespace, Service } from '#index.ts'

export async function publishService(
  client: Client,
  { namespace, name }: { namespace: string; name: string },
  { address, port }: { address: string; port: number },
): Promise<void> {
  const manager = { fieldManager: 'wardle', force: true }
  await client.apply(Namespace, { metadata: { name: namespace } }, manager)
  await client.apply(Service, { metadata: { namespace, name }, spec: { ports: [{ name: 'https', port: 443, targetPort: port }] } }, manager)
  await client.apply(
    EndpointSlice,
    {
      metadata: { namespace, name: `${name}-1`, labels: { 'kubernetes.io/service-name': name } },
      addressType: 'IPv4',
      endpoints: [{ addresses: [address] }],
      ports: [{ name: 'https', port }],
    },
    manager,
  )
}
