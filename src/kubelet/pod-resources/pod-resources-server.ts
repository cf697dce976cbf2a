/** The socket at which monitoring programs ask which pod has what: `pod-resources/kubelet.sock`. */
import { join } from 'node:path'
import { sidecarsOf } from '#api/core/v1/pod-spec/all-containers.ts'
import type { V1Container, V1Pod } from '#api/core/v1/types.gen.ts'
import type { Files } from '#base/files.ts'
import { GrpcError, type GrpcServer, grpcCodes, startGrpcServer } from '#base/grpc.ts'
import type { Metrics } from '#base/metrics.ts'
import { type DevicesByNode, idsIn } from '#kubelet/devices/device-records.ts'
import type { ClaimManager } from '#kubelet/dra/claim-manager.ts'
import type { MemoryBlock } from '#kubelet/memory-manager/memory-ledger.ts'
import { podNamed } from '#kubelet/node/pod-named.ts'
import type { NodeResources } from '#kubelet/resources/node-resources.ts'
import { sortedCpus } from '#kubelet/topology/cpu-set.ts'
import {
  type ContainerResourcesOf,
  type DevicesOf,
  type MemoryOf,
  type PodResourcesOf,
  podResourcesMethods,
} from '#wire/kubelet/pod-resources-messages.ts'

export type PodResourcesOptions = {
  rootDirectory: string
  files: Files
  metrics: Metrics
  resources: Pick<NodeResources, 'cpus' | 'memory' | 'devices'>
  claims?: Pick<ClaimManager, 'claimsOf'>
  /** All of the node, those that have ended among them. */
  pods(): readonly V1Pod[]
  isActive(pod: V1Pod): boolean
}

export async function servePodResources(options: PodResourcesOptions): Promise<GrpcServer> {
  const { rootDirectory, files, metrics, pods, isActive } = options
  const directory = join(rootDirectory, 'pod-resources')
  const socket = join(directory, 'kubelet.sock')
  await files.makeDirectory(directory, { mode: 0o750 })
  await files.remove(socket)
  const count = (name: string, help: string) => metrics.counter(`kubelet_pod_resources_endpoint_${name}`, help)
  const total = count('requests_total', 'Requests of the pod resources API, by version.')
  const lists = count('requests_list', 'List requests of the pod resources API, by version.')
  const gets = count('requests_get', 'Get requests of the pod resources API, by version.')
  const getErrors = count('errors_get', 'Failed Get requests of the pod resources API, by version.')
  const allocatables = count('requests_get_allocatable', 'GetAllocatableResources requests of the pod resources API, by version.')
  const { list, get, getAllocatableResources, listAlpha } = podResourcesMethods
  const v1 = { server_api_version: 'v1' }
  return startGrpcServer({
    address: `unix:${socket}`,
    handlers: {
      [list.path]: {
        async answer() {
          total.inc(v1)
          lists.inc(v1)
          return list.encodeResponse({
            podResources: pods()
              .filter(isActive)
              .map((pod) => resourcesOf(pod, options)),
          })
        },
      },
      [get.path]: {
        async answer(bytes) {
          total.inc(v1)
          gets.inc(v1)
          const { podName, podNamespace } = get.decodeRequest(bytes)
          const pod = podNamed(pods(), podNamespace, podName)
          if (pod === undefined) {
            getErrors.inc(v1)
            throw new GrpcError(grpcCodes.unknown, `pod ${podName} in namespace ${podNamespace} not found`)
          }
          return get.encodeResponse({ podResources: resourcesOf(pod, options) })
        },
      },
      [getAllocatableResources.path]: {
        async answer() {
          total.inc(v1)
          allocatables.inc(v1)
          const { cpus, memory, devices } = options.resources
          return getAllocatableResources.encodeResponse({
            devices: devices.allocatable.flatMap(({ resource, devices: each }) => devicesOf(resource, each)),
            cpuIds: sortedCpus(cpus?.allocatable ?? []),
            memory: (memory?.allocatable ?? []).map(memoryOf),
          })
        },
      },
      [listAlpha.path]: {
        async answer() {
          total.inc({ server_api_version: 'v1alpha1' })
          return listAlpha.encodeResponse({ podResources: pods().map((pod) => withDevicesOnly(resourcesOf(pod, options), pod)) })
        },
      },
    },
  })
}

function resourcesOf(pod: V1Pod, { resources, claims }: PodResourcesOptions): PodResourcesOf {
  const { name = '', namespace = '', uid = '' } = pod.metadata
  const { cpus, memory, devices } = resources
  const of = (container: V1Container): ContainerResourcesOf => ({
    name: container.name,
    devices: devices.devicesOf(uid, container.name).flatMap((record) => devicesOf(record.resource, record.devices)),
    cpuIds: sortedCpus(cpus?.exclusiveCpusOf(uid, container.name) ?? []),
    memory: (memory?.blocksOf(uid, container.name) ?? []).map(memoryOf),
    dynamicResources: (claims?.claimsOf(pod, container) ?? []).map((claim) => ({
      ...{ claimName: claim.name, claimNamespace: claim.namespace },
      claimResources: [...claim.drivers].flatMap(([driverName, all]) =>
        all.map(({ poolName, deviceName, shareId, cdiDeviceIds }) => ({
          ...{ driverName, poolName, deviceName, shareId, cdiDevices: cdiDeviceIds.map((id) => ({ name: id })) },
        })),
      ),
    })),
  })
  return { name, namespace, containers: [...sidecarsOf(pod.spec), ...pod.spec.containers].map(of) }
}

/** One entry for each set of nodes that devices are near. */
function devicesOf(resourceName: string, devices: DevicesByNode): DevicesOf[] {
  const groups = new Map<string, DevicesOf>()
  for (const id of idsIn(devices)) {
    const nodes = Object.keys(devices)
      .filter((node) => devices[node]?.includes(id) && Number(node) >= 0)
      .map((node) => ({ id: Number(node) }))
    const key = nodes.map((node) => node.id).join()
    const group = groups.get(key) ?? { resourceName, deviceIds: [], ...(nodes.length > 0 ? { topology: { nodes } } : {}) }
    group.deviceIds.push(id)
    groups.set(key, group)
  }
  return [...groups.values()]
}

const memoryOf = ({ type, size, numaAffinity }: MemoryBlock): MemoryOf => ({
  ...{ memoryType: type, size, topology: { nodes: numaAffinity.map((id) => ({ id })) } },
})

/** All that the oldest form of the interface knows. */
function withDevicesOnly({ containers, ...rest }: PodResourcesOf, { spec }: V1Pod): PodResourcesOf {
  const own = new Set(spec.containers.map(({ name }) => name))
  return {
    ...rest,
    containers: containers
      .filter(({ name }) => own.has(name))
      .map(({ name, devices }) => ({
        ...{ name, cpuIds: [], memory: [], dynamicResources: [] },
        devices: devices.map(({ resourceName, deviceIds }) => ({ resourceName, deviceIds })),
      })),
  }
}
