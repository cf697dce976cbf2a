/** Claims of the class that every cluster has, on a real node: what they cost beyond the pod. Needs root, containerd and busybox-static. */
import { join } from 'node:path'
import { CoreV1Api, KubeConfig, type V1PersistentVolumeClaim, type V1Pod, Watch } from '@kubernetes/client-node'
import type { Bench } from '../scripts/bench.ts'
import { whyNoContainers } from '../test/support/containerd.ts'
import { startRealCluster } from '../test/support/real-cluster.ts'
import { testImage } from '../test/support/test-image.ts'

const claimOf = (name: string): V1PersistentVolumeClaim => ({
  metadata: { name },
  spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
})

function podOf(name: string, claims: readonly string[]): V1Pod {
  const volumes = claims.map((claimName) => ({ name: claimName, persistentVolumeClaim: { claimName } }))
  const volumeMounts = claims.map((claim) => ({ name: claim, mountPath: `/data/${claim}` }))
  const main = { name: 'main', image: testImage, command: ['sleep', '36000'], volumeMounts }
  return { metadata: { name }, spec: { terminationGracePeriodSeconds: 0, containers: [main], volumes } }
}

const median = (values: number[]): number => values.toSorted((left, right) => left - right)[Math.floor(values.length / 2)] ?? 0

export default async function (bench: Bench): Promise<void> {
  const why = whyNoContainers()
  if (why) {
    console.error(`no figures of claims: ${why}`)
    return
  }
  await using cluster = await startRealCluster()
  const config = new KubeConfig()
  config.loadFromFile(join(cluster.dataDir, 'admin.kubeconfig'))
  const core = config.makeApiClient(CoreV1Api)
  const namespace = 'default'
  const running = new Map<string, () => void>()
  const watch = await new Watch(config).watch(
    '/api/v1/namespaces/default/pods',
    {},
    (_, { metadata, status }: V1Pod) => {
      if (status?.phase === 'Running') running.get(metadata?.name ?? '')?.()
    },
    () => {},
  )
  const isRunning = (name: string) => new Promise<void>((resolve) => running.set(name, resolve))

  const times = { plain: [] as number[], claimed: [] as number[] }
  for (let round = 0; round < 24; round++) {
    const kind = round % 2 === 0 ? 'plain' : 'claimed'
    const name = `pod-${round}`
    const ran = isRunning(name)
    const begin = performance.now()
    if (kind === 'claimed') await core.createNamespacedPersistentVolumeClaim({ namespace, body: claimOf(name) })
    await core.createNamespacedPod({ namespace, body: podOf(name, kind === 'claimed' ? [name] : []) })
    await ran
    times[kind].push(performance.now() - begin)
    await core.deleteNamespacedPod({ namespace, name })
  }
  const beyond = median(times.claimed) - median(times.plain)
  const ratio = median(times.claimed) / median(times.plain)
  bench.report({
    case: 'claim and pod created to Running, median',
    figure: median(times.claimed),
    unit: 'ms',
    comparedWith: 'a pod without',
    ratio,
  })
  bench.report({ case: 'of it what the claim takes', figure: beyond, unit: 'ms' })

  const begin = performance.now()
  const names = Array.from({ length: 200 }, (_, index) => `many-${index}`)
  await Promise.all(names.map((name) => core.createNamespacedPersistentVolumeClaim({ namespace, body: claimOf(name) })))
  const pods = Array.from({ length: 20 }, (_, index) => `many-${index}`)
  const allRan = pods.map(isRunning)
  await Promise.all(
    pods.map((name, index) => core.createNamespacedPod({ namespace, body: podOf(name, names.slice(index * 10, index * 10 + 10)) })),
  )
  await Promise.all(allRan)
  bench.report({ case: '200 claims of 20 pods created at once, all Running', figure: performance.now() - begin, unit: 'ms' })
  watch.abort()
}
