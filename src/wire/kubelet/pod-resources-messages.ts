/** What a kubelet tells of the resources its pods have (pod resources API v1, v1alpha1). Numbers and names are upstream's. */
import { type GrpcMethod, grpcMethod } from '#wire/grpc-method.ts'
import { describeMessages } from '#wire/protobuf-messages.ts'

const types = describeMessages({
  Empty: '',
  NumaNode: 'id:1:int',
  Topology: 'nodes:1:NumaNode[]',
  Devices: 'resourceName:1:string deviceIds:2:string[] topology:3:Topology',
  Memory: 'memoryType:1:string size:2:int topology:3:Topology',
  CdiDevice: 'name:1:string',
  ClaimResource: 'cdiDevices:1:CdiDevice[] driverName:2:string poolName:3:string deviceName:4:string shareId:5:string',
  DynamicResource: 'claimName:2:string claimNamespace:3:string claimResources:4:ClaimResource[]',
  Container: 'name:1:string devices:2:Devices[] cpuIds:3:int[] memory:4:Memory[] dynamicResources:5:DynamicResource[]',
  Pod: 'name:1:string namespace:2:string containers:3:Container[]',
  Pods: 'podResources:1:Pod[]',
  GetRequest: 'podName:1:string podNamespace:2:string',
  GetResponse: 'podResources:1:Pod',
  Allocatable: 'devices:1:Devices[] cpuIds:2:int[] memory:3:Memory[]',
})

export type NumaTopology = { nodes: { id: number }[] }
export type DevicesOf = { resourceName: string; deviceIds: string[]; topology?: NumaTopology }
export type MemoryOf = { memoryType: string; size: number; topology?: NumaTopology }
export type DynamicResourceOf = {
  claimName: string
  claimNamespace: string
  claimResources: { cdiDevices: { name: string }[]; driverName: string; poolName: string; deviceName: string; shareId: string }[]
}
export type ContainerResourcesOf = {
  name: string
  devices: DevicesOf[]
  cpuIds: number[]
  memory: MemoryOf[]
  dynamicResources: DynamicResourceOf[]
}
export type PodResourcesOf = { name: string; namespace: string; containers: ContainerResourcesOf[] }
export type AllocatableResources = { devices: DevicesOf[]; cpuIds: number[]; memory: MemoryOf[] }

type Messages = {
  list: [object, { podResources: PodResourcesOf[] }]
  get: [{ podName: string; podNamespace: string }, { podResources?: PodResourcesOf }]
  getAllocatableResources: [object, AllocatableResources]
  /** Containers have names and devices only. */
  listAlpha: [object, { podResources: PodResourcesOf[] }]
}

export type PodResourcesMethod = keyof Messages

export const podResourcesMethods: { [Name in PodResourcesMethod]: GrpcMethod<Messages[Name][0], Messages[Name][1]> } = {
  list: grpcMethod('/v1.PodResourcesLister/List', types.Empty, types.Pods),
  get: grpcMethod('/v1.PodResourcesLister/Get', types.GetRequest, types.GetResponse),
  getAllocatableResources: grpcMethod('/v1.PodResourcesLister/GetAllocatableResources', types.Empty, types.Allocatable),
  listAlpha: grpcMethod('/v1alpha1.PodResourcesLister/List', types.Empty, types.Pods),
}
