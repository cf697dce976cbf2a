import { join } from 'node:path'
import { findCgroups } from '#base/cgroup-files.ts'
import { systemClock } from '#base/clock.ts'
import { nodeFiles } from '#base/files.ts'
import { silentLogger } from '#base/log.ts'
import { nodeMounts } from '#base/mounts.ts'
import { nodeProcesses } from '#base/processes.ts'
import { systemRandom } from '#base/random.ts'
import { stopBackendHelpers } from '#cmd/node/backend-helpers.ts'
import { readNodeRecords } from '#cmd/node/node-directory.ts'
import { takeDownNode } from '#cmd/node/take-down-node.ts'
import { isInOwnNamespaces } from '#cmd/rootless/enter-user-namespace.ts'
import { endHolder } from '#cmd/rootless/namespace-record.ts'
import { enterNetworkOfHolder } from '#cmd/rootless/own-network.ts'
import { removeEmbeddedPods } from '#cmd/runtime/remove-embedded-pods.ts'
import { removeDockerPods } from '#cmd/runtime/start-docker-runtime.ts'
import { containerdDirectory, dockerDirectory, embeddedDirectory, networksDirectory, podCgroupOf } from '#cmd/up/container-runtime.ts'
import { removeMachineTraffic } from '#cmd/up/machine-traffic.ts'
import { PodCgroups } from '#kubelet/cgroups/pod-cgroups.ts'
import { sandboxImageName } from '#kubelet/images/sandbox-image.ts'
import { CriClient } from '#kubelet/runtimes/cri/cri-client.ts'
import { privateContainerdSocket, removeAllPods, startContainerd, stopContainerd } from '#kubelet/runtimes/cri/private-containerd.ts'
import { bridgeNameOf, removeBridgeNetwork } from '#network/bridge-network.ts'
import { removeNodeNetwork } from '#network/node-network.ts'
import { leavePodNetwork } from '#network/pod-network/pod-network-agent.ts'

const stockPluginDirectory = '/opt/cni/bin'

/** Ends what a cluster's own containerd still runs, and the containerd itself. Pods of a runtime that was there before are left alone. */
export async function takeDownPods(dataDir: string): Promise<boolean> {
  const hadPods = await takeDown(dataDir)
  await endHolder(dataDir, { files: nodeFiles, processes: nodeProcesses })
  return hadPods
}

async function takeDown(dataDir: string): Promise<boolean> {
  const directory = containerdDirectory(dataDir)
  const seams = { files: nodeFiles, processes: nodeProcesses, clock: systemClock, logger: silentLogger }
  if (isInOwnNamespaces()) await enterNetworkOfHolder(dataDir, nodeFiles)
  const hadNodes = await takeDownNodes(dataDir)
  await leavePodNetwork(join(dataDir, 'pod-network.json'), seams)
  await stopBackendHelpers(directory, seams)
  await leavePodNetwork(join(directory, 'pod-network.json'), seams)
  await removeMachineTraffic(dataDir, { ...seams, random: systemRandom })
  await removeNodeNetwork(dataDir, seams)
  const isEmbedded = (await endEmbedded(dataDir)) || (await endDocker(dataDir))
  if (!isEmbedded && (await nodeFiles.stat(join(directory, 'config.toml'))) === undefined) return hadNodes
  const cniConfigDirectory = networksDirectory(dataDir)
  if (!isEmbedded) {
    // One that was killed has left its containers behind: only it can take them down.
    await startContainerd({ directory, sandboxImage: sandboxImageName, cniConfigDirectory, keepsConfiguration: true }, seams)
    using client = await CriClient.connect(privateContainerdSocket(directory))
    await removeAllPods(client)
  }
  await stopContainerd(directory, seams)
  // Volumes in memory go; those on disk wait for the next start.
  const volumes = await nodeFiles.realPath(join(dataDir, 'kubelet'))
  for (const place of volumes === undefined ? [] : await nodeMounts.below(volumes)) await nodeMounts.unmount(place)
  const network = { bridge: bridgeNameOf(dataDir), dataDirectory: join(directory, 'addresses') }
  await removeBridgeNetwork(network, cniConfigDirectory, seams)
  const cgroups = await findCgroups(nodeFiles)
  if (cgroups !== undefined) await new PodCgroups({ cgroups, logger: silentLogger, root: podCgroupOf(dataDir) }).removeAll()
  return true
}

/** Resolves false where the cluster has no containers of its own process. */
async function endEmbedded(dataDir: string): Promise<boolean> {
  const directory = embeddedDirectory(dataDir)
  if ((await nodeFiles.stat(directory)) === undefined) return false
  const place = { directory, cniConfigDirectory: networksDirectory(dataDir), cniBinDirectory: stockPluginDirectory }
  const seams = { files: nodeFiles, clock: systemClock, random: systemRandom, logger: silentLogger }
  await removeEmbeddedPods(place, seams)
  return true
}

/** Resolves false where the cluster has no containers in Docker. */
async function endDocker(dataDir: string): Promise<boolean> {
  const place = {
    directory: dockerDirectory(dataDir),
    cniConfigDirectory: networksDirectory(dataDir),
    cniBinDirectory: stockPluginDirectory,
  }
  return removeDockerPods(place, { files: nodeFiles, clock: systemClock, random: systemRandom, logger: silentLogger })
}

/** Ends the nodes that have a network namespace of their own, and their pods. Resolves false where there are none. */
export async function takeDownNodes(dataDir: string): Promise<boolean> {
  const records = await readNodeRecords(dataDir, nodeFiles)
  const seams = { files: nodeFiles, clock: systemClock }
  await Promise.all(records.map((record) => takeDownNode(dataDir, record, seams)))
  return records.length > 0
}
