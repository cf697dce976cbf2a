/** Volumes of real containers, by whichever runtime: what is seen in them is what a shell there finds. */
import assert from 'node:assert/strict'
import { dirname } from 'node:path'
import { findCgroups } from '#base/cgroup-files.ts'
import { systemClock } from '#base/clock.ts'
import { nodeFiles } from '#base/files.ts'
import { silentLogger } from '#base/log.ts'
import { thisMachine } from '#base/machine.ts'
import { PodCgroups } from '#kubelet/cgroups/pod-cgroups.ts'
import { CriRuntime } from '#kubelet/runtimes/cri/cri-runtime.ts'
import type { TestRuntime } from '../support/containerd.ts'
import type { Inside, VolumeStage } from './volumes-in-containers.ts'

export async function realVolumeStage(startRuntime: () => Promise<TestRuntime>): Promise<VolumeStage> {
  const found = await findCgroups(nodeFiles)
  assert.ok(found)
  await using stack = new AsyncDisposableStack()
  let cgroups: PodCgroups | undefined
  // After containers have let go of them.
  stack.defer(() => cgroups?.removeAll())
  const world = stack.use(await startRuntime())
  cgroups = new PodCgroups({ cgroups: found, logger: silentLogger, root: world.podCgroup })
  const client = stack.use(await world.client())
  const runtime = await CriRuntime.start({
    ...{ client, clock: systemClock, logger: silentLogger, files: nodeFiles, cgroups },
    capacity: { memoryBytes: thisMachine().memoryBytes, hugePageSizes: [] },
  })
  stack.defer(() => runtime.stop())
  const signal = AbortSignal.timeout(600_000)
  const disposal = stack.move()
  return {
    runSandbox: async (node, pod) => runtime.runSandbox(pod, await node.sandbox(pod), signal),
    async run(request) {
      const id = await runtime.createContainer(request, signal)
      await runtime.startContainer(id, signal)
      return insideOf(runtime, id)
    },
    async remove(sandboxId) {
      await runtime.stopSandbox(sandboxId)
      await runtime.removeSandbox(sandboxId)
    },
    [Symbol.asyncDispose]: () => disposal.disposeAsync(),
  }
}

function insideOf(runtime: CriRuntime, id: string): Inside {
  // What a script is about comes as its arguments, so that nothing of it is taken for the script's own words.
  const ask = (script: string, ...args: string[]) => runtime.exec(id, ['sh', '-c', script, 'sh', ...args], 60_000)
  const succeed = async (script: string, ...args: string[]): Promise<string> => {
    const { stdout, stderr, exitCode } = await ask(script, ...args)
    assert.equal(exitCode, 0, `${script}: ${stderr}`)
    return stdout
  }
  return {
    read: (path) => succeed('cat "$1"', path),
    async owner(path) {
      const [uid, gid, mode] = (await succeed('stat -L -c "%u %g %a" "$1"', path)).trim().split(' ')
      return { uid: Number(uid), gid: Number(gid), mode: Number.parseInt(mode ?? '', 8) }
    },
    async variable(name) {
      const { stdout, exitCode } = await ask(`printf %s "\${${name}?}"`)
      return exitCode === 0 ? stdout : undefined
    },
    async mayWrite(path) {
      const { stderr, exitCode } = await ask('touch "$1"', path)
      if (exitCode !== 0) assert.match(stderr, /Read-only file system/)
      return exitCode === 0
    },
    async write(path, what) {
      if ('text' in what) await succeed('mkdir -p "$1" && printf %s "$3" > "$2"', dirname(path), path, what.text)
      else await succeed('dd if=/dev/zero of="$1" bs=1M count="$2"', path, String(what.megabytes))
    },
    link: async (target, path) => void (await succeed('ln -sfn "$1" "$2"', target, path)),
    remove: async (path) => void (await succeed('rm "$1"', path)),
    said: async (script) => (await succeed(script)).trim(),
  }
}
