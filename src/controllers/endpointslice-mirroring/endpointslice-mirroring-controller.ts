import { Endpoints, Service } from '#api/core/v1/kinds.gen.ts'
import type { V1EndpointAddress, V1EndpointSubset, V1Endpoints } from '#api/core/v1/types.gen.ts'
import { EndpointSlice } from '#api/discovery/v1/kinds.gen.ts'
import { serviceNameLabel } from '#api/discovery/v1/service-name.ts'
import type { V1Endpoint, V1EndpointSlice } from '#api/discovery/v1/types.gen.ts'
import { parseIp } from '#api/meta/ip.ts'
import { controllerReference } from '#api/meta/owner-references.ts'
import { append } from '#base/append.ts'
import { defined } from '#base/defined.ts'
import { inTurns } from '#base/in-turns.ts'
import { exponentialBuckets } from '#base/metrics.ts'
import { omitEmpty } from '#base/omit-empty.ts'
import type { EventRecorder } from '#client/events/event-recorder.ts'
import { addServiceIndex, managedByLabel } from '#controllers/endpointslice/endpointslice-controller.ts'
import { countsOf, SliceMetrics } from '#controllers/endpointslice/slice-metrics.ts'
import { carryOut, type EndpointGroup, noPlan, planSlices } from '#controllers/endpointslice/slices.ts'
import { repackSubsets } from '#controllers/endpointslice-mirroring/repack-subsets.ts'
import { defineController, type ReconcileContext } from '#controllers/runtime/define-controller.ts'
import { ownMetrics } from '#controllers/runtime/own-metrics.ts'
import { on } from '#controllers/runtime/triggers.ts'
import { isNamespaceTerminating } from '#controllers/workload/pod-writes.ts'
import { isDeleting } from '#controllers/workload/pods.ts'

const controllerName = 'endpointslicemirroring-controller.k8s.io'
/** Of one object: thousands of ports that share thousands of addresses would be millions of endpoints. */
const mostMirrored = 20_000
const isIp = (text: string): boolean => parseIp(text) !== undefined
const uncopiedAnnotations = ['kubectl.kubernetes.io/last-applied-configuration', 'endpoints.kubernetes.io/last-change-trigger-time']

/** Shows endpoints that people wrote themselves as slices, for those who read slices only. */
export const endpointSliceMirroringController = defineController({
  name: 'endpointslice-mirroring-controller',
  alias: 'endpointslicemirroring',
  queueName: 'endpoint_slice_mirroring',
  serviceAccount: 'endpointslicemirroring-controller',
  eventComponent: 'endpoint-slice-mirroring-controller',
  for: Endpoints,
  indexes: (cache) => addServiceIndex(cache),
  watches: [
    on(Service, ({ metadata }) => [`${metadata.namespace}/${metadata.name}`]),
    on(EndpointSlice, ({ metadata }) =>
      metadata.labels?.[managedByLabel] === controllerName ? [`${metadata.namespace}/${metadata.labels[serviceNameLabel] ?? ''}`] : [],
    ),
  ],

  reconcile: (endpoints, context) => timed(context, () => mirror(endpoints, context)),
  reconcileGone: (namespace, name, context) => timed(context, () => removeSlices(slicesOf(namespace, name, context), context)),
})

const declared = ownMetrics((metrics) => {
  const subsystem = 'endpoint_slice_mirroring_controller'
  const buckets = exponentialBuckets(2, 2, 15)
  return {
    slices: new SliceMetrics(metrics, subsystem),
    updated: metrics.histogram(`${subsystem}_endpoints_updated_per_sync`, 'Endpoints that changed, look by look', buckets),
    skipped: metrics.histogram(
      `${subsystem}_addresses_skipped_per_sync`,
      'Addresses that were left out, look by look: no addresses, or too many',
      buckets,
    ),
    took: metrics.histogram(
      `${subsystem}_endpoints_sync_duration`,
      'How many seconds it took to look at endpoints',
      exponentialBuckets(0.001, 2, 15),
    ),
  }
})

async function timed(context: ReconcileContext, work: () => Promise<void>): Promise<void> {
  const { clock } = context
  const startedMs = clock.monotonic()
  try {
    await work()
  } finally {
    declared(context).took.observe(Math.floor(clock.monotonic() - startedMs) / 1000)
  }
}

async function mirror(endpoints: V1Endpoints, context: ReconcileContext): Promise<void> {
  const { cache, client, clock, events, settings } = context
  const { slices, updated, skipped } = declared(context)
  const { namespace = '', name = '' } = endpoints.metadata
  const service = cache.get(Service, namespace, name)
  const existing = slicesOf(namespace, name, context).filter((slice) => !isDeleting(slice))
  const isMirrored = isForMirroring(endpoints) && service !== undefined && service.spec?.selector === undefined && !isDeleting(endpoints)
  if (!isMirrored) return removeSlices(existing, context)
  // A subset has one slice, however many endpoints that makes.
  const most = settings.mirroringMaxEndpointsPerSubset
  const { subsets, portsLeft } = await inTurns(repackSubsets(endpoints.subsets ?? [], { mostEach: most, enough: mostMirrored }), clock)
  skipped.observe(tellOfSkipped(endpoints, subsets, most, events))
  if (portsLeft > 0) {
    const message = `No more than ${mostMirrored} addresses of all subsets can be mirrored to EndpointSlices. ${portsLeft} ports were skipped`
    events.warning(Endpoints, endpoints, 'TooManyAddressesToMirror', message)
  }
  const plan = noPlan()
  const allGroups: EndpointGroup[] = []
  for (const family of ['IPv4', 'IPv6']) {
    const groups = subsets.flatMap((subset) => groupOf(subset, family, most))
    const ofFamily = existing.filter(({ addressType }) => addressType === family)
    const part = planSlices(ofFamily, groups, draftOf(endpoints, family), most, { keepsEmpty: false })
    append(allGroups, groups)
    for (const list of ['create', 'update', 'remove'] as const) append(plan[list], part[list])
    for (const kind of ['added', 'updated', 'removed'] as const) plan.endpoints[kind] += part.endpoints[kind]
  }
  slices.planned(plan)
  updated.observe(plan.endpoints.updated)
  slices.keep(context.key, countsOf(allGroups, existing.length, plan, most))
  await carryOut(client, plan, slices.wrote).catch((error: unknown) => {
    if (!isNamespaceTerminating(error)) throw error
  })
}

function slicesOf(namespace: string, name: string, { cache }: ReconcileContext): V1EndpointSlice[] {
  return cache
    .byIndex(EndpointSlice, 'service', `${namespace}/${name}`)
    .filter(({ metadata }) => metadata.labels?.[managedByLabel] === controllerName)
}

function removeSlices(slices: readonly V1EndpointSlice[], context: ReconcileContext): Promise<void> {
  declared(context).slices.forget(context.key)
  return carryOut(context.client, { create: [], update: [], remove: [...slices] }, () => {})
}

/** How many. */
function tellOfSkipped(endpoints: V1Endpoints, subsets: readonly V1EndpointSubset[], most: number, events: EventRecorder): number {
  let invalid = 0
  let tooMany = 0
  for (const { addresses = [], notReadyAddresses = [] } of subsets) {
    const all = [...addresses, ...notReadyAddresses]
    const valid = all.filter(({ ip }) => isIp(ip)).length
    invalid += all.length - valid
    tooMany += Math.max(0, valid - most)
  }
  if (invalid > 0)
    events.warning(Endpoints, endpoints, 'InvalidIPAddress', `Skipped ${invalid} invalid IP addresses when mirroring to EndpointSlices`)
  if (tooMany > 0) {
    const message =
      `A max of ${most} addresses can be mirrored to EndpointSlices per Endpoints subset. ` + `${invalid + tooMany} addresses were skipped`
    events.warning(Endpoints, endpoints, 'TooManyAddressesToMirror', message)
  }
  return invalid + tooMany
}

function isForMirroring({ metadata }: V1Endpoints): boolean {
  if (metadata.labels?.['endpointslice.kubernetes.io/skip-mirror'] === 'true') return false
  // Written by leader elections of long ago, every two seconds.
  return metadata.annotations?.['control-plane.alpha.kubernetes.io/leader'] === undefined
}

function groupOf({ addresses = [], notReadyAddresses = [], ports = [] }: V1EndpointSubset, family: string, most: number): EndpointGroup[] {
  const endpoints = [
    ...addresses.map((address) => endpointOf(address, true)),
    ...notReadyAddresses.map((address) => endpointOf(address, false)),
  ]
    .filter(({ addresses: [ip = ''] }) => isIp(ip))
    .slice(0, most)
    .filter((endpoint) => endpoint.addresses[0]?.includes(':') === (family === 'IPv6'))
  if (endpoints.length === 0) return []
  const slicePorts = ports.map(({ name = '', port, protocol = 'TCP', appProtocol }) => ({
    name,
    port,
    protocol,
    ...defined({ appProtocol }),
  }))
  return [{ ports: slicePorts, endpoints }]
}

function endpointOf({ ip, hostname, nodeName, targetRef }: V1EndpointAddress, ready: boolean): V1Endpoint {
  return {
    addresses: [ip],
    conditions: { ready },
    ...omitEmpty({ hostname }),
    ...defined({ targetRef }),
    ...omitEmpty({ nodeName }),
  }
}

function draftOf(endpoints: V1Endpoints, addressType: string): V1EndpointSlice {
  const { namespace = '', name = '', labels = {}, annotations = {} } = endpoints.metadata
  return {
    metadata: {
      namespace,
      generateName: `${name}-`,
      labels: { ...labels, [serviceNameLabel]: name, [managedByLabel]: controllerName },
      annotations: Object.fromEntries(Object.entries(annotations).filter(([key]) => !uncopiedAnnotations.includes(key))),
      ownerReferences: [controllerReference(endpoints, Endpoints)],
    },
    addressType,
    endpoints: [],
    ports: [],
  }
}
