/** The end of a node that has a network namespace of its own: its process, its pods, its containerd, its links and rules. */
import { join } from 'node:path'
import { findCgroups } from '#base/cgroup-files.ts'
import type { Clock } from '#base/clock.ts'
import type { Files } from '#base/files.ts'
import { silentLogger } from '#base/log.ts'
import { nodeMounts } from '#base/mounts.ts'
import { stopByPidFile } from '#base/pid-file.ts'
import { nodeProcesses, type Processes } from '#base/processes.ts'
import { systemRandom } from '#base/random.ts'
import { stopBackendHelpers } from '#cmd/node/backend-helpers.ts'
import { type NodeRecord, type NodeSettings, nodePaths } from '#cmd/node/node-directory.ts'
import { inNodeMounts } from '#cmd/node/node-mounts.ts'
import { removeEmbeddedPods } from '#cmd/runtime/remove-embedded-pods.ts'
import { PodCgroups } from '#kubelet/cgroups/pod-cgroups.ts'
import { sandboxImageName } from '#kubelet/images/sandbox-image.ts'
import { CriClient } from '#kubelet/runtimes/cri/cri-client.ts'
import { privateContainerdSocket, removeAllPods, startContainerd, stopContainerd } from '#kubelet/runtimes/cri/private-containerd.ts'
import { nodePlace, processesIn, removeNodeNamespace } from '#network/node-namespace.ts'

type Seams = { clock: Clock; files: Files }

const stopTimeoutMs = 10_000

/** The process alone, where it runs: pods run on. */
export async function endNodeProcess(dataDir: string, name: string, seams: Seams): Promise<void> {
  const process = { path: nodePaths(dataDir, name).pid, commandWords: [dataDir, name] }
  await stopByPidFile(process, { ...seams, processes: nodeProcesses, timeoutMs: stopTimeoutMs })
}

/** Everything but what it keeps on disk: images, logs, its name. */
export async function takeDownNode(dataDir: string, { name, number }: NodeRecord, seams: Seams): Promise<void> {
  const { files, clock } = seams
  const paths = nodePaths(dataDir, name)
  const place = nodePlace(dataDir, { range: '0.0.0.0/24' }, number)
  await endNodeProcess(dataDir, name, seams)
  const text = await files.readTextIfPresent(paths.settings)
  const settings = text === undefined ? undefined : (JSON.parse(text) as NodeSettings)
  const mounts = settings?.podNetwork === 'cni' ? await inNodeMounts(paths.directory, { files, processes: nodeProcesses }) : []
  const isThere = (await files.stat(place.path)) !== undefined
  await takeDownPods(paths, settings, { inside: processesIn(place.path, nodeProcesses, mounts), isThere }, seams)
  await stopBackendHelpers(paths.directory, { files, clock, processes: processesIn(place.path, nodeProcesses) })
  await removeNodeNamespace(place, nodeProcesses)
  // Addresses were given out by a bridge that is gone with the namespace.
  await files.remove(join(paths.directory, 'addresses'))
}

/** All pods of a node, its containerd, its volumes and its cgroups. `inside` runs programs where the node is, if that is there. */
export async function takeDownPods(
  paths: ReturnType<typeof nodePaths>,
  settings: NodeSettings | undefined,
  { inside: processes, isThere }: { inside: Processes; isThere: boolean },
  { files, clock }: Seams,
): Promise<void> {
  if (isThere && (await files.stat(join(paths.containerd, 'config.toml'))) !== undefined) {
    const inside = { files, clock, logger: silentLogger, processes }
    // One that was killed has left its containers behind: only it can take them down.
    await startContainerd(
      { directory: paths.containerd, sandboxImage: sandboxImageName, cniConfigDirectory: paths.networks, keepsConfiguration: true },
      inside,
    )
    using client = await CriClient.connect(privateContainerdSocket(paths.containerd))
    await removeAllPods(client)
  }
  if ((await files.stat(paths.runtime)) !== undefined) {
    const where = { directory: paths.runtime, cniConfigDirectory: paths.networks, cniBinDirectory: '/opt/cni/bin' }
    await removeEmbeddedPods(where, { files, clock, random: systemRandom, logger: silentLogger, processes })
  }
  await stopContainerd(paths.containerd, { files, clock, processes: nodeProcesses })
  const volumes = await files.realPath(join(paths.directory, 'kubelet'))
  for (const mounted of volumes === undefined ? [] : await nodeMounts.below(volumes)) await nodeMounts.unmount(mounted)
  const cgroups = await findCgroups(files)
  if (cgroups === undefined || settings === undefined) return
  await new PodCgroups({ cgroups, logger: silentLogger, root: settings.podCgroup }).removeAll()
}
