import { milliValueOf } from '#api/meta/quantity.ts'
import type { Client } from '#client/client.ts'
import { objectKey } from '#client/informer/object-store.ts'
import type { Measurements } from '#controllers/descheduler/plugin.ts'

type Usage = Readonly<Record<string, string>>
type Item = { metadata: { namespace?: string; name?: string }; usage?: Usage; containers?: readonly { usage?: Usage }[] }

/** What the metrics API tells of nodes and pods now. */
export async function measurementsOf(client: Client): Promise<Measurements> {
  const [nodes, pods] = await Promise.all(['nodes', 'pods'].map((plural) => listed(client, plural)))
  return { ofNode: (name) => nodes?.get(objectKey('', name)), ofPod: (namespace, name) => pods?.get(objectKey(namespace, name)) }
}

async function listed(client: Client, plural: string): Promise<Map<string, Record<string, number>>> {
  const { items = [] } = JSON.parse(await client.raw(`/apis/metrics.k8s.io/v1beta1/${plural}`)) as { items?: readonly Item[] }
  return new Map(
    items.map(({ metadata, usage, containers = [] }) => {
      const sum: Record<string, number> = {}
      for (const each of [usage, ...containers.map((container) => container.usage)])
        for (const [name, amount] of Object.entries(each ?? {})) sum[name] = (sum[name] ?? 0) + milliValueOf(amount)
      return [objectKey(metadata.namespace ?? '', metadata.name ?? ''), sum]
    }),
  )
}
