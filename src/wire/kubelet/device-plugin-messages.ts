/** How device plugins and a kubelet speak with each other (device plugin API v1beta1). Numbers and names are upstream's. */
import { type GrpcMethod, grpcMethod } from '#wire/grpc-method.ts'
import { decodeMessage, describeMessages, encodeMessage } from '#wire/protobuf-messages.ts'

const types = describeMessages({
  Empty: '',
  Options: 'preStartRequired:1:bool getPreferredAllocationAvailable:2:bool',
  RegisterRequest: 'version:1:string endpoint:2:string resourceName:3:string options:4:Options',
  NumaNode: 'id:1:int',
  Topology: 'nodes:1:NumaNode[]',
  Device: 'id:1:string health:2:string topology:3:Topology',
  DeviceList: 'devices:1:Device[]',
  DeviceIds: 'deviceIds:1:string[]',
  ContainerPreferredRequest: 'availableDeviceIds:1:string[] mustIncludeDeviceIds:2:string[] allocationSize:3:int',
  PreferredRequest: 'containerRequests:1:ContainerPreferredRequest[]',
  PreferredResponse: 'containerResponses:1:DeviceIds[]',
  AllocateRequest: 'containerRequests:1:DeviceIds[]',
  Mount: 'containerPath:1:string hostPath:2:string readOnly:3:bool',
  DeviceSpec: 'containerPath:1:string hostPath:2:string permissions:3:string',
  CdiDevice: 'name:1:string',
  ContainerAllocation: 'envs:1:map mounts:2:Mount[] devices:3:DeviceSpec[] annotations:4:map cdiDevices:5:CdiDevice[]',
  AllocateResponse: 'containerResponses:1:ContainerAllocation[]',
})

export type PluginOptions = { preStartRequired: boolean; getPreferredAllocationAvailable: boolean }
export type RegisterRequest = { version: string; endpoint: string; resourceName: string; options?: PluginOptions }
export type PluginDevice = { id: string; health: string; topology?: { nodes: { id: number }[] } }
/** What a container is given with its devices. */
export type ContainerAllocation = {
  envs: Record<string, string>
  mounts: { containerPath: string; hostPath: string; readOnly: boolean }[]
  devices: { containerPath: string; hostPath: string; permissions: string }[]
  annotations: Record<string, string>
  cdiDevices: { name: string }[]
}

type PluginMessages = {
  register: [RegisterRequest, object]
  getDevicePluginOptions: [object, PluginOptions]
  listAndWatch: [object, { devices: PluginDevice[] }]
  getPreferredAllocation: [
    { containerRequests: { availableDeviceIds: string[]; mustIncludeDeviceIds: string[]; allocationSize: number }[] },
    { containerResponses: { deviceIds: string[] }[] },
  ]
  allocate: [{ containerRequests: { deviceIds: string[] }[] }, { containerResponses: ContainerAllocation[] }]
  preStartContainer: [{ deviceIds: string[] }, object]
}

export type DevicePluginMethod = keyof PluginMessages
export type PluginRequest<Name extends DevicePluginMethod> = PluginMessages[Name][0]
export type PluginResponse<Name extends DevicePluginMethod> = PluginMessages[Name][1]

export const devicePluginMethods: { [Name in DevicePluginMethod]: GrpcMethod<PluginRequest<Name>, PluginResponse<Name>> } = {
  register: grpcMethod('/v1beta1.Registration/Register', types.RegisterRequest, types.Empty),
  getDevicePluginOptions: grpcMethod('/v1beta1.DevicePlugin/GetDevicePluginOptions', types.Empty, types.Options),
  listAndWatch: grpcMethod('/v1beta1.DevicePlugin/ListAndWatch', types.Empty, types.DeviceList),
  getPreferredAllocation: grpcMethod('/v1beta1.DevicePlugin/GetPreferredAllocation', types.PreferredRequest, types.PreferredResponse),
  allocate: grpcMethod('/v1beta1.DevicePlugin/Allocate', types.AllocateRequest, types.AllocateResponse),
  preStartContainer: grpcMethod('/v1beta1.DevicePlugin/PreStartContainer', types.DeviceIds, types.Empty),
}

export const encodeAllocation = (allocation: ContainerAllocation): Uint8Array => encodeMessage(types.ContainerAllocation, allocation)
export const decodeAllocation = (bytes: Uint8Array): ContainerAllocation =>
  decodeMessage(types.ContainerAllocation, bytes) as ContainerAllocation
