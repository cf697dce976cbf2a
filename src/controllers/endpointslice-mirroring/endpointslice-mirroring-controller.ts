import { Endpoints, Service } from '#api/core/v1/kinds.gen.ts'
import type { V1EndpointAddress, V1EndpointSubset, V1Endpoints } from '#api/core/v1/types.gen.ts'
import { EndpointSlice } from '#api/discovery/v1/kinds.gen.ts'
import { serviceNameLabel } from '#api/discovery/v1/service-name.ts'
import type { V1Endpoint, V1EndpointSlice } from '#api/discovery/v1/types.gen.ts'
import { parseIp } from '#api/meta/ip.ts'
import { controllerReference } from '#api/meta/owner-references.ts'
import { defined } from '#base/defined.ts'
import { omitEmpty } from '#base/omit-empty.ts'
import type { EventRecorder } from '#client/events/event-recorder.ts'
import { addServiceIndex, managedByLabel } from '#controllers/endpointslice/endpointslice-controller.ts'
import { carryOut, type EndpointGroup, planSlices } from '#controllers/endpointslice/slices.ts'
import { defineController } from '#controllers/runtime/define-controller.ts'
import { on } from '#controllers/runtime/triggers.ts'
import { isNamespaceTerminating } from '#controllers/workload/pod-writes.ts'
import { isDeleting } from '#controllers/workload/pods.ts'

const controllerName = 'endpointslicemirroring-controller.k8s.io'
const isIp = (text: string): boolean => parseIp(text) !== undefined
const uncopiedAnnotations = ['kubectl.kubernetes.io/last-applied-configuration', 'endpoints.kubernetes.io/last-change-trigger-time']

/** Shows endpoints that people wrote themselves as slices, for those who read slices only. */
export const endpointSliceMirroringController = defineController({
  name: 'endpointslice-mirroring-controller',
  alias: 'endpointslicemirroring',
  queueName: 'endpoint_slice_mirroring',
  serviceAccount: 'endpointslicemirroring-controller',
  for: Endpoints,
  indexes: (cache) => addServiceIndex(cache),
  watches: [
    on(Service, ({ metadata }) => [`${metadata.namespace}/${metadata.name}`]),
    on(EndpointSlice, ({ metadata }) =>
      metadata.labels?.[managedByLabel] === controllerName ? [`${metadata.namespace}/${metadata.labels[serviceNameLabel] ?? ''}`] : [],
    ),
  ],

  async reconcile(endpoints, { cache, client, events, settings }) {
    const { namespace = '', name = '' } = endpoints.metadata
    const service = cache.get(Service, namespace, name)
    const existing = cache
      .byIndex(EndpointSlice, 'service', `${namespace}/${name}`)
      .filter((slice) => slice.metadata.labels?.[managedByLabel] === controllerName && !isDeleting(slice))
    const isMirrored = isForMirroring(endpoints) && service !== undefined && service.spec?.selector === undefined && !isDeleting(endpoints)
    if (!isMirrored) return carryOut(client, { create: [], update: [], remove: [...existing] })
    tellOfSkipped(endpoints, settings.mirroringMaxEndpointsPerSubset, events)
    for (const family of ['IPv4', 'IPv6']) {
      const groups = (endpoints.subsets ?? []).flatMap((subset) => groupOf(subset, family, settings.mirroringMaxEndpointsPerSubset))
      const ofFamily = existing.filter(({ addressType }) => addressType === family)
      const plan = planSlices(ofFamily, groups, draftOf(endpoints, family), settings.maxEndpointsPerSlice, { keepsEmpty: false })
      await carryOut(client, plan).catch((error: unknown) => {
        if (!isNamespaceTerminating(error)) throw error
      })
    }
  },

  async reconcileGone(namespace, name, { cache, client }) {
    const slices = cache.byIndex(EndpointSlice, 'service', `${namespace}/${name}`)
    await carryOut(client, {
      create: [],
      update: [],
      remove: slices.filter(({ metadata }) => metadata.labels?.[managedByLabel] === controllerName),
    })
  },
})

function tellOfSkipped(endpoints: V1Endpoints, most: number, events: EventRecorder): void {
  let invalid = 0
  let tooMany = 0
  for (const { addresses = [], notReadyAddresses = [] } of endpoints.subsets ?? []) {
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
