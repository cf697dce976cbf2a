import { Node, Pod } from '#api/core/v1/kinds.gen.ts'
import { ignoreNotFound } from '#api/meta/server-response.ts'
import type { Clock } from '#base/clock.ts'
import { defined } from '#base/defined.ts'
import type { Client } from '#client/client.ts'
import { type Machines, nodeGroupLabel } from '#cluster-autoscaler/provider/machine-groups.ts'
import type { SimulatedNodes } from '#kubelet/node/simulated-nodes.ts'

/** Machines of node groups that are simulated nodes of this process. */
export function simulatedMachines(nodes: SimulatedNodes, { client, clock }: { client: Client; clock: Clock }): Machines {
  const leaving = new Set<string>()
  return {
    async existing() {
      const { items } = await client.list(Node, { labelSelector: nodeGroupLabel })
      // Whoever ran them before is gone: they run on here.
      for (const { metadata, spec, status } of items) {
        const { cpu, memory, pods } = status?.capacity ?? {}
        await nodes.add(metadata.name ?? '', { ...defined({ cpu, memory, pods, taints: spec?.taints, labels: metadata.labels }) })
      }
      return items.map(({ metadata }) => ({ name: metadata.name ?? '', group: metadata.labels?.[nodeGroupLabel] ?? '' }))
    },
    async start(name, { name: group, shape }) {
      const { cpu, memory, pods, labels, taints, bootMs } = shape
      if (bootMs > 0) await clock.sleep(bootMs)
      if (leaving.delete(name)) return
      await nodes.add(name, { cpu, memory, pods, taints, labels: { ...labels, [nodeGroupLabel]: group } })
    },
    async stop(name) {
      // It may not even have started.
      if (!nodes.remove(name)) leaving.add(name)
      // With the machine goes what ran on it: nobody is left to say that it has ended.
      const { items } = await client.list(Pod, { fieldSelector: `spec.nodeName=${name}` })
      for (const { metadata } of items) await client.delete(Pod, metadata, { gracePeriodSeconds: 0 }).catch(ignoreNotFound)
      await client.delete(Node, { name }).catch(ignoreNotFound)
    },
  }
}
