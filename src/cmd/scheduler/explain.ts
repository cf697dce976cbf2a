import { Pod } from '#api/core/v1/kinds.gen.ts'
import type { V1Pod } from '#api/core/v1/types.gen.ts'
import { isNotFound } from '#api/meta/server-response.ts'
import type { KubernetesObject } from '#api/resource.ts'
import { systemClock } from '#base/clock.ts'
import { nodeFiles } from '#base/files.ts'
import { silentLogger } from '#base/log.ts'
import { thisProcess } from '#base/machine.ts'
import { systemRandom } from '#base/random.ts'
import { openClient } from '#client/kubeconfig/open-client.ts'
import { kubernetesVersion } from '#cmd/version.ts'
import { podInfoOf } from '#scheduler/cache/pod-info.ts'
import { type WatchedObjects, watchedKinds } from '#scheduler/cluster-objects.ts'
import { defaultConfiguration } from '#scheduler/config/configuration.ts'
import { readConfiguration } from '#scheduler/config/read-configuration.ts'
import { explain, explanationText } from '#scheduler/explain.ts'
import type { SchedulerClient } from '#scheduler/framework/plugin-handle.ts'
import { livePods, watchedResources } from '#scheduler/informer-feed.ts'
import { Scheduler } from '#scheduler/scheduler.ts'

export type ExplainOptions = { kubeconfig: string; namespace: string; explain: string; output: string; schedulerConfig: string }

/** Reads the cluster as it is now and asks the plugins, without changing anything. */
export async function explainPod(options: ExplainOptions): Promise<void> {
  const [kind, name] = options.explain.includes('/') ? options.explain.split('/') : ['pod', options.explain]
  if (!['pod', 'pods', 'po'].includes(kind ?? '') || !name) throw new Error(`--explain: ${options.explain} is not a pod such as pod/web-0`)
  using client = await openClient({ kubeconfig: options.kubeconfig, userAgent: `kube-scheduler/${kubernetesVersion}` })
  const { schedulerConfig: path } = options
  const configuration = path === '' ? defaultConfiguration() : await readConfiguration(await nodeFiles.readText(path), path)
  const scheduler = new Scheduler({ client: readOnly, clock: systemClock, random: systemRandom, logger: silentLogger, configuration })
  const pod = await client.get(Pod, options.namespace, name)
  for (const watched of watchedKinds) {
    const resource = watchedResources[watched]
    const selector = watched === 'Pod' ? { fieldSelector: livePods } : {}
    const list = await client.list<KubernetesObject>(resource, selector).catch((error: unknown) => {
      if (isNotFound(error)) return { items: [] }
      throw error
    })
    for (const object of list.items) {
      // Asked as if it had no node yet: where would it go now?
      if (watched === 'Pod' && object.metadata?.uid === pod.metadata.uid) continue
      scheduler.observe(watched, undefined, object as WatchedObjects[typeof watched])
    }
  }
  const explanation = explain(scheduler, podInfoOf(withoutNode(pod)))
  scheduler.queue.close()
  if (pod.spec.nodeName && options.output === 'text')
    thisProcess.print(`It runs on ${pod.spec.nodeName}; this is what would be decided now.`)
  thisProcess.print(options.output === 'json' ? JSON.stringify(explanation, undefined, 2) : explanationText(explanation).trimEnd())
}

function withoutNode({ spec, ...pod }: V1Pod): V1Pod {
  const { nodeName: _, ...rest } = spec
  return { ...pod, spec: rest }
}

const refused = () => Promise.reject(new Error('explaining changes nothing'))
const readOnly: SchedulerClient = {
  bind: refused,
  patchPodStatus: refused,
  deletePod: refused,
  updateVolume: refused,
  updateClaim: refused,
  updateResourceClaim: refused,
  updateResourceClaimStatus: refused,
  removeReservation: refused,
  recordEvent() {},
  isNotFound: () => false,
}
