/** A real node: how long pods take to run, and what an idle agent costs. Needs root, containerd and busybox-static. */
import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { CoreV1Api, KubeConfig, type V1Pod, Watch } from '@kubernetes/client-node'
import { Pod } from '#api/core/v1/kinds.gen.ts'
import type { V1Pod as ApiPod } from '#api/core/v1/types.gen.ts'
import { systemClock } from '#base/clock.ts'
import { nodeFiles } from '#base/files.ts'
import { silentLogger } from '#base/log.ts'
import { openClient } from '#client/kubeconfig/open-client.ts'
import { CriRuntime } from '#kubelet/runtimes/cri/cri-runtime.ts'
import { emptyContainerPlan, emptySandboxPlan } from '#kubelet/runtimes/plans.ts'
import type { Bench } from '../scripts/bench.ts'
import { whyNoContainers } from '../test/support/containerd.ts'
import { whyNoEmbedded } from '../test/support/embedded.ts'
import { type LoneKubelet, startLoneKubelet } from '../test/support/lone-kubelet.ts'
import { startRealCluster } from '../test/support/real-cluster.ts'
import { testImage } from '../test/support/test-image.ts'
import { cpuSecondsOf, processCpus } from './support/process-cpu.ts'

const podOf = (name: string, app: string): V1Pod => ({
  metadata: { name, labels: { app } },
  spec: { terminationGracePeriodSeconds: 0, containers: [{ name: 'main', image: testImage, command: ['sleep', '36000'] }] },
})

/** Watches the pods of an app, and tells when each was first seen running. */
async function watchRunning(config: KubeConfig, app: string) {
  const seenMs = new Map<string, number>()
  const waiting: { count: number; resolve: () => void }[] = []
  const request = await new Watch(config).watch(
    '/api/v1/namespaces/default/pods',
    { labelSelector: `app=${app}` },
    (_, pod: V1Pod) => {
      const name = pod.metadata?.name ?? ''
      if (pod.status?.phase !== 'Running' || seenMs.has(name)) return
      seenMs.set(name, performance.now())
      for (const each of waiting) if (seenMs.size >= each.count) each.resolve()
    },
    () => {},
  )
  return {
    seenMs,
    count: (count: number) =>
      new Promise<void>((resolve) => {
        if (seenMs.size >= count) resolve()
        else waiting.push({ count, resolve })
      }),
    stop: () => request.abort(),
  }
}

const cpuSeconds = (pid: number): number => {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
  return (Number(fields[11]) + Number(fields[12])) / 100
}
const residentMegabytes = (pid: number): number => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024

const median = (values: number[]): number => values.toSorted((left, right) => left - right)[Math.floor(values.length / 2)] ?? 0

/** What the runtime alone needs for a pod. */
async function bareRuntimeMs({ containerd }: LoneKubelet): Promise<number> {
  using client = await containerd.client()
  const seams = { client, clock: systemClock, logger: silentLogger, files: nodeFiles }
  const runtime = await CriRuntime.start({ ...seams, capacity: { memoryBytes: 1 << 30, hugePageSizes: [] } })
  const { signal } = new AbortController()
  const times: number[] = []
  for (let round = 0; round < 9; round++) {
    const name = `bare-${round}`
    const pod = { metadata: { name, namespace: 'default', uid: name }, spec: podOf(name, 'bare').spec } as unknown as ApiPod
    const begin = performance.now()
    const { id } = await runtime.runSandbox(pod, emptySandboxPlan, signal)
    const container = pod.spec.containers[0] as ApiPod['spec']['containers'][number]
    const plan = { ...emptyContainerPlan, imageRef: testImage, command: container.command ?? [] }
    await runtime.startContainer(await runtime.createContainer({ sandboxId: id, pod, container, attempt: 0, plan }, signal), signal)
    times.push(performance.now() - begin)
    await runtime.removeSandbox(id)
  }
  runtime.stop()
  return median(times)
}

export default async function (bench: Bench): Promise<void> {
  const why = whyNoContainers()
  if (why) {
    console.error(`no figures of a real node: ${why}`)
    return
  }
  await measurePods(bench)
  await measureEmbedded(bench)
  await measureStart(bench)
}

async function measurePods(bench: Bench): Promise<void> {
  {
    // Modules are kept for later starts: what a first one costs beyond that is not what is measured here.
    await using _first = await startLoneKubelet()
    await pause(3000)
  }
  await using alone = await startLoneKubelet()
  const bareMs = await bareRuntimeMs(alone)
  const config = new KubeConfig()
  config.loadFromFile(alone.cluster.kubeconfig)
  const core = config.makeApiClient(CoreV1Api)
  // All over one connection: a hundred of them at once measure something else.
  using client = await openClient({ kubeconfig: alone.cluster.kubeconfig })
  const create = (pod: V1Pod) => client.create(Pod, { ...pod, metadata: { ...pod.metadata, namespace: 'default' } } as unknown as ApiPod)
  const untilLeft = async (count: number) => {
    while ((await core.listNamespacedPod({ namespace: 'default' })).items.length > count) await pause(200)
  }

  const singles = await watchRunning(config, 'single')
  const times: number[] = []
  for (let round = 0; round < 15; round++) {
    const begin = performance.now()
    await create(podOf(`single-${round}`, 'single'))
    await singles.count(round + 1)
    times.push((singles.seenMs.get(`single-${round}`) ?? 0) - begin)
  }
  singles.stop()
  const comparedWith = 'the runtime alone'
  bench.report({ case: 'pod created to Running, median', figure: median(times), unit: 'ms', comparedWith, ratio: median(times) / bareMs })
  bench.report({ case: "of it the agent's, the scheduler's and the API's share", figure: median(times) - bareMs, unit: 'ms' })
  await core.deleteCollectionNamespacedPod({ namespace: 'default' })
  await untilLeft(0)

  await measureIdle(bench, alone, config, create)
  await core.deleteCollectionNamespacedPod({ namespace: 'default' })
  await untilLeft(0)

  await measureMany(bench, alone, config, create)
  await measureStatistics(bench, alone)
}

/** With the CPU of everybody who has a share in it: where the cores are busy all the time, their sum is what it takes. */
async function measureMany(bench: Bench, alone: LoneKubelet, config: KubeConfig, create: (pod: V1Pod) => Promise<unknown>): Promise<void> {
  const { agentPid, containerd } = alone
  const many = await watchRunning(config, 'many')
  const own = () => process.cpuUsage().user / 1e6 + process.cpuUsage().system / 1e6
  // What this process has started and what is neither the runtime nor the agent: API server, scheduler, controllers.
  const others = () =>
    processCpus()
      .filter(({ pid, parent, command }) => parent === process.pid && pid !== agentPid && !command.includes(containerd.directory))
      .reduce((sum, { seconds }) => sum + seconds, 0)
  const all = {
    'containerd, its shims, runc, network plugins and starting programs': () => cpuSecondsOf(containerd.directory),
    'the agent': () => cpuSeconds(agentPid),
    'API server, scheduler, controllers': others,
    'who asks': own,
  }
  const before = Object.values(all).map((used) => used())
  const begin = performance.now()
  await Promise.all(Array.from({ length: 100 }, (_, index) => create(podOf(`many-${index}`, 'many'))))
  await many.count(100)
  bench.report({ case: '100 pods at once: all Running after', figure: (performance.now() - begin) / 1000, unit: 's' })
  let sum = 0
  for (const [index, [part, used]] of Object.entries(all).entries()) {
    const figure = used() - (before[index] ?? 0)
    sum += figure
    bench.report({ case: `100 pods at once: CPU of ${part}`, figure, unit: 's' })
  }
  bench.report({ case: '100 pods at once: CPU of all, by the cores', figure: sum / availableParallelism(), unit: 's' })
  many.stop()
}

/** By the way of those who ask: TLS, the statistics of a hundred pods, and the text of them. */
async function measureStatistics(bench: Bench, { agentPid: pid, cluster }: LoneKubelet): Promise<void> {
  using client = await openClient({ kubeconfig: cluster.kubeconfig })
  for (const path of ['metrics/resource', 'stats/summary', 'metrics/cadvisor']) {
    const ask = () => client.raw(`/api/v1/nodes/alone/proxy/${path}`, '*/*')
    for (let round = 0; round < 5; round++) await ask()
    const before = cpuSeconds(pid)
    for (let round = 0; round < collections; round++) await ask()
    const figure = ((cpuSeconds(pid) - before) * 1000) / collections
    bench.report({ case: `statistics of 100 pods, /${path}: CPU of a collection`, figure, unit: 'ms' })
  }
}

const collections = 50

async function measureIdle(
  bench: Bench,
  { agentPid: pid }: LoneKubelet,
  config: KubeConfig,
  create: (pod: V1Pod) => Promise<unknown>,
): Promise<void> {
  const idle = await watchRunning(config, 'idle')
  await Promise.all(Array.from({ length: 50 }, (_, index) => create(podOf(`idle-${index}`, 'idle'))))
  await idle.count(50)
  idle.stop()
  await pause(settleMs)
  const before = cpuSeconds(pid)
  await pause(idleMs)
  bench.report({ case: 'idle agent with 50 pods: CPU', figure: ((cpuSeconds(pid) - before) / idleMs) * 1e5, unit: '% of a core' })
  bench.report({ case: 'idle agent with 50 pods: resident', figure: residentMegabytes(pid), unit: 'MB' })
}

const idleMs = 30_000
/** Until what is left of deleted pods is gone too, and memory was given back. */
const settleMs = 45_000
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

/** A whole cluster in one process, which runs the containers itself. */
async function measureEmbedded(bench: Bench): Promise<void> {
  const why = whyNoEmbedded()
  if (why) return console.error(`left out: ${why}`)
  await using cluster = await startRealCluster({ flags: ['--runtime', 'embedded'] })
  const kubeconfig = join(cluster.dataDir, 'admin.kubeconfig')
  const config = new KubeConfig()
  config.loadFromFile(kubeconfig)
  using client = await openClient({ kubeconfig })
  const many = await watchRunning(config, 'many')
  const before = cpuSecondsOf(cluster.directory)
  const begin = performance.now()
  const pods = Array.from({ length: 100 }, (_, index) => podOf(`many-${index}`, 'many'))
  await Promise.all(
    pods.map((pod) => client.create(Pod, { ...pod, metadata: { ...pod.metadata, namespace: 'default' } } as unknown as ApiPod)),
  )
  await many.count(100)
  const what = '100 pods at once in a cluster that runs containers itself'
  bench.report({ case: `${what}: all Running after`, figure: (performance.now() - begin) / 1000, unit: 's' })
  bench.report({ case: `${what}: CPU of all of it`, figure: cpuSecondsOf(cluster.directory) - before, unit: 's' })
  many.stop()
}

/** By the launcher, as users start it. */
async function measureStart(bench: Bench): Promise<void> {
  await using cluster = await startRealCluster()
  const config = new KubeConfig()
  config.loadFromFile(join(cluster.dataDir, 'admin.kubeconfig'))
  const core = config.makeApiClient(CoreV1Api)
  await cluster.process.stop()
  const port = new URL(cluster.process.url).port
  const launcher = join(import.meta.dirname, '..', 'bin', 'typernetes.js')
  const times: number[] = []
  for (let round = 0; round < 5; round++) {
    const begin = performance.now()
    const child = spawn(process.execPath, [launcher, 'up', '--data-dir', cluster.dataDir, '--api-port', port, '--runtime', 'cri'])
    await new Promise<void>((resolve) => child.stdout.on('data', (text) => String(text).includes('is ready') && resolve()))
    for (;;) {
      const { items } = await core.listNode()
      if (items[0]?.status?.conditions?.find(({ type }) => type === 'Ready')?.status === 'True') break
    }
    times.push(performance.now() - begin)
    // Modules are kept for the next start a little later.
    if (round === 0) await pause(2500)
    const ended = new Promise((resolve) => child.once('exit', resolve))
    child.kill()
    await ended
  }
  bench.report({ case: 'up to a Ready node, second start', figure: Math.min(...times), unit: 'ms' })
}
