import { Endpoints } from '#api/core/v1/endpoints.ts'
import { Service } from '#api/core/v1/service/service.ts'
import type { V1EndpointAddress, V1EndpointSubset, V1Endpoints } from '#api/core/v1/types.gen.ts'
import { EndpointSlice } from '#api/discovery/v1/endpoint-slice.ts'
import type { V1Endpoint, V1EndpointSlice } from '#api/discovery/v1/types.gen.ts'
import { controllerReference } from '#api/meta/owner-references.ts'
import { addServiceIndex, managedByLabel, serviceNameLabel } from '#controllers/endpointslice/endpointslice-controller.ts'
import { carryOut, type EndpointGroup, planSlices } from '#controllers/endpointslice/slices.ts'
import { defineController } from '#controllers/runtime/define-controller.ts'
import { on } from '#controllers/runtime/triggers.ts'
import { isNamespaceTerminating } from '#controllers/workload/pod-writes.ts'
import { isDeleting } from '#controllers/workload/pods.ts'

const controllerName = 'endpointslicemirroring-controller.k8s.io'
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

  async reconcile(endpoints, { cache, client, settings }) {
    const { namespace = '', name = '' } = endpoints.metadata
    const service = cache.get(Service, namespace, name)
    const existing = cache
      .byIndex(EndpointSlice, 'service', `${namespace}/${name}`)
      .filter((slice) => slice.metadata.labels?.[managedByLabel] === controllerName && !isDeleting(slice))
    const isMirrored = isForMirroring(endpoints) && service !== undefined && service.spec?.selector === undefined && !isDeleting(endpoints)
    if (!isMirrored) return carryOut(client, { create: [], update: [], remove: [...existing] })
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

function isForMirroring({ metadata }: V1Endpoints): boolean {
  if (metadata.labels?.['endpointslice.kubernetes.io/skip-mirror'] === 'true') return false
  // Written by leader elections of long ago, every two seconds.
  return metadata.annotations?.['control-plane.alpha.kubernetes.io/leader'] === undefined
}

function groupOf({ addresses = [], notReadyAddresses = [], ports = [] }: V1EndpointSubset, family: string, most: number): EndpointGroup[] {
  const endpoints = [
    ...addresses.map((address) => endpointOf(address, true)),
    ...notReadyAddresses.map((address) => endpointOf(address, false)),
  ].filter((endpoint) => endpoint.addresses[0]?.includes(':') === (family === 'IPv6'))
  if (endpoints.length === 0) return []
  const slicePorts = ports.map(({ name = '', port, protocol = 'TCP', appProtocol }) => ({
    name,
    port,
    protocol,
    ...(appProtocol === undefined ? {} : { appProtocol }),
  }))
  return [{ ports: slicePorts, endpoints: endpoints.slice(0, most) }]
}

function endpointOf({ ip, hostname, nodeName, targetRef }: V1EndpointAddress, ready: boolean): V1Endpoint {
  return {
    addresses: [ip],
    conditions: { ready },
    ...(hostname ? { hostname } : {}),
    ...(targetRef ? { targetRef } : {}),
    ...(nodeName ? { nodeName } : {}),
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
