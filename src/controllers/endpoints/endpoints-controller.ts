import { Endpoints, Pod, Service } from '#api/core/v1/kinds.gen.ts'
import { isPodReady } from '#api/core/v1/pod/pod-state.ts'
import type { V1EndpointAddress, V1EndpointSubset, V1Endpoints, V1Pod, V1Service } from '#api/core/v1/types.gen.ts'
import { equalityOf, sameObjectMeta } from '#api/meta/equality.ts'
import { ignoreNotFound } from '#api/meta/server-response.ts'
import { defined } from '#base/defined.ts'
import { errorMessage } from '#base/error-message.ts'
import { inTurns } from '#base/in-turns.ts'
import { omitEmpty } from '#base/omit-empty.ts'
import type { Steps } from '#base/steps.ts'
import { addressesOf, familiesOf, hasHostname, isHeadless, isInEndpoints, ServicePorts } from '#controllers/endpointslice/pod-endpoints.ts'
import { selects, servicesOfPod } from '#controllers/endpointslice/services-of-pod.ts'
import { TriggerTimes, triggerTimeAnnotation } from '#controllers/endpointslice/trigger-times.ts'
import { defineController } from '#controllers/runtime/define-controller.ts'
import { on } from '#controllers/runtime/triggers.ts'
import { isNamespaceTerminating } from '#controllers/workload/pod-writes.ts'
import { isDeleting } from '#controllers/workload/pods.ts'
import { sortedJson } from '#controllers/workload/sorted-json.ts'

const sameSubsets = equalityOf(Endpoints).at('subsets')

const managedBy = { 'endpoints.kubernetes.io/managed-by': 'endpoint-controller' }
const overCapacity = 'endpoints.kubernetes.io/over-capacity'
const limit = 1000
const triggerTimes = new TriggerTimes()

/** The older form of endpoint slices: one object for all addresses behind a service. */
export const endpointsController = defineController({
  name: 'endpoints-controller',
  alias: 'endpoint',
  serviceAccount: 'endpoint-controller',
  for: Service,
  watches: [on(Pod, servicesOfPod), on(Endpoints, ({ metadata }) => [`${metadata.namespace}/${metadata.name}`])],

  async reconcile(service, { cache, client, clock, events, key }) {
    const { spec, metadata } = service
    if (spec?.selector === undefined || spec.type === 'ExternalName' || isDeleting(service)) return
    const { namespace = '', name = '' } = metadata
    const pods = cache.list(Pod, namespace).filter((pod) => selects(service, pod))
    const subsets = await inTurns(subsetsOf(service, pods), clock)
    const isCut = cutTo(subsets, limit)
    const labels = {
      ...metadata.labels,
      ...defined({ 'service.kubernetes.io/headless': isHeadless(service) ? '' : undefined }),
      ...managedBy,
    }
    const current = cache.get(Endpoints, namespace, name)
    const { [overCapacity]: _cut, [triggerTimeAnnotation]: when, ...kept } = current?.metadata.annotations ?? {}
    const lasting = { ...kept, ...defined({ [overCapacity]: isCut ? 'truncated' : undefined }) }
    const triggered = triggerTimes.next(cache, key, service, pods)
    const isSame =
      current !== undefined &&
      sameSubsets(current.subsets, subsets) &&
      sameObjectMeta.at('labels')(current.metadata.labels, labels) &&
      sameObjectMeta.at('annotations')(current.metadata.annotations, {
        ...lasting,
        ...defined({ [triggerTimeAnnotation]: when }),
      })
    if (isSame) return
    const annotations = { ...lasting, ...triggered }
    const next: V1Endpoints = { metadata: { ...(current?.metadata ?? { namespace, name }), labels, annotations }, subsets }
    try {
      await (current === undefined ? client.create(Endpoints, next) : client.update(Endpoints, next))
    } catch (error) {
      if (isNamespaceTerminating(error)) return
      const what = current === undefined ? 'FailedToCreateEndpoint' : 'FailedToUpdateEndpoint'
      const text =
        current === undefined
          ? `Failed to create endpoint for service ${namespace}/${name}`
          : `Failed to update endpoint ${namespace}/${name}`
      events.warning(Endpoints, next, what, `${text}: ${errorMessage(error)}`)
      throw error
    }
  },

  async reconcileGone(namespace, name, { cache, client, key }) {
    triggerTimes.forget(cache, key)
    if (cache.get(Endpoints, namespace, name)?.metadata.labels?.['endpoints.kubernetes.io/managed-by'] === undefined) return
    await client.delete(Endpoints, { namespace, name }).catch(ignoreNotFound)
  },
})

function* subsetsOf(service: V1Service, pods: readonly V1Pod[]): Steps<V1EndpointSubset[]> {
  const subsets = new Map<string, V1EndpointSubset>()
  const isTolerant = service.spec?.publishNotReadyAddresses === true
  const servicePorts = new ServicePorts(service, {
    keyOf: sortedJson,
    portOf: ({ name, protocol = 'TCP', appProtocol }, port) => ({ ...omitEmpty({ name }), port, protocol, ...defined({ appProtocol }) }),
  })
  for (const pod of pods) {
    yield
    const address = isInEndpoints(pod, { includesTerminating: isTolerant }) ? addressOf(service, pod) : undefined
    if (address === undefined) continue
    const { ports, key } = servicePorts.of(pod)
    if (ports.length === 0 && ((service.spec?.ports ?? []).length > 0 || service.spec?.clusterIP !== 'None')) continue
    const subset = subsets.get(key) ?? (ports.length === 0 ? {} : { ports })
    subsets.set(key, subset)
    const list = isTolerant || isPodReady(pod) ? 'addresses' : 'notReadyAddresses'
    subset[list] ??= []
    subset[list].push(address)
  }
  const ordered = [...subsets].sort(([left], [right]) => (left < right ? -1 : 1)).map(([, subset]) => subset)
  for (const subset of ordered) {
    subset.addresses?.sort(byAddress)
    subset.notReadyAddresses?.sort(byAddress)
  }
  return ordered
}

const byAddress = (left: V1EndpointAddress, right: V1EndpointAddress): number => (left.ip < right.ip ? -1 : left.ip > right.ip ? 1 : 0)

function addressOf(service: V1Service, pod: V1Pod): V1EndpointAddress | undefined {
  const family = familiesOf(service)[0] ?? 'IPv4'
  const ip = addressesOf(pod, family)[0]
  if (ip === undefined) return undefined
  const { namespace = '', name = '', uid = '' } = pod.metadata
  return {
    ip,
    ...defined({ hostname: hasHostname(pod, service) && pod.spec.hostname ? pod.spec.hostname : undefined }),
    ...omitEmpty({ nodeName: pod.spec.nodeName }),
    targetRef: { kind: 'Pod', namespace, name, uid },
  }
}

/** Drops what is too much, addresses that are not ready first; tells whether there was any. */
function cutTo(subsets: V1EndpointSubset[], most: number): boolean {
  const count = (list: 'addresses' | 'notReadyAddresses') => subsets.reduce((sum, subset) => sum + (subset[list]?.length ?? 0), 0)
  if (count('addresses') + count('notReadyAddresses') <= most) return false
  let room = most
  for (const list of ['addresses', 'notReadyAddresses'] as const) {
    for (const subset of subsets) {
      const kept = (subset[list] ?? []).slice(0, room)
      room -= kept.length
      if (kept.length > 0) subset[list] = kept
      else delete subset[list]
    }
  }
  return true
}
