/** How a cluster autoscaler and a provider of nodes in another program speak with each other. Numbers and names are upstream's. */
import { type GrpcMethod, grpcMethod } from '#wire/grpc-method.ts'
import { describeMessages } from '#wire/protobuf-messages.ts'

const types = describeMessages({
  Empty: '',
  Timestamp: 'seconds:1:int nanos:2:int',
  Duration: 'seconds:1:int nanos:2:int',
  Group: 'id:1:string minSize:2:int maxSize:3:int debug:4:string',
  Node: 'providerID:1:string name:2:string labels:3:map annotations:4:map',
  Groups: 'nodeGroups:1:Group[]',
  OfNode: 'node:1:Node',
  OneGroup: 'nodeGroup:1:Group',
  NodePriceRequest: 'node:1:Node startTimestamp:4:Timestamp endTimestamp:5:Timestamp',
  PodPriceRequest: 'podBytes:4:bytes startTimestamp:5:Timestamp endTimestamp:6:Timestamp',
  Price: 'price:1:double',
  Label: 'label:1:string',
  Id: 'id:1:string',
  TargetSize: 'targetSize:1:int',
  Change: 'delta:1:int id:2:string',
  DeleteNodes: 'nodes:1:Node[] id:2:string',
  ErrorInfo: 'errorCode:1:string errorMessage:2:string instanceErrorClass:3:int',
  InstanceStatus: 'instanceState:1:int errorInfo:2:ErrorInfo',
  Instance: 'id:1:string status:2:InstanceStatus',
  Instances: 'instances:1:Instance[]',
  Template: 'nodeBytes:2:bytes',
  Options:
    'scaleDownUtilizationThreshold:1:double scaleDownGpuUtilizationThreshold:2:double zeroOrMaxNodeScaling:6:bool ' +
    'ignoreDaemonSetsUtilization:7:bool scaleDownUnneededDuration:8:Duration scaleDownUnreadyDuration:9:Duration ' +
    'maxNodeProvisionDuration:10:Duration',
  OptionsRequest: 'id:1:string defaults:2:Options',
  OptionsResponse: 'nodeGroupAutoscalingOptions:1:Options',
})

export type GrpcTime = { seconds: number; nanos: number }
export type GrpcGroup = { id: string; minSize: number; maxSize: number; debug: string }
export type GrpcNode = { providerID: string; name: string; labels: Record<string, string>; annotations: Record<string, string> }
export type GrpcInstance = {
  id: string
  status?: { instanceState: number; errorInfo?: { errorCode: string; errorMessage: string; instanceErrorClass: number } }
}
export type GrpcGroupOptions = {
  scaleDownUtilizationThreshold: number
  scaleDownGpuUtilizationThreshold: number
  zeroOrMaxNodeScaling: boolean
  ignoreDaemonSetsUtilization: boolean
  scaleDownUnneededDuration?: GrpcTime
  scaleDownUnreadyDuration?: GrpcTime
  maxNodeProvisionDuration?: GrpcTime
}
type Period = { startTimestamp?: GrpcTime; endTimestamp?: GrpcTime }

type ProviderMessages = {
  nodeGroups: [object, { nodeGroups: GrpcGroup[] }]
  nodeGroupForNode: [{ node?: GrpcNode }, { nodeGroup?: GrpcGroup }]
  pricingNodePrice: [{ node?: GrpcNode } & Period, { price: number }]
  pricingPodPrice: [{ podBytes: Uint8Array } & Period, { price: number }]
  gpuLabel: [object, { label: string }]
  cleanup: [object, object]
  refresh: [object, object]
  targetSize: [{ id: string }, { targetSize: number }]
  increaseSize: [{ id: string; delta: number }, object]
  deleteNodes: [{ id: string; nodes: GrpcNode[] }, object]
  decreaseTargetSize: [{ id: string; delta: number }, object]
  nodes: [{ id: string }, { instances: GrpcInstance[] }]
  templateNodeInfo: [{ id: string }, { nodeBytes: Uint8Array }]
  getOptions: [{ id: string; defaults?: GrpcGroupOptions }, { nodeGroupAutoscalingOptions?: GrpcGroupOptions }]
}

export type ExternalGrpcMethod = keyof ProviderMessages
export type ExternalGrpcRequest<Name extends ExternalGrpcMethod> = ProviderMessages[Name][0]
export type ExternalGrpcResponse<Name extends ExternalGrpcMethod> = ProviderMessages[Name][1]

const at = (name: string) => `/clusterautoscaler.cloudprovider.v1.externalgrpc.CloudProvider/${name}`

export const externalGrpcMethods: {
  [Name in ExternalGrpcMethod]: GrpcMethod<ExternalGrpcRequest<Name>, ExternalGrpcResponse<Name>>
} = {
  nodeGroups: grpcMethod(at('NodeGroups'), types.Empty, types.Groups),
  nodeGroupForNode: grpcMethod(at('NodeGroupForNode'), types.OfNode, types.OneGroup),
  pricingNodePrice: grpcMethod(at('PricingNodePrice'), types.NodePriceRequest, types.Price),
  pricingPodPrice: grpcMethod(at('PricingPodPrice'), types.PodPriceRequest, types.Price),
  gpuLabel: grpcMethod(at('GPULabel'), types.Empty, types.Label),
  cleanup: grpcMethod(at('Cleanup'), types.Empty, types.Empty),
  refresh: grpcMethod(at('Refresh'), types.Empty, types.Empty),
  targetSize: grpcMethod(at('NodeGroupTargetSize'), types.Id, types.TargetSize),
  increaseSize: grpcMethod(at('NodeGroupIncreaseSize'), types.Change, types.Empty),
  deleteNodes: grpcMethod(at('NodeGroupDeleteNodes'), types.DeleteNodes, types.Empty),
  decreaseTargetSize: grpcMethod(at('NodeGroupDecreaseTargetSize'), types.Change, types.Empty),
  nodes: grpcMethod(at('NodeGroupNodes'), types.Id, types.Instances),
  templateNodeInfo: grpcMethod(at('NodeGroupTemplateNodeInfo'), types.Id, types.Template),
  getOptions: grpcMethod(at('NodeGroupGetOptions'), types.OptionsRequest, types.OptionsResponse),
}
