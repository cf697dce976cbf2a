/** Eviction: a deletion that asks the pod's disruption budget first. */

import { Pod } from '#api/core/v1/kinds.gen.ts'
import { isPodFinished, isPodReady } from '#api/core/v1/pod/pod-state.ts'
import type { V1Pod } from '#api/core/v1/types.gen.ts'
import { deepCopy } from '#api/meta/deep-copy.ts'
import { findCondition, transitionTime, withCondition } from '#api/meta/find-condition.ts'
import { labelSelectorFrom } from '#api/meta/selector.ts'
import { badRequest, forbidden, StatusError, unknownFailure } from '#api/meta/status-error.ts'
import { formatTime } from '#api/meta/time.ts'
import type { V1DeleteOptions } from '#api/meta/v1/types.gen.ts'
import { PodDisruptionBudget } from '#api/policy/v1/kinds.gen.ts'
import type { V1Eviction, V1PodDisruptionBudget } from '#api/policy/v1/types.gen.ts'
import type { RequestContext } from '#apiserver/http/context.ts'
import { contentMedia } from '#apiserver/http/decode-body.ts'
import { type DecodeTarget, decodeObject } from '#apiserver/http/decode-object.ts'
import type { EndpointServices } from '#apiserver/http/resource-endpoints.ts'
import type { ServedResource } from '#apiserver/http/served-resource.ts'
import { deleteContext, readWritten } from '#apiserver/http/write-verbs.ts'
import { checkPreconditions } from '#apiserver/registry/before-delete.ts'
import { type Registries, serverContext } from '#apiserver/registry/registries.ts'
import type { TypedRegistry } from '#apiserver/registry/typed-registry.ts'
import { admit } from '#apiserver/subresources/admit.ts'
import type { BindingParts } from '#apiserver/subresources/binding.ts'
import { respondSuccess, valueFormOf } from '#apiserver/subresources/respond-value.ts'
import { defined } from '#base/defined.ts'

const evictionType: DecodeTarget<V1Eviction> = { group: 'policy', version: 'v1', kind: 'Eviction', schema: 'io.k8s.api.policy.v1.Eviction' }
/** A budget that remembers more disrupted pods than this is not being looked after. */
const mostDisruptedPods = 2000

export async function evict(
  context: RequestContext,
  resource: ServedResource,
  { registries, services, admission }: BindingParts,
): Promise<void> {
  valueFormOf(context)
  const body = await readWritten(context, services)
  const { object: eviction } = decodeObject(body, contentMedia(context.headers['content-type']), evictionType)
  const { name, namespace } = context.info
  if (eviction.metadata?.name !== name) throw badRequest('name in URL does not match name in Eviction object')
  const options: V1DeleteOptions = deepCopy(eviction.deleteOptions ?? {})
  const dryRun = context.query.getAll('dryRun')
  if (dryRun.length > 0) options.dryRun = dryRun
  const isDryRun = (options.dryRun ?? []).includes('All')
  const { definition } = resource.registry
  await admit(admission, context, {
    operation: 'CREATE',
    definition,
    kind: evictionType,
    name,
    object: eviction,
    isDryRun,
  })
  const pods = registries.of(Pod)
  const { object: pod } = await pods.get(namespace, name)
  if (!needsNoBudget(pod)) await spendBudget(pod, registries, services, isDryRun)
  if (!isDryRun) await markAsEvicted(pods, pod, options, formatTime(services.clock.now()))
  await resource.registry.delete(name, options, { ...deleteContext(context, resource, options), subresource: '' })
  respondSuccess(context, 201)
}

/** Says why the pod goes, before it does: a job may not count it as a failure. `options` go on to mean the pod as it is then. */
async function markAsEvicted(registry: TypedRegistry<V1Pod>, { metadata }: V1Pod, options: V1DeleteOptions, now: string): Promise<void> {
  const { definition } = registry
  const { object } = await registry.change(metadata.name ?? '', serverContext(definition, metadata.namespace ?? '', 'status'), {
    retriesConflicts: true,
    rules: {},
    transform(prev) {
      checkPreconditions(definition, prev.metadata ?? {}, options)
      return withDisruptionTarget(prev, now)
    },
  })
  const { preconditions } = options
  if (preconditions?.resourceVersion) preconditions.resourceVersion = String(object.revision)
}

function withDisruptionTarget(pod: V1Pod, now: string): V1Pod {
  const conditions = pod.status?.conditions ?? []
  const before = findCondition(conditions, 'DisruptionTarget')
  const condition = {
    ...before,
    type: 'DisruptionTarget',
    status: 'True',
    lastTransitionTime: transitionTime(before, 'True', now),
    reason: 'EvictionByEvictionAPI',
    message: 'Eviction API: evicting',
  }
  return { ...deepCopy(pod), status: { ...pod.status, conditions: deepCopy(withCondition(conditions, condition)) } }
}

/** Pods that run no more, or not yet, disrupt nothing. */
function needsNoBudget(pod: V1Pod): boolean {
  const isPending = (pod.status?.phase ?? 'Pending') === 'Pending'
  return pod.metadata.deletionTimestamp !== undefined || isPending || isPodFinished(pod)
}

async function spendBudget(pod: V1Pod, registries: Registries, services: EndpointServices, isDryRun: boolean): Promise<void> {
  const registry = registries.of(PodDisruptionBudget)
  const budgets = registry.cache.list(pod.metadata.namespace ?? '').map(({ object }) => object)
  const matching = budgets.filter(({ spec }) => labelSelectorFrom(spec?.selector).matches(pod.metadata.labels ?? {}))
  if (matching.length > 1)
    throw unknownFailure('This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.')
  const [budget] = matching
  if (budget === undefined) return
  if (!isPodReady(pod)) {
    const { status, spec } = budget
    if (spec?.unhealthyPodEvictionPolicy === 'AlwaysAllow') return
    if ((status?.currentHealthy ?? 0) >= (status?.desiredHealthy ?? 0) && (status?.desiredHealthy ?? 0) > 0) return
  }
  const write = { ...serverContext(registry.definition, pod.metadata.namespace ?? '', 'status'), isDryRun }
  await registry.change(budget.metadata?.name ?? '', write, {
    retriesConflicts: true,
    tracksFields: true,
    rules: {},
    transform: (prev) => spent(prev, pod, formatTime(services.clock.now())),
  })
}

function spent(prev: V1PodDisruptionBudget, pod: V1Pod, now: string): V1PodDisruptionBudget {
  const budget = deepCopy(prev)
  const { name = '', generation = 0 } = budget.metadata ?? {}
  const { status } = budget
  if (status === undefined || (status.observedGeneration ?? 0) < generation) {
    throw tooManyDisruptions(`The disruption budget ${name} is still being processed by the server.`, 10)
  }
  const subject = { group: 'policy', resource: 'poddisruptionbudgets' }
  const allowed = status.disruptionsAllowed ?? 0
  if (allowed < 0) throw forbidden(subject, name, 'pdb disruptions allowed is negative')
  if (Object.keys(status.disruptedPods ?? {}).length > mostDisruptedPods) {
    throw forbidden(subject, name, 'DisruptedPods map too big - too many evictions not confirmed by PDB controller')
  }
  if (allowed === 0) {
    throw tooManyDisruptions(
      `The disruption budget ${name} needs ${status.desiredHealthy} healthy pods and has ${status.currentHealthy} currently`,
    )
  }
  status.disruptionsAllowed = allowed - 1
  status.disruptedPods = { ...status.disruptedPods, [pod.metadata.name ?? '']: now }
  if (status.disruptionsAllowed === 0) {
    const condition = {
      type: 'DisruptionAllowed',
      reason: 'InsufficientPods',
      status: 'False',
      observedGeneration: status.observedGeneration ?? 0,
    }
    const lastTransitionTime = transitionTime(findCondition(status.conditions, condition.type), condition.status, now)
    status.conditions = withCondition(status.conditions, { ...condition, lastTransitionTime, message: '' })
  }
  return budget
}

function tooManyDisruptions(message: string, retryAfterSeconds?: number): StatusError {
  return new StatusError({
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    message: "Cannot evict pod as it would violate the pod's disruption budget.",
    reason: 'TooManyRequests',
    details: { causes: [{ reason: 'DisruptionBudget', message }], ...defined({ retryAfterSeconds }) },
    code: 429,
  })
}
