import { join } from 'node:path'
import { systemClock } from '#base/clock.ts'
import { nodeFiles } from '#base/files.ts'
import { nodePaths, readNodeRecords } from '#cmd/node/node-directory.ts'
import { dockerEndpointOf } from '#cmd/runtime/docker-endpoint.ts'
import { containerdDirectory, dockerDirectory, embeddedDirectory } from '#cmd/up/container-runtime.ts'
import { CriClient } from '#kubelet/runtimes/cri/cri-client.ts'
import { privateContainerdSocket } from '#kubelet/runtimes/cri/private-containerd.ts'
import { runningDockerSandboxes } from '#runtime/docker/running-docker-sandboxes.ts'
import { runningSandboxes } from '#runtime/sandboxes/running-sandboxes.ts'
import { sandboxStates } from '#wire/cri/cri-types.ts'

const patienceMs = 2000

/** How many pods run in the cluster's own container runtimes, whether the cluster itself runs or not. */
export async function runningPods(dataDir: string): Promise<number> {
  const records = await readNodeRecords(dataDir, nodeFiles)
  const ofNodes = await Promise.all(records.map(({ name }) => podsOf(nodePaths(dataDir, name))))
  return ofNodes.reduce((sum, count) => sum + count, await podsOnMachine(dataDir))
}

/** Those of the node that the machine itself is. */
export async function podsOnMachine(dataDir: string): Promise<number> {
  const directory = dockerDirectory(dataDir)
  const endpoint = await dockerEndpointOf(directory, { files: nodeFiles })
  const inDocker = endpoint === undefined ? 0 : await runningDockerSandboxes(directory, endpoint, systemClock)
  return inDocker + (await podsOf({ containerd: containerdDirectory(dataDir), runtime: embeddedDirectory(dataDir) }))
}

async function podsOf({ containerd, runtime }: { containerd: string; runtime: string }): Promise<number> {
  return (await podsIn(containerd)) + (await runningSandboxes(runtime, nodeFiles))
}

/** `3 pods run on; …`; undefined where none does. */
export function podsRunOn(count: number): string | undefined {
  if (count === 0) return undefined
  return count === 1 ? '1 pod runs on; `typernetes down --pods` ends it' : `${count} pods run on; \`typernetes down --pods\` ends them`
}

async function podsIn(directory: string): Promise<number> {
  const socket = privateContainerdSocket(directory)
  if ((await nodeFiles.stat(join(directory, 'config.toml'))) === undefined || (await nodeFiles.stat(socket)) === undefined) return 0
  try {
    using client = await CriClient.connect(socket)
    const { items } = await client.call('listPodSandbox', {}, { timeoutMs: patienceMs })
    return items.filter(({ state }) => state === sandboxStates.ready).length
  } catch {
    // It does not run, or is not ours to ask.
    return 0
  }
}
