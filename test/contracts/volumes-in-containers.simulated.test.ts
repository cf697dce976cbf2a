import { mkdir, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { describe } from 'node:test'
import { nodeFiles } from '#base/files.ts'
import { seededRandom } from '#base/random.ts'
import type { ContainerPlan, Mount } from '#kubelet/runtimes/plans.ts'
import { AddressRange } from '#kubelet/runtimes/simulated/address-range.ts'
import { SimulatedRuntime } from '#kubelet/runtimes/simulated/simulated-runtime.ts'
import { cannotMount, type TestNode } from '#testing/test-node.ts'
import { type Inside, type VolumeStage, volumesSuite } from './volumes-in-containers.ts'

const whyNoProcesses = 'nothing runs in simulated containers: they have no users, no host name and no name servers'

describe('volumes in simulated containers', { skip: cannotMount }, () => volumesSuite({ start: simulatedStage, whyNoProcesses }))

/** Volumes are made by the node as for any container; time is virtual. */
async function simulatedStage(): Promise<VolumeStage> {
  const { signal } = new AbortController()
  const runtimes = new Map<TestNode, SimulatedRuntime>()
  const nodes = new Map<string, TestNode>()
  const runtimeOf = (sandboxId: string): { node: TestNode; runtime: SimulatedRuntime } => {
    const node = nodes.get(sandboxId)
    const runtime = node && runtimes.get(node)
    if (node === undefined || runtime === undefined) throw new Error(`there is no sandbox ${sandboxId}`)
    return { node, runtime }
  }
  return {
    async runSandbox(node, pod) {
      const { clock } = node.cluster
      const runtime = new SimulatedRuntime({ clock, random: seededRandom(7), addresses: new AddressRange('100.64.0') })
      runtimes.set(node, runtime)
      await node.sandbox(pod)
      const sandbox = await runtime.runSandbox(pod)
      nodes.set(sandbox.id, node)
      return sandbox
    },
    async run(request) {
      const { node, runtime } = runtimeOf(request.sandboxId)
      const id = await runtime.createContainer(request)
      const started = runtime.startContainer(id, signal)
      await node.cluster.clock.advance(10_000)
      await started
      return insideOf(request.plan)
    },
    async remove(sandboxId) {
      const { runtime } = runtimeOf(sandboxId)
      await runtime.stopSandbox(sandboxId)
      await runtime.removeSandbox(sandboxId)
    },
    async [Symbol.asyncDispose]() {
      for (const runtime of runtimes.values()) runtime.stop()
    },
  }
}

/** What a process would find by the mounts that the node has planned; what it would do is done in its place, at that place of the node. */
function insideOf({ mounts, env }: ContainerPlan): Inside {
  const mountOf = (path: string): Mount => {
    const below = mounts.filter(({ containerPath }) => path === containerPath || path.startsWith(`${containerPath}/`))
    const nearest = below.toSorted((left, right) => right.containerPath.length - left.containerPath.length)[0]
    if (nearest === undefined) throw new Error(`nothing is mounted at ${path}`)
    return nearest
  }
  const placeOf = (path: string): string => {
    const { hostPath, containerPath } = mountOf(path)
    return hostPath + path.slice(containerPath.length)
  }
  return {
    read: (path) => nodeFiles.readText(placeOf(path)),
    async owner(path) {
      const { uid, gid, mode } = await stat(placeOf(path))
      return { uid, gid, mode: mode & 0o7777 }
    },
    variable: async (name) => env.find((each) => each.name === name)?.value,
    mayWrite: async (path) => !mountOf(path).isReadOnly,
    async write(path, what) {
      const place = placeOf(path)
      await mkdir(dirname(place), { recursive: true })
      await writeFile(place, 'text' in what ? what.text : Buffer.alloc(what.megabytes << 20))
    },
    async link(target, path) {
      await rm(placeOf(path), { force: true })
      await symlink(target, placeOf(path))
    },
    remove: (path) => rm(placeOf(path)),
    said: () => Promise.reject(new Error(whyNoProcesses)),
  }
}
