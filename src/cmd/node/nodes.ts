import { join } from 'node:path'
import { Node } from '#api/core/v1/kinds.gen.ts'
import { isNodeReady } from '#api/core/v1/node/node-ready.ts'
import type { V1Node } from '#api/core/v1/types.gen.ts'
import { isReason } from '#api/meta/server-response.ts'
import { systemClock } from '#base/clock.ts'
import { nodeFiles } from '#base/files.ts'
import { thisProcess } from '#base/machine.ts'
import { nodeProcesses } from '#base/processes.ts'
import { openClient } from '#client/kubeconfig/open-client.ts'
import { waitFor } from '#client/retry.ts'
import { drain } from '#cmd/node/drain.ts'
import { addNodeRecord, nodePaths, readNodeRecords } from '#cmd/node/node-directory.ts'
import { removePodLogs } from '#cmd/node/pod-logs.ts'
import { takeDownNode } from '#cmd/node/take-down-node.ts'
import { runningCluster } from '#cmd/running/running-cluster.ts'
import { textTable } from '#cmd/text-table.ts'
import { mostNodes, nodePlace } from '#network/node-namespace.ts'

type Where = { dataDir: string }
type Draining = Where & { timeout: number; force: boolean }

const registrationMs = 60_000

export async function addNode(name: string | undefined, { dataDir }: Where): Promise<void> {
  if (name !== undefined && !/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/.test(name)) {
    throw new Error(`${name} is not a valid name for a node: lower case letters, digits and dashes, at most 63 of them`)
  }
  using client = await clientOf(dataDir)
  if ((await readNodeRecords(dataDir, nodeFiles)).length >= mostNodes) {
    throw new Error(`a machine takes no more than ${mostNodes} nodes of a cluster`)
  }
  const record = await addNodeRecord(dataDir, nodeFiles, name)
  const isReady = (node: V1Node | undefined) => node !== undefined && isNodeReady(node)
  try {
    await waitFor(client, Node, { name: record.name }, isReady, { clock: systemClock, timeoutMs: registrationMs })
  } catch (error) {
    throw new Error(`the node ${record.name} is not ready; see ${nodePaths(dataDir, record.name).log}`, { cause: error })
  }
  thisProcess.print(`The node ${record.name} is ready`)
}

export async function listNodes({ dataDir }: Where): Promise<void> {
  const records = await readNodeRecords(dataDir, nodeFiles)
  const rows = await Promise.all(
    records.map(async ({ name, number }) => {
      const pid = Number(await nodeFiles.readTextIfPresent(nodePaths(dataDir, name).pid))
      const settings = await nodeFiles.readTextIfPresent(nodePaths(dataDir, name).settings)
      const { address = '' } = settings === undefined ? {} : (JSON.parse(settings) as { address?: string })
      const { namespace } = nodePlace(dataDir, { range: '0.0.0.0/24' }, number)
      return [name, address, namespace, pid && nodeProcesses.isAlive(pid) ? String(pid) : '-']
    }),
  )
  thisProcess.print(textTable(['NAME', 'ADDRESS', 'NAMESPACE', 'PROCESS'], rows))
}

export async function drainNode(name: string, { dataDir, timeout, force }: Draining): Promise<void> {
  using client = await clientOf(dataDir)
  await drain(client, name, { clock: systemClock, timeoutMs: timeout, force, print: thisProcess.print })
  thisProcess.print(`The node ${name} is drained`)
}

export async function removeNode(name: string, { dataDir, timeout, force }: Draining): Promise<void> {
  const record = (await readNodeRecords(dataDir, nodeFiles)).find((one) => one.name === name)
  if (record === undefined) {
    throw new Error(`there is no node ${name} with a network namespace of its own; \`typernetes node ls\` shows those that are there`)
  }
  using client = await clientOf(dataDir)
  await drain(client, name, { clock: systemClock, timeoutMs: timeout, force, print: thisProcess.print })
  const paths = nodePaths(dataDir, name)
  // The cluster ends the node's process when the record is gone.
  await nodeFiles.remove(paths.record)
  await takeDownNode(dataDir, record, { clock: systemClock, files: nodeFiles })
  await client.delete(Node, { name }).catch((error: unknown) => {
    if (!isReason(error, 'NotFound')) throw error
  })
  await removePodLogs(paths.directory, nodeFiles)
  await nodeFiles.remove(paths.directory)
  thisProcess.print(`The node ${name} is gone`)
}

async function clientOf(dataDir: string) {
  const cluster = await runningCluster(dataDir)
  if (cluster === undefined) throw new Error(`no cluster runs in ${dataDir}; start one with \`typernetes up\``)
  return openClient({ kubeconfig: join(dataDir, 'admin.kubeconfig') })
}
