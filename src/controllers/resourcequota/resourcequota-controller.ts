import { Deployment, ReplicaSet, StatefulSet } from '#api/apps/v1/kinds.gen.ts'
import { CronJob, Job } from '#api/batch/v1/kinds.gen.ts'
import { ConfigMap, PersistentVolumeClaim, Pod, ReplicationController, ResourceQuota, Secret, Service } from '#api/core/v1/kinds.gen.ts'
import { isPodFinished } from '#api/core/v1/pod/pod-state.ts'
import { objectCount, type QuotaEvaluator } from '#api/core/v1/quota/evaluator.ts'
import { quotaEvaluators } from '#api/core/v1/quota/evaluators.ts'
import { quantityTexts } from '#api/core/v1/quota/quantities.ts'
import { quotaUsage } from '#api/core/v1/quota/quota-usage.ts'
import type { V1Pod, V1ResourceQuota } from '#api/core/v1/types.gen.ts'
import type { Kind } from '#api/kind.ts'
import { knownKinds } from '#api/known-kinds.gen.ts'
import { equalityOf } from '#api/meta/equality.ts'
import { type GroupResource, groupResourceText, parseGroupResource } from '#api/meta/gvk.ts'
import { isNotFound } from '#api/meta/server-response.ts'
import { DeviceClass, ResourceClaim } from '#api/resource/v1/kinds.gen.ts'
import type { V1DeviceClass, V1ResourceClaim } from '#api/resource/v1/types.gen.ts'
import type { KubernetesObject } from '#api/resource.ts'
import { Scheme } from '#api/scheme.ts'
import { inTurns } from '#base/in-turns.ts'
import { ServedKinds } from '#client/served-kinds.ts'
import type { Cache } from '#controllers/runtime/cache.ts'
import { defineController, type ReconcileContext } from '#controllers/runtime/define-controller.ts'
import { on } from '#controllers/runtime/triggers.ts'
import { sortedJson } from '#controllers/workload/sorted-json.ts'

const sameStatus = equalityOf(ResourceQuota).at('status')
const sameResources = equalityOf(Pod).at('spec').at('containers').each.at('resources')

const known = new Scheme(knownKinds)

const counted = [
  ConfigMap,
  PersistentVolumeClaim,
  Secret,
  Service,
  ReplicationController,
  Deployment,
  ReplicaSet,
  StatefulSet,
  Job,
  CronJob,
]

/** How often quotas that count objects of custom kinds are looked at. */
const customKindsPeriodMs = 30_000
/** Of objects that are read: none of them may be large enough to keep others waiting. */
const pageSize = 100

/** Keeps what quotas say is used true: admission only ever adds to it. */
export const resourceQuotaController = defineController({
  name: 'resourcequota-controller',
  alias: 'resourcequota',
  queueName: 'resourcequota_primary',
  serviceAccount: 'resourcequota-controller',
  for: ResourceQuota,
  // The other changes of a quota are our own and those of admission, which are right as they are.
  ignores: (next, prev) => prev !== undefined && sortedJson(next.spec ?? {}) === sortedJson(prev.spec ?? {}),
  resyncMs: 300_000,
  // Pods that go together are counted together.
  batchMs: 100,
  watches: [
    on(Pod, (pod, cache, { prev, isGone }) =>
      isGone || (prev !== undefined && isPodFinished(pod) && !isPodFinished(prev)) || hasShrunk(pod, prev) ? quotasOf(pod, cache) : [],
    ),
    ...counted.map((kind) =>
      on(kind, (object, cache, { prev, isGone }) =>
        isGone || (kind === (Service as unknown) && prev !== undefined) ? quotasOf(object, cache) : [],
      ),
    ),
  ],

  async reconcile(quota, context) {
    const hard = quota.spec?.hard ?? {}
    const objects = await objectsFor(quota, context)
    const { evaluators, objectsOf, countsCustom } = objects
    const used = quantityTexts(await inTurns(quotaUsage(quota, evaluators, objectsOf), context.clock))
    const status = { hard, used: Object.fromEntries(Object.entries(used).filter(([name]) => name in hard)) }
    if (!sameStatus(status, quota.status)) await context.client.updateStatus(ResourceQuota, { ...quota, status })
    // Kinds come and go with their definitions: nobody tells us when one of their objects is deleted.
    if (countsCustom) context.requeueAfter(customKindsPeriodMs)
  },
})

function hasShrunk(pod: V1Pod, prev: V1Pod | undefined): boolean {
  return (
    prev !== undefined &&
    (pod.spec.containers.length !== prev.spec.containers.length ||
      pod.spec.containers.some(({ resources }, index) => !sameResources(resources, prev.spec.containers[index]?.resources)))
  )
}

function* quotasOf({ metadata }: KubernetesObject, cache: Cache): Generator<string> {
  for (const quota of cache.list(ResourceQuota, metadata?.namespace ?? '')) yield `${quota.metadata.namespace}/${quota.metadata.name}`
}

/** Everything in the namespace that the quota counts, read from the server: what admission counted last must be in it. */
async function objectsFor(quota: V1ResourceQuota, { client, clock, settings }: ReconcileContext) {
  const namespace = quota.metadata.namespace ?? ''
  const names = Object.keys(quota.spec?.hard ?? {})
  const read = async <T extends KubernetesObject>(kind: Kind<T>, inNamespace = namespace): Promise<T[]> =>
    client.list(kind, { namespace: inNamespace, limit: pageSize }).then(
      ({ items }) => items,
      (error: unknown) => {
        if (isNotFound(error)) return []
        throw error
      },
    )
  const countsDevices = names.some(
    (name) => name.includes('deviceclass') || name.includes('resourceclaims') || name.startsWith('requests.'),
  )
  const deviceClasses = countsDevices ? ((await read(DeviceClass, '')) as V1DeviceClass[]) : []
  const claims = countsDevices ? ((await read(ResourceClaim)) as V1ResourceClaim[]) : []
  const pods = await read(Pod)
  const podsByName = new Map(pods.map((pod) => [pod.metadata.name ?? '', pod]))
  const evaluators: QuotaEvaluator[] = quotaEvaluators({
    nowMs: () => clock.now(),
    isEnabled: settings.isEnabled,
    deviceClasses: () => deviceClasses,
    pod: (_namespace, name) => podsByName.get(name),
    resourceClaims: () => claims,
  })
  for (const name of names) {
    if (!name.startsWith('count/')) continue
    const resource = parseGroupResource(name.slice('count/'.length))
    if (!evaluators.some((evaluator) => evaluator.group === resource.group && evaluator.resource === resource.resource))
      evaluators.push(objectCount(resource))
  }
  const lists = new Map<string, readonly KubernetesObject[]>([
    ['pods', pods],
    ['resourceclaims.resource.k8s.io', claims],
  ])
  const served = new ServedKinds(client)
  let countsCustom = false
  for (const evaluator of evaluators) {
    const { group, resource } = evaluator
    const name = groupResourceText(evaluator)
    if (lists.has(name) || evaluator.matchingNames(names).length === 0) continue
    const builtIn = known.preferred(group, resource)
    if (builtIn === undefined && !countsCustom) await served.refresh()
    countsCustom ||= builtIn === undefined
    const kind = builtIn ?? served.scheme.preferred(group, resource)
    lists.set(name, kind === undefined ? [] : await read(kind))
  }
  return { evaluators, countsCustom, objectsOf: (resource: GroupResource) => lists.get(groupResourceText(resource)) ?? [] }
}
