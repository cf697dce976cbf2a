import { join } from 'node:path'
import { Node } from '#api/core/v1/kinds.gen.ts'
import { isConditionTrue } from '#api/meta/find-condition.ts'
import { ignoreNotFound } from '#api/meta/server-response.ts'
import { systemClock } from '#base/clock.ts'
import { nodeFiles } from '#base/files.ts'
import type { HttpClient } from '#base/http-client.ts'
import { thisMachine, thisProcess } from '#base/machine.ts'
import type { OptionValues } from '#base/options.ts'
import type { Client } from '#client/client.ts'
import { hasStaticPods, renewStaticPods, staticPodsOf } from '#cmd/control-plane/lay-static-pods.ts'
import { grantJoining } from '#cmd/init/init.ts'
import { joinedNodes } from '#cmd/join/join.ts'
import { drain } from '#cmd/node/drain.ts'
import { nodePaths } from '#cmd/node/node-directory.ts'
import { type ClusterPlace, withAdminClient } from '#cmd/running/admin-client.ts'
import { textTable } from '#cmd/text-table.ts'
import { machineNodeName } from '#cmd/up/cluster-addresses.ts'
import {
  clusterVersions,
  configuredVersion,
  writeClusterVersion,
  writeKubeletConfiguration,
  writeWay,
} from '#cmd/upgrade/cluster-versions.ts'
import type { upgradeOptions } from '#cmd/upgrade/command.ts'
import { restartMachine, saveBefore } from '#cmd/upgrade/restart-machine.ts'
import { nodesInTurn, plain, upgradePlan } from '#cmd/upgrade/upgrade-plan.ts'
import { kubernetesVersion } from '#cmd/version.ts'

type Options = OptionValues<typeof upgradeOptions>
const lookEveryMs = 500

export async function printPlan(place: { dataDir: string; kubeconfig: string }): Promise<void> {
  await withAdminClient(place, async (client, { url, headers }, http) => {
    const versions = await clusterVersions(client, await serverVersion(http, url, headers))
    const { rows, problems } = upgradePlan(versions)
    const lines = [textTable(['COMPONENT', 'NODE', 'CURRENT', 'TARGET'], rows)]
    if (problems.length > 0) lines.push('This version may not follow:', ...problems.map((problem) => `  ${problem}`))
    else {
      lines.push('On the first control plane: typernetes upgrade apply')
      const others = nodesInTurn(versions.nodes, versions.target)
      lines.push(
        others.length === 0
          ? 'All nodes are at this version'
          : `Then typernetes upgrade node, on each of these in turn: ${others.join(', ')}`,
      )
    }
    thisProcess.print(lines.join('\n'))
    if (problems.length > 0) thisProcess.exit(1)
  })
}

/** Refuses what the plan refuses; saves the store; has the control plane of this machine started anew; then the cluster is said to be of this version. */
export async function applyUpgrade(options: Options): Promise<void> {
  await withAdminClient(options, async (client, target, http) => {
    const { url, headers } = target
    const { problems } = upgradePlan(await clusterVersions(client, await serverVersion(http, url, headers)))
    if (problems.length > 0 && !options.force) throw new Error(`${problems.join('; ')} (--force goes on all the same)`)
    const saved = await saveBefore(options.dataDir, kubernetesVersion)
    if (saved !== undefined) thisProcess.print(`The store is saved in ${saved}`)
  })
  await renewMachine(options)
  await withAdminClient(options, async (client) => {
    await writeClusterVersion(client)
    await writeKubeletConfiguration(client)
    await grantJoining(client)
    await writeWay(client, await staticPodsOf(options.dataDir))
  })
  thisProcess.print(`The cluster is at ${kubernetesVersion}; on each other machine: typernetes upgrade node`)
}

/** A machine other than the first: its kubelet, and its API server, may not be newer than what the cluster was brought to. */
export async function upgradeMachine(options: Options): Promise<void> {
  const { place } = await machineOf(options)
  await withAdminClient(place, async (client) => {
    const configured = await configuredVersion(client)
    if (configured === undefined || plain(configured) === plain(kubernetesVersion) || options.force) return
    throw new Error(
      `the cluster is at ${configured}: \`typernetes upgrade apply\` on the first control plane brings it to ${kubernetesVersion}`,
    )
  })
  await renewMachine(options)
}

type MachinePlace = { name: string; isNode: boolean; place: ClusterPlace }

/** A node speaks with its own certificate; a control plane as an admin to its own API server, which is not to be taken for another's. */
async function machineOf(options: Options): Promise<MachinePlace> {
  const { dataDir } = options
  const [joined] = await joinedNodes(dataDir)
  const isNode = (await nodeFiles.stat(nodePaths(dataDir, joined ?? '').settings)) !== undefined && joined !== undefined
  const name = isNode ? joined : machineNodeName()
  const isAlone = isNode && !(await hasStaticPods(dataDir))
  const kubeconfig = options.kubeconfig || (isAlone ? nodePaths(dataDir, name).kubeletConfig : join(dataDir, 'admin.kubeconfig'))
  return { name, isNode, place: { dataDir, kubeconfig } }
}

/** The pods of this machine go elsewhere, its process is started anew, and pods may come again. */
async function renewMachine(options: Options): Promise<void> {
  const { dataDir, timeout } = options
  const { name, isNode, place } = await machineOf(options)
  const wasSchedulable = await withAdminClient(place, async (client) => {
    const node = await client.get(Node, '', name).catch(ignoreNotFound)
    if (node === undefined || !options.drain) return false
    await drain(client, name, { clock: systemClock, timeoutMs: timeout, force: options.force, print: (line) => thisProcess.print(line) })
    return node.spec?.unschedulable !== true
  })
  const hasPods = await hasStaticPods(dataDir)
  // Not before: the API server among them is away for a moment.
  if (hasPods) await renewStaticPods(dataDir)
  await restartMachine({ dataDir, nodeName: isNode ? name : undefined, timeoutMs: timeout })
  await withAdminClient(place, async (client, { url, headers }, http) => {
    const server = isNode && !hasPods ? undefined : () => serverVersion(http, url, headers)
    await untilReady({ client, name, server }, timeout)
    if (wasSchedulable) await client.patch(Node, { name }, { spec: { unschedulable: null } }, { type: 'merge' })
  })
  thisProcess.print(`${thisMachine().hostname} runs ${kubernetesVersion}`)
}

type Renewed = { client: Client; name: string; server: (() => Promise<string>) | undefined }

/** With the API server of this version, where this machine has one, and the kubelet, where it is a node. */
async function untilReady({ client, name, server }: Renewed, timeoutMs: number): Promise<void> {
  const endMs = systemClock.monotonic() + timeoutMs
  for (let trouble = ''; ; ) {
    try {
      const served = await server?.()
      if (served !== undefined && plain(served) !== plain(kubernetesVersion)) throw new Error(`its API server is at ${served}`)
      const node = await client.get(Node, '', name).catch(ignoreNotFound)
      if (node === undefined) return
      const version = node.status?.nodeInfo?.kubeletVersion ?? ''
      if (plain(version) === plain(kubernetesVersion) && isConditionTrue(node.status?.conditions, 'Ready')) return
      trouble = `its kubelet is at ${version}`
    } catch (error) {
      trouble = String(error)
    }
    if (systemClock.monotonic() > endMs) throw new Error(`${name} has not come back in time: ${trouble}`)
    await systemClock.sleep(lookEveryMs)
  }
}

async function serverVersion(http: HttpClient, url: string, headers: Readonly<Record<string, string>>): Promise<string> {
  const response = await http.request({ url: `${url}/version`, headers })
  return (JSON.parse(await response.text()) as { gitVersion?: string }).gitVersion ?? ''
}
