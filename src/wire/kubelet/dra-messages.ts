/** How drivers of dynamic resources and a kubelet speak with each other (DRA v1, v1beta1; their health). Numbers and names are upstream's. */
import { type GrpcMessages, grpcMessages } from '#wire/grpc-method.ts'
import { describeMessages } from '#wire/protobuf-messages.ts'

const types = describeMessages({
  Empty: '',
  Claim: 'namespace:1:string uid:2:string name:3:string',
  Claims: 'claims:1:Claim[]',
  Device: 'requestNames:1:string[] poolName:2:string deviceName:3:string cdiDeviceIds:4:string[] shareId:5:string',
  Prepared: 'devices:1:Device[] error:2:string',
  // Maps from claims' uids.
  PreparedEntry: 'key:1:string value:2:Prepared',
  PrepareResponse: 'claims:1:PreparedEntry[]',
  Unprepared: 'error:1:string',
  UnpreparedEntry: 'key:1:string value:2:Unprepared',
  UnprepareResponse: 'claims:1:UnpreparedEntry[]',
  DeviceId: 'poolName:1:string deviceName:2:string',
  DeviceHealth: 'device:1:DeviceId health:2:int lastUpdatedTime:3:int healthCheckTimeoutSeconds:4:int message:5:string',
  HealthResponse: 'devices:1:DeviceHealth[]',
})

export type DraClaim = { namespace: string; uid: string; name: string }
export type DraDevice = { requestNames: string[]; poolName: string; deviceName: string; cdiDeviceIds: string[]; shareId: string }
export type DeviceHealth = {
  device?: { poolName: string; deviceName: string }
  /** 0 is unknown, 1 healthy, 2 unhealthy. */
  health: number
  /** Seconds since 1970. */
  lastUpdatedTime: number
  healthCheckTimeoutSeconds: number
  message: string
}

type DraMessages = {
  prepare: [{ claims: DraClaim[] }, { claims: { key: string; value?: { devices: DraDevice[]; error: string } }[] }]
  unprepare: [{ claims: DraClaim[] }, { claims: { key: string; value?: { error: string } }[] }]
  watchHealth: [object, { devices: DeviceHealth[] }]
}

export type DraMethod = keyof DraMessages
export type DraRequest<Name extends DraMethod> = DraMessages[Name][0]
export type DraResponse<Name extends DraMethod> = DraMessages[Name][1]

export const draMethods: { [Name in DraMethod]: { name: string } & GrpcMessages<DraRequest<Name>, DraResponse<Name>> } = {
  prepare: { name: 'NodePrepareResources', ...grpcMessages(types.Claims, types.PrepareResponse) },
  unprepare: { name: 'NodeUnprepareResources', ...grpcMessages(types.Claims, types.UnprepareResponse) },
  watchHealth: { name: 'NodeWatchResources', ...grpcMessages(types.Empty, types.HealthResponse) },
}

/** As drivers name what they speak, the one to be chosen first; and the service it stands for. */
export const draServices = {
  'v1.DRAPlugin': 'k8s.io.kubelet.pkg.apis.dra.v1.DRAPlugin',
  'v1beta1.DRAPlugin': 'k8s.io.kubelet.pkg.apis.dra.v1beta1.DRAPlugin',
} as const

export type DraService = keyof typeof draServices

export const healthPath = `/v1alpha1.DRAResourceHealth/${draMethods.watchHealth.name}`

export const draPath = (service: DraService, method: Exclude<DraMethod, 'watchHealth'>): string =>
  `/${draServices[service]}/${draMethods[method].name}`
