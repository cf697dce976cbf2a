/**
 * The embedded runtime alone: a pod by its parts, what idle containers cost, and how fast images come in. Needs root or a user namespace
 * (`unshare -rmn --uts --ipc`), ip and busybox-static. CPU is that of the agent: on a machine with much other work it says more than time does.
 */
import { randomBytes } from 'node:crypto'
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { namespaceModes } from '#wire/cri/cri-types.ts'
import { writeImageArchive } from '#wire/oci/image-archive.ts'
import type { Bench } from '../scripts/bench.ts'
import { startTestEmbedded, type TestEmbedded, whyNoEmbedded } from '../test/support/embedded.ts'
import { testImage } from '../test/support/test-image.ts'
import { processCpus } from './support/process-cpu.ts'

const rounds = 15
const idleContainers = 50
const layerMegabytes = 64

export default async function measure(bench: Bench): Promise<void> {
  const why = whyNoEmbedded()
  if (why !== false) return console.error(`left out: ${why}`)
  await using world = await startTestEmbedded()
  await measurePods(world, bench)
  await measureMany(world, bench)
  await measureIdle(world, bench)
  await measureImport(world, bench)
}

type Pod = { sandboxId: string; parts: Record<string, number>; cpuMs: number }

const cpuMsSince = (begin: NodeJS.CpuUsage): number => {
  const { user, system } = process.cpuUsage(begin)
  return (user + system) / 1000
}

async function runPod(world: TestEmbedded, name: string, hasNetwork: boolean): Promise<Pod> {
  using client = await world.client()
  const parts: Record<string, number> = {}
  const cpu = process.cpuUsage()
  const timed = async <T>(part: string, work: Promise<T>): Promise<T> => {
    const begin = performance.now()
    const result = await work
    parts[part] = performance.now() - begin
    return result
  }
  const modes = { network: hasNetwork ? namespaceModes.pod : namespaceModes.node, pid: namespaceModes.container, ipc: namespaceModes.pod }
  const metadata = { name, namespace: 'default', uid: name, attempt: 0 }
  const config = {
    metadata,
    hostname: name,
    logDirectory: join(world.directory, 'logs', name),
    linux: { cgroupParent: `/${world.podCgroup}/${name}`, securityContext: { namespaceOptions: modes } },
  }
  const { podSandboxId } = await timed('sandbox', client.call('runPodSandbox', { config, runtimeHandler: '' }))
  const container = {
    ...{ metadata: { name: 'main', attempt: 0 }, image: { image: testImage }, command: ['sleep', '36000'], logPath: 'main/0.log' },
    linux: { securityContext: { namespaceOptions: modes, seccomp: { profileType: 0 } } },
  }
  const { containerId } = await timed('create', client.call('createContainer', { podSandboxId, config: container, sandboxConfig: config }))
  await timed('start', client.call('startContainer', { containerId }))
  return { sandboxId: podSandboxId, parts, cpuMs: cpuMsSince(cpu) }
}

async function measurePods(world: TestEmbedded, bench: Bench): Promise<void> {
  for (const hasNetwork of [true, false]) {
    const all: Record<string, number>[] = []
    const cpus: number[] = []
    for (let round = 0; round < rounds; round++) {
      const { sandboxId, parts, cpuMs } = await runPod(world, `pod-${hasNetwork}-${round}`, hasNetwork)
      all.push(parts)
      cpus.push(cpuMs)
      using client = await world.client()
      await client.call('removePodSandbox', { podSandboxId: sandboxId })
    }
    const what = hasNetwork ? 'a pod with a network of its own' : "a pod in the node's network"
    const median = (values: number[]) => values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)] ?? 0
    for (const part of ['sandbox', 'create', 'start'])
      bench.report({ case: `${what}: ${part}`, figure: median(all.map((parts) => parts[part] ?? 0)), unit: 'ms' })
    bench.report({
      case: `${what}: all`,
      figure: median(all.map((parts) => Object.values(parts).reduce((sum, each) => sum + each, 0))),
      unit: 'ms',
    })
    bench.report({ case: `${what}: CPU of the agent`, figure: median(cpus), unit: 'ms' })
  }
}

/** As many as a node usually takes. */
const manyPods = 100

async function measureMany(world: TestEmbedded, bench: Bench): Promise<void> {
  const names = Array.from({ length: manyPods }, (_, index) => `many-${index}`)
  const [begin, cpu, before] = [performance.now(), process.cpuUsage(), startedSeconds()]
  const pods = await Promise.all(names.map((name) => runPod(world, name, true)))
  bench.report({ case: `${manyPods} pods at once: all run after`, figure: (performance.now() - begin) / 1000, unit: 's' })
  bench.report({ case: `${manyPods} pods at once: CPU of the agent`, figure: cpuMsSince(cpu) / 1000, unit: 's' })
  bench.report({ case: `${manyPods} pods at once: CPU of what it starts`, figure: startedSeconds() - before, unit: 's' })
  using client = await world.client()
  await Promise.all(pods.map(({ sandboxId }) => client.call('removePodSandbox', { podSandboxId: sandboxId })))
}

/** CPU of the processes below this one, those that have ended included. */
function startedSeconds(): number {
  const all = processCpus()
  const below = new Set([process.pid])
  let sum = 0
  for (let grown = true; grown; ) {
    grown = false
    for (const { pid, parent } of all) {
      if (!below.has(parent) || below.has(pid)) continue
      below.add(pid)
      grown = true
    }
  }
  for (const { pid, seconds, childSeconds } of all) {
    if (below.has(pid)) sum += childSeconds + (pid === process.pid ? 0 : seconds)
  }
  return sum
}

async function measureIdle(world: TestEmbedded, bench: Bench): Promise<void> {
  const collect = globalThis.gc ?? (() => {})
  collect()
  const before = process.memoryUsage.rss()
  for (let count = 0; count < idleContainers; count++) await runPod(world, `idle-${count}`, false)
  collect()
  bench.report({
    case: `${idleContainers} idle containers: grown in the agent`,
    figure: (process.memoryUsage.rss() - before) / 2 ** 20,
    unit: 'MB',
  })
  let ours = 0
  let processes = 0
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    try {
      if (!/^(tn-monitor|pause)$/.test(readFileSync(`/proc/${pid}/comm`, 'utf8').trim())) continue
      ours += Number(/^Pss:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'))?.[1] ?? 0)
      processes++
    } catch {
      // It has ended.
    }
  }
  bench.report({ case: `their ${processes} monitors and sandboxes together`, figure: ours / 1024, unit: 'MB' })
}

async function measureImport(world: TestEmbedded, bench: Bench): Promise<void> {
  const random = randomBytes(1 << 20)
  const files = Array.from({ length: layerMegabytes * 16 }, (_, index) => ({
    path: `data/${index}`,
    content: Buffer.concat([random.subarray(index % 1000, (index % 1000) + 32_768), Buffer.alloc(32_768, index)]),
  }))
  const config = { Cmd: ['sh'] }
  for (const kind of ['first', 'second'] as const) {
    const layers = [[...files, { path: kind, content: Buffer.from(kind) }]]
    const architecture = process.arch === 'x64' ? 'amd64' : process.arch
    const archive = writeImageArchive([{ name: `typernetes.test/large-${kind}:1`, architecture, layers, config }])
    const path = join(world.directory, 'large.tar')
    writeFileSync(path, archive)
    const [begin, cpu] = [performance.now(), process.cpuUsage()]
    await world.runtime.images.import(path)
    const seconds = (performance.now() - begin) / 1000
    bench.report({ case: `import of an image of ${layerMegabytes} MB, ${kind}`, figure: layerMegabytes / seconds, unit: 'MB/s' })
    bench.report({ case: `the same, for a second of CPU`, figure: layerMegabytes / (cpuMsSince(cpu) / 1000), unit: 'MB/s' })
    rmSync(path)
  }
}
