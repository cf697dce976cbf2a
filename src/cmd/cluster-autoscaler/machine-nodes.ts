import { Node } from '#api/core/v1/kinds.gen.ts'
import { isNodeReady } from '#api/core/v1/node/node-ready.ts'
import { ignoreNotFound } from '#api/meta/server-response.ts'
import type { Clock } from '#base/clock.ts'
import type { Files } from '#base/files.ts'
import type { Client } from '#client/client.ts'
import type { Machines } from '#cluster-autoscaler/provider/machine-groups.ts'
import type { NodeGroupSpec } from '#cluster-autoscaler/provider/parse-node-group.ts'
import { addNodeRecord, type NodeRecord, nodePaths, readNodeRecords } from '#cmd/node/node-directory.ts'
import { takeDownNode } from '#cmd/node/take-down-node.ts'

export type MachineNodesOptions = { dataDir: string; groups: readonly NodeGroupSpec[]; client: Client; clock: Clock; files: Files }

/** Which group a node of this name belongs to. */
export const groupOfName = (name: string, groups: readonly Pick<NodeGroupSpec, 'name'>[]): string | undefined =>
  groups.find((group) => name.startsWith(`${group.name}-`) && /^\d+$/.test(name.slice(group.name.length + 1)))?.name

/** Machines of node groups that are nodes of `up` on this machine, each in a network namespace of its own. */
export function machineNodes({ dataDir, groups, client, clock, files }: MachineNodesOptions): Machines {
  /** Those whose end has begun: it may fail half way, and is tried again. */
  const ending = new Map<string, NodeRecord>()
  return {
    async existing() {
      const records = await readNodeRecords(dataDir, files)
      return records.flatMap(({ name }) => {
        const group = groupOfName(name, groups)
        return group === undefined ? [] : [{ name, group }]
      })
    },
    // The cluster sees the record, and starts the node's process.
    start: async (name) => void (await addNodeRecord(dataDir, files, name)),
    async stop(name) {
      const record = ending.get(name) ?? (await readNodeRecords(dataDir, files)).find((one) => one.name === name)
      const paths = nodePaths(dataDir, name)
      if (record !== undefined) ending.set(name, record)
      await files.remove(paths.record)
      if (record !== undefined) await takeDownNode(dataDir, record, { clock, files })
      await client.delete(Node, { name }).catch(ignoreNotFound)
      await files.remove(paths.directory)
      ending.delete(name)
    },
    async template() {
      const { items } = await client.list(Node)
      const example = items.find((node) => isNodeReady(node) && node.metadata.labels?.['typernetes.dev/simulated'] !== 'true')
      if (example === undefined) return undefined
      const { 'kubernetes.io/hostname': _, ...labels } = example.metadata.labels ?? {}
      return { metadata: { name: 'template', labels }, spec: {}, status: example.status ?? {} }
    },
  }
}
