import { Node, Pod, Service } from '#api/core/v1/kinds.gen.ts'
import { isPodReady } from '#api/core/v1/pod/pod-state.ts'
import type { V1Node, V1Pod, V1Service } from '#api/core/v1/types.gen.ts'
import { EndpointSlice } from '#api/discovery/v1/kinds.gen.ts'
import { serviceNameLabel } from '#api/discovery/v1/service-name.ts'
import type { V1Endpoint, V1EndpointPort, V1EndpointSlice } from '#api/discovery/v1/types.gen.ts'
import { findCondition } from '#api/meta/find-condition.ts'
import { controllerReference, isOwnedBy } from '#api/meta/owner-references.ts'
import { append } from '#base/append.ts'
import { defined } from '#base/defined.ts'
import { errorMessage } from '#base/error-message.ts'
import { inTurns } from '#base/in-turns.ts'
import { omitEmpty } from '#base/omit-empty.ts'
import type { Steps } from '#base/steps.ts'
import { keyOf } from '#client/informer/object-store.ts'
import { addressesOf, familiesOf, hasHostname, isHeadless, isInEndpoints, ServicePorts } from '#controllers/endpointslice/pod-endpoints.ts'
import { selects, servicesOfPod } from '#controllers/endpointslice/services-of-pod.ts'
import { countsOf, endpointSliceMetrics, type SliceCounts } from '#controllers/endpointslice/slice-metrics.ts'
import { carryOut, type EndpointGroup, noPlan, planSlices, portsKey, type SlicePlan } from '#controllers/endpointslice/slices.ts'
import { topologyHints, wantsTopologyHints, zoneShares } from '#controllers/endpointslice/topology-hints.ts'
import { TriggerTimes } from '#controllers/endpointslice/trigger-times.ts'
import type { Cache } from '#controllers/runtime/cache.ts'
import { defineController, type ReconcileContext } from '#controllers/runtime/define-controller.ts'
import { on } from '#controllers/runtime/triggers.ts'
import { isNamespaceTerminating } from '#controllers/workload/pod-writes.ts'
import { isDeleting } from '#controllers/workload/pods.ts'

export const managedByLabel = 'endpointslice.kubernetes.io/managed-by'
const controllerName = 'endpointslice-controller.k8s.io'
const headlessLabel = 'service.kubernetes.io/headless'
const triggerTimes = new TriggerTimes()
const reserved: ReadonlySet<string> = new Set([managedByLabel, serviceNameLabel, headlessLabel])

/** Keeps the addresses behind every service that selects pods. */
export const endpointSliceController = defineController({
  name: 'endpointslice-controller',
  alias: 'endpointslice',
  queueName: 'endpoint_slice',
  serviceAccount: 'endpointslice-controller',
  for: Service,
  indexes: (cache) => addServiceIndex(cache),
  watches: [
    on(Pod, servicesOfPod),
    on(EndpointSlice, ({ metadata }) =>
      metadata.labels?.[managedByLabel] === controllerName ? [`${metadata.namespace}/${metadata.labels[serviceNameLabel] ?? ''}`] : [],
    ),
    // Zones of nodes are written into endpoints.
    on(Node, function* (node, cache, { prev }) {
      const { metadata } = node
      if (prev === undefined || weightOf(prev) !== weightOf(node)) {
        for (const service of cache.list(Service)) if (wantsTopologyHints(service)) yield keyOf(service)
      }
      const zone = 'topology.kubernetes.io/zone'
      if (prev !== undefined && prev.metadata.labels?.[zone] === metadata.labels?.[zone]) return
      for (const pod of cache.list(Pod)) if (pod.spec.nodeName === metadata.name) yield* servicesOfPod(pod, cache, {})
    }),
  ],

  async reconcile(service, context) {
    const { syncs } = endpointSliceMetrics(context)
    try {
      await syncSlices(service, context)
      syncs.inc({ result: 'success' })
    } catch (error) {
      syncs.inc({ result: 'error' })
      throw error
    }
  },

  // The slices themselves go with their owner.
  async reconcileGone(_namespace, _name, context) {
    const { slices, distributions } = endpointSliceMetrics(context)
    slices.forget(context.key)
    distributions.delete(context.key)
    triggerTimes.forget(context.cache, context.key)
  },
})

async function syncSlices(service: V1Service, context: ReconcileContext): Promise<void> {
  const { cache, client, clock, events, settings } = context
  const { slices, changed, distributions } = endpointSliceMetrics(context)
  const { spec } = service
  if (spec?.selector === undefined || spec.type === 'ExternalName' || isDeleting(service)) return
  const pods = cache.list(Pod, service.metadata.namespace ?? '').filter((pod) => selects(service, pod))
  const annotations = triggerTimes.next(cache, context.key, service, pods)
  const families = familiesOf(service)
  const existing = cache
    .byIndex(EndpointSlice, 'service', `${service.metadata.namespace}/${service.metadata.name}`)
    .filter((slice) => slice.metadata.labels?.[managedByLabel] === controllerName && !isDeleting(slice))
  const plan = noPlan()
  append(
    plan.remove,
    existing.filter((slice) => !isOwnedBy(slice, service) || !families.includes(slice.addressType as 'IPv4')),
  )
  const parts: SlicePlan[] = []
  const counts: SliceCounts = { endpoints: 0, slices: 0, desired: 0 }
  const limit = settings.maxEndpointsPerSlice
  const problems: string[] = []
  for (const family of families) {
    const ofFamily = existing.filter((slice) => isOwnedBy(slice, service) && slice.addressType === family)
    const groups = await inTurns(groupsOf(service, pods, family, { cache, problems }), clock)
    hintAtZones(service, groups, ofFamily, family, context)
    const part = planSlices(ofFamily, groups, draftOf(service, family, annotations), limit, { keepsEmpty: true })
    parts.push(part)
    slices.planned(part)
    for (const [name, count] of Object.entries(countsOf(groups, ofFamily.length, part, limit))) counts[name as keyof SliceCounts] += count
    for (const list of ['create', 'update', 'remove'] as const) append(plan[list], part[list])
  }
  slices.keep(context.key, counts)
  const distribution = distributionOf(service)
  if (distribution === '') distributions.delete(context.key)
  else distributions.set(context.key, distribution)
  try {
    await carryOut(client, plan, slices.wrote)
    // Tried again later: the node may not be known yet.
    if (problems.length > 0) throw new Error(problems.length === 1 ? problems[0] : `[${problems.join(', ')}]`)
  } catch (error) {
    if (isNamespaceTerminating(error)) return
    const { namespace, name } = service.metadata
    const message = `Error updating Endpoint Slices for Service ${namespace}/${name}: ${errorMessage(error)}`
    events.warning(Service, service, 'FailedToUpdateEndpointSlices', message)
    throw error
  }
  const labels = { topology: wantsTopologyHints(service) ? 'Auto' : 'Disabled', traffic_distribution: distribution }
  for (const { create, update, remove } of parts) changed.observe(create.length + update.length + remove.length, labels)
}

/** Empty where nobody near is preferred. */
const distributionOf = (service: V1Service): string =>
  prefersNear(service) && !wantsTopologyHints(service) ? (service.spec?.trafficDistribution ?? '') : ''

export function addServiceIndex(cache: Cache): void {
  cache.addIndex(EndpointSlice, 'service', ({ metadata }) => [`${metadata.namespace}/${metadata.labels?.[serviceNameLabel] ?? ''}`])
}

/** What of a node tells how much traffic its zone has. */
function weightOf({ metadata, status }: V1Node): string {
  const ready = findCondition(status?.conditions, 'Ready')?.status
  return `${metadata.labels?.['topology.kubernetes.io/zone']} ${status?.allocatable?.['cpu']} ${ready}`
}

/** For services that ask for it by an annotation, endpoints are shared out among the zones; all of them get a hint, or none. */
function hintAtZones(
  service: V1Service,
  groups: readonly EndpointGroup[],
  existing: readonly V1EndpointSlice[],
  family: string,
  { cache, events }: ReconcileContext,
): void {
  const before = new Map<string, string>()
  for (const { endpoints } of existing) {
    for (const endpoint of endpoints ?? []) {
      const zone = endpoint.hints?.forZones?.[0]?.name
      if (zone !== undefined) before.set(endpoint.addresses.join(), zone)
    }
  }
  const tell = (type: 'Normal' | 'Warning', reason: string, message: string) =>
    events.record(Service, service, type, reason, `${message}, addressType: ${family}`)
  if (!wantsTopologyHints(service)) {
    if (before.size > 0 && !prefersNear(service)) tell('Warning', 'TopologyAwareHintsDisabled', 'Topology Aware Hints has been disabled')
    return
  }
  const endpoints = groups.flatMap((group) => group.endpoints)
  const hints = topologyHints(endpoints, zoneShares(cache.list(Node)), ({ addresses }) => before.get(addresses.join()))
  for (const endpoint of endpoints) {
    const zone = 'problem' in hints ? undefined : hints.zoneOf.get(endpoint)
    if (zone === undefined) delete endpoint.hints
    else endpoint.hints = { forZones: [{ name: zone }] }
  }
  if ('problem' in hints) tell('Warning', 'TopologyAwareHintsDisabled', hints.problem)
  else if (before.size === 0) tell('Normal', 'TopologyAwareHintsEnabled', 'Topology Aware Hints has been enabled')
}

type Surroundings = { cache: Cache; problems: string[] }

/** Pods of nodes that do not exist are left out, unless the service wants every pod there is. */
function* groupsOf(
  service: V1Service,
  pods: readonly V1Pod[],
  family: 'IPv4' | 'IPv6',
  { cache, problems }: Surroundings,
): Steps<EndpointGroup[]> {
  const groups = new Map<string, EndpointGroup>()
  const servicePorts = new ServicePorts(service, {
    keyOf: portsKey,
    portOf: ({ name = '', protocol = 'TCP', appProtocol }, port): V1EndpointPort => ({ name, port, protocol, ...defined({ appProtocol }) }),
  })
  for (const pod of pods) {
    yield
    if (!isInEndpoints(pod, { includesTerminating: true })) continue
    const { nodeName = '' } = pod.spec
    const node = cache.get(Node, '', nodeName)
    if (node === undefined && !service.spec?.publishNotReadyAddresses) {
      const { namespace, name } = service.metadata
      problems.push(`skipping Pod ${pod.metadata.name} for Service ${namespace}/${name}: Node ${nodeName} Not Found`)
      continue
    }
    const endpoint = endpointOf(service, pod, family, node?.metadata.labels?.['topology.kubernetes.io/zone'])
    if (endpoint.addresses.length === 0) continue
    const { ports, key } = servicePorts.of(pod)
    const group = groups.get(key) ?? { ports, endpoints: [] }
    groups.set(key, group)
    group.endpoints.push(endpoint)
  }
  return [...groups.values()]
}

function endpointOf(service: V1Service, pod: V1Pod, family: 'IPv4' | 'IPv6', zone: string | undefined): V1Endpoint {
  const serving = isPodReady(pod)
  const terminating = isDeleting(pod)
  const ready = service.spec?.publishNotReadyAddresses === true || (serving && !terminating)
  const { namespace = '', name = '', uid = '' } = pod.metadata
  const hints = ready ? hintsOf(service, pod.spec.nodeName, zone) : undefined
  return {
    addresses: addressesOf(pod, family),
    conditions: { ready, serving, terminating },
    ...defined({ hostname: hasHostname(pod, service) && pod.spec.hostname ? pod.spec.hostname : undefined }),
    targetRef: { kind: 'Pod', namespace, name, uid },
    ...omitEmpty({ nodeName: pod.spec.nodeName, zone }),
    ...defined({ hints }),
  }
}

const prefersNear = ({ spec }: Pick<V1Service, 'spec'>): boolean =>
  ['PreferClose', 'PreferSameZone', 'PreferSameNode'].includes(spec?.trafficDistribution ?? '')

/** Who should use this endpoint, for services that prefer what is near. */
function hintsOf({ spec }: Pick<V1Service, 'spec'>, node: string | undefined, zone: string | undefined): V1Endpoint['hints'] | undefined {
  if (!prefersNear({ spec })) return undefined
  const forNodes = spec?.trafficDistribution === 'PreferSameNode' && node ? { forNodes: [{ name: node }] } : {}
  const forZones = zone ? { forZones: [{ name: zone }] } : {}
  return zone || 'forNodes' in forNodes ? { ...forZones, ...forNodes } : undefined
}

function draftOf(service: V1Service, addressType: string, annotations: Record<string, string>): V1EndpointSlice {
  const { namespace = '', name = '', labels = {} } = service.metadata
  const own = Object.fromEntries(Object.entries(labels).filter(([key]) => !reserved.has(key)))
  return {
    metadata: {
      namespace,
      generateName: `${name}-`,
      labels: {
        ...own,
        ...defined({ [headlessLabel]: isHeadless(service) ? '' : undefined }),
        [serviceNameLabel]: name,
        [managedByLabel]: controllerName,
      },
      annotations,
      ownerReferences: [controllerReference(service, Service)],
    },
    addressType,
    endpoints: [],
    ports: [],
  }
}
