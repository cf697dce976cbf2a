/** The messages and methods of CRI v1 that this program speaks. Numbers and names are CRI's. */
import type {
  AuthConfig,
  ContainerConfig,
  CriContainer,
  CriContainerStats,
  CriContainerStatus,
  CriImage,
  CriSandbox,
  CriSandboxStatus,
  FilesystemUsage,
  ImageSpec,
  Labels,
  LinuxResources,
  RuntimeCondition,
  RuntimeHandler,
  SandboxConfig,
} from '#wire/cri/cri-types.ts'
import { type GrpcMethod, grpcMethod } from '#wire/grpc-method.ts'
import { describeMessages } from '#wire/protobuf-messages.ts'

const types = describeMessages({
  Empty: '',
  Value: 'value:1:int',
  BigValue: 'value:1:id',
  VersionRequest: 'version:1:string',
  VersionResponse: 'version:1:string runtimeName:2:string runtimeVersion:3:string runtimeApiVersion:4:string',
  StatusRequest: 'verbose:1:bool',
  StatusResponse: 'status:1:RuntimeStatus info:2:map runtimeHandlers:3:RuntimeHandler[] features:4:RuntimeFeatures',
  RuntimeFeatures: 'supplementalGroupsPolicy:1:bool userNamespacesHostNetwork:2:bool',
  RuntimeStatus: 'conditions:1:RuntimeCondition[]',
  RuntimeCondition: 'type:1:string status:2:bool reason:3:string message:4:string',
  RuntimeHandler: 'name:1:string features:2:HandlerFeatures',
  HandlerFeatures: 'recursiveReadOnlyMounts:1:bool userNamespaces:2:bool',
  UpdateRuntimeConfigRequest: 'runtimeConfig:1:RuntimeConfig',
  RuntimeConfig: 'networkConfig:1:NetworkConfig',
  NetworkConfig: 'podCidr:1:string',
  RuntimeConfigResponse: 'linux:1:LinuxRuntimeConfiguration',
  LinuxRuntimeConfiguration: 'cgroupDriver:1:int',
  DnsConfig: 'servers:1:string[] searches:2:string[] options:3:string[]',
  PortMapping: 'protocol:1:int containerPort:2:int hostPort:3:int hostIp:4:string',
  IdMapping: 'hostId:1:int containerId:2:int length:3:int',
  UserNamespace: 'mode:1:int uids:2:IdMapping[] gids:3:IdMapping[]',
  NamespaceOption: 'network:1:int pid:2:int ipc:3:int targetId:4:string usernsOptions:5:UserNamespace',
  SecurityProfile: 'profileType:1:int localhostRef:2:string',
  SelinuxOption: 'user:1:string role:2:string type:3:string level:4:string',
  HugepageLimit: 'pageSize:1:string limit:2:int',
  LinuxResources:
    'cpuPeriod:1:int cpuQuota:2:int cpuShares:3:int memoryLimitInBytes:4:int oomScoreAdj:5:int cpusetCpus:6:string ' +
    'cpusetMems:7:string hugepageLimits:8:HugepageLimit[] unified:9:map memorySwapLimitInBytes:10:int',
  SandboxSecurityContext:
    'namespaceOptions:1:NamespaceOption selinuxOptions:2:SelinuxOption runAsUser:3:Value readonlyRootfs:4:bool ' +
    'supplementalGroups:5:int[] privileged:6:bool runAsGroup:8:Value seccomp:9:SecurityProfile apparmor:10:SecurityProfile ' +
    'supplementalGroupsPolicy:11:int',
  LinuxSandboxConfig:
    'cgroupParent:1:string securityContext:2:SandboxSecurityContext sysctls:3:map overhead:4:LinuxResources resources:5:LinuxResources',
  SandboxMetadata: 'name:1:string uid:2:string namespace:3:string attempt:4:int',
  SandboxConfig:
    'metadata:1:SandboxMetadata hostname:2:string logDirectory:3:string dnsConfig:4:DnsConfig portMappings:5:PortMapping[] ' +
    'labels:6:map annotations:7:map linux:8:LinuxSandboxConfig',
  RunPodSandboxRequest: 'config:1:SandboxConfig runtimeHandler:2:string',
  PodSandboxId: 'podSandboxId:1:string',
  PodSandboxStatusRequest: 'podSandboxId:1:string verbose:2:bool',
  PodIp: 'ip:1:string',
  NetworkStatus: 'ip:1:string additionalIps:2:PodIp[]',
  PodSandboxStatus:
    'id:1:string metadata:2:SandboxMetadata state:3:int createdAt:4:id network:5:NetworkStatus labels:7:map annotations:8:map runtimeHandler:9:string',
  PodSandboxStatusResponse: 'status:1:PodSandboxStatus info:2:map',
  StateValue: 'state:1:int',
  PodSandboxFilter: 'id:1:string state:2:StateValue labelSelector:3:map',
  ListPodSandboxRequest: 'filter:1:PodSandboxFilter',
  PodSandbox: 'id:1:string metadata:2:SandboxMetadata state:3:int createdAt:4:id labels:5:map annotations:6:map runtimeHandler:7:string',
  ListPodSandboxResponse: 'items:1:PodSandbox[]',
  ImageSpec: 'image:1:string annotations:2:map userSpecifiedImage:18:string runtimeHandler:19:string imageRef:20:string',
  KeyValue: 'key:1:string value:2:bytes',
  Mount:
    'containerPath:1:string hostPath:2:string readonly:3:bool selinuxRelabel:4:bool propagation:5:int uidMappings:6:IdMapping[] ' +
    'gidMappings:7:IdMapping[] recursiveReadOnly:8:bool image:9:ImageSpec imageSubPath:10:string',
  Device: 'containerPath:1:string hostPath:2:string permissions:3:string',
  Capability: 'addCapabilities:1:string[] dropCapabilities:2:string[] addAmbientCapabilities:3:string[]',
  ContainerSecurityContext:
    'capabilities:1:Capability privileged:2:bool namespaceOptions:3:NamespaceOption selinuxOptions:4:SelinuxOption runAsUser:5:Value ' +
    'runAsUsername:6:string readonlyRootfs:7:bool supplementalGroups:8:int[] apparmorProfile:9:string noNewPrivs:11:bool ' +
    'runAsGroup:12:Value maskedPaths:13:string[] readonlyPaths:14:string[] seccomp:15:SecurityProfile apparmor:16:SecurityProfile ' +
    'supplementalGroupsPolicy:17:int',
  LinuxContainerConfig: 'resources:1:LinuxResources securityContext:2:ContainerSecurityContext',
  ContainerMetadata: 'name:1:string attempt:2:int',
  ContainerConfig:
    'metadata:1:ContainerMetadata image:2:ImageSpec command:3:string[] args:4:string[] workingDir:5:string envs:6:KeyValue[] ' +
    'mounts:7:Mount[] devices:8:Device[] labels:9:map annotations:10:map logPath:11:string stdin:12:bool stdinOnce:13:bool tty:14:bool ' +
    'linux:15:LinuxContainerConfig cdiDevices:17:CdiDevice[] stopSignal:18:int',
  CdiDevice: 'name:1:string',
  CreateContainerRequest: 'podSandboxId:1:string config:2:ContainerConfig sandboxConfig:3:SandboxConfig',
  ContainerId: 'containerId:1:string',
  StopContainerRequest: 'containerId:1:string timeout:2:int',
  ContainerFilter: 'id:1:string state:2:StateValue podSandboxId:3:string labelSelector:4:map',
  ListContainersRequest: 'filter:1:ContainerFilter',
  Container:
    'id:1:string podSandboxId:2:string metadata:3:ContainerMetadata image:4:ImageSpec imageRef:5:string state:6:int createdAt:7:id ' +
    'labels:8:map annotations:9:map imageId:10:string',
  ListContainersResponse: 'containers:1:Container[]',
  ContainerStatusRequest: 'containerId:1:string verbose:2:bool',
  ContainerResources: 'linux:1:LinuxResources',
  LinuxUser: 'uid:1:int gid:2:int supplementalGroups:3:int[]',
  ContainerUser: 'linux:1:LinuxUser',
  ContainerStatus:
    'id:1:string metadata:2:ContainerMetadata state:3:int createdAt:4:id startedAt:5:id finishedAt:6:id exitCode:7:int image:8:ImageSpec ' +
    'imageRef:9:string reason:10:string message:11:string labels:12:map annotations:13:map mounts:14:Mount[] logPath:15:string ' +
    'resources:16:ContainerResources imageId:17:string user:18:ContainerUser',
  ContainerStatusResponse: 'status:1:ContainerStatus info:2:map',
  UpdateContainerResourcesRequest: 'containerId:1:string linux:2:LinuxResources annotations:4:map',
  ExecSyncRequest: 'containerId:1:string cmd:2:string[] timeout:3:int',
  ExecSyncResponse: 'stdout:1:bytes stderr:2:bytes exitCode:3:int',
  ExecRequest: 'containerId:1:string cmd:2:string[] tty:3:bool stdin:4:bool stdout:5:bool stderr:6:bool',
  AttachRequest: 'containerId:1:string stdin:2:bool tty:3:bool stdout:4:bool stderr:5:bool',
  PortForwardRequest: 'podSandboxId:1:string port:2:int[]',
  UrlResponse: 'url:1:string',
  FilesystemId: 'mountpoint:1:string',
  FilesystemUsage: 'timestamp:1:id fsId:2:FilesystemId usedBytes:3:Value inodesUsed:4:Value',
  ContainerAttributes: 'id:1:string metadata:2:ContainerMetadata labels:3:map annotations:4:map',
  CpuUsage: 'timestamp:1:id usageCoreNanoSeconds:2:BigValue usageNanoCores:3:BigValue',
  MemoryUsage: 'timestamp:1:id workingSetBytes:2:BigValue usageBytes:4:BigValue rssBytes:5:BigValue',
  ContainerStats: 'attributes:1:ContainerAttributes cpu:2:CpuUsage memory:3:MemoryUsage writableLayer:4:FilesystemUsage',
  ContainerStatsResponse: 'stats:1:ContainerStats',
  ListContainerStatsRequest: 'filter:1:ContainerStatsFilter',
  ContainerStatsFilter: 'id:1:string podSandboxId:2:string labelSelector:3:map',
  ListContainerStatsResponse: 'stats:1:ContainerStats[]',
  ContainerEventResponse:
    'containerId:1:string containerEventType:2:int createdAt:3:id podSandboxStatus:4:PodSandboxStatus containersStatuses:5:ContainerStatus[]',
  ListImagesRequest: 'filter:1:ImageFilter',
  ImageFilter: 'image:1:ImageSpec',
  Image: 'id:1:string repoTags:2:string[] repoDigests:3:string[] size:4:int uid:5:Value username:6:string spec:7:ImageSpec pinned:8:bool',
  ListImagesResponse: 'images:1:Image[]',
  ImageStatusRequest: 'image:1:ImageSpec verbose:2:bool',
  ImageStatusResponse: 'image:1:Image info:2:map',
  AuthConfig: 'username:1:string password:2:string auth:3:string serverAddress:4:string identityToken:5:string registryToken:6:string',
  PullImageRequest: 'image:1:ImageSpec auth:2:AuthConfig sandboxConfig:3:SandboxConfig',
  PullImageResponse: 'imageRef:1:string',
  ImageRequest: 'image:1:ImageSpec',
  ImageFsInfoResponse: 'imageFilesystems:1:FilesystemUsage[] containerFilesystems:2:FilesystemUsage[]',
})

type TypeName = keyof typeof types

const method = <Request extends object, Response>(path: string, request: TypeName, response: TypeName): GrpcMethod<Request, Response> =>
  grpcMethod(`/runtime.v1.${path}`, types[request], types[response])

export type Nothing = Record<never, never>
export type ContainerEvent = {
  containerId: string
  containerEventType: number
  podSandboxStatus?: CriSandboxStatus
  containersStatuses: CriContainerStatus[]
}
type Streams = { stdin: boolean; stdout: boolean; stderr: boolean; tty: boolean }
type StatusResponse = {
  status?: { conditions: RuntimeCondition[] }
  info: Record<string, string>
  runtimeHandlers: RuntimeHandler[]
  features?: { supplementalGroupsPolicy: boolean; userNamespacesHostNetwork: boolean }
}

export const criMethods = {
  version: method<{ version: string }, { runtimeName: string; runtimeVersion: string; runtimeApiVersion: string }>(
    'RuntimeService/Version',
    'VersionRequest',
    'VersionResponse',
  ),
  status: method<{ verbose: boolean }, StatusResponse>('RuntimeService/Status', 'StatusRequest', 'StatusResponse'),
  updateRuntimeConfig: method<{ runtimeConfig: { networkConfig: { podCidr: string } } }, Nothing>(
    'RuntimeService/UpdateRuntimeConfig',
    'UpdateRuntimeConfigRequest',
    'Empty',
  ),
  runtimeConfig: method<Nothing, { linux?: { cgroupDriver: number } }>('RuntimeService/RuntimeConfig', 'Empty', 'RuntimeConfigResponse'),
  runPodSandbox: method<{ config: SandboxConfig; runtimeHandler: string }, { podSandboxId: string }>(
    'RuntimeService/RunPodSandbox',
    'RunPodSandboxRequest',
    'PodSandboxId',
  ),
  stopPodSandbox: method<{ podSandboxId: string }, Nothing>('RuntimeService/StopPodSandbox', 'PodSandboxId', 'Empty'),
  removePodSandbox: method<{ podSandboxId: string }, Nothing>('RuntimeService/RemovePodSandbox', 'PodSandboxId', 'Empty'),
  podSandboxStatus: method<{ podSandboxId: string; verbose?: boolean }, { status?: CriSandboxStatus; info: Record<string, string> }>(
    'RuntimeService/PodSandboxStatus',
    'PodSandboxStatusRequest',
    'PodSandboxStatusResponse',
  ),
  listPodSandbox: method<{ filter?: { id?: string; labelSelector?: Labels } }, { items: CriSandbox[] }>(
    'RuntimeService/ListPodSandbox',
    'ListPodSandboxRequest',
    'ListPodSandboxResponse',
  ),
  createContainer: method<{ podSandboxId: string; config: ContainerConfig; sandboxConfig: SandboxConfig }, { containerId: string }>(
    'RuntimeService/CreateContainer',
    'CreateContainerRequest',
    'ContainerId',
  ),
  startContainer: method<{ containerId: string }, Nothing>('RuntimeService/StartContainer', 'ContainerId', 'Empty'),
  stopContainer: method<{ containerId: string; timeout: number }, Nothing>('RuntimeService/StopContainer', 'StopContainerRequest', 'Empty'),
  removeContainer: method<{ containerId: string }, Nothing>('RuntimeService/RemoveContainer', 'ContainerId', 'Empty'),
  listContainers: method<{ filter?: { id?: string; labelSelector?: Labels } }, { containers: CriContainer[] }>(
    'RuntimeService/ListContainers',
    'ListContainersRequest',
    'ListContainersResponse',
  ),
  containerStatus: method<{ containerId: string; verbose?: boolean }, { status?: CriContainerStatus; info: Record<string, string> }>(
    'RuntimeService/ContainerStatus',
    'ContainerStatusRequest',
    'ContainerStatusResponse',
  ),
  updateContainerResources: method<{ containerId: string; linux: LinuxResources; annotations?: Labels }, Nothing>(
    'RuntimeService/UpdateContainerResources',
    'UpdateContainerResourcesRequest',
    'Empty',
  ),
  reopenContainerLog: method<{ containerId: string }, Nothing>('RuntimeService/ReopenContainerLog', 'ContainerId', 'Empty'),
  execSync: method<{ containerId: string; cmd: string[]; timeout: number }, { stdout: Uint8Array; stderr: Uint8Array; exitCode: number }>(
    'RuntimeService/ExecSync',
    'ExecSyncRequest',
    'ExecSyncResponse',
  ),
  exec: method<{ containerId: string; cmd: string[] } & Streams, { url: string }>('RuntimeService/Exec', 'ExecRequest', 'UrlResponse'),
  attach: method<{ containerId: string } & Streams, { url: string }>('RuntimeService/Attach', 'AttachRequest', 'UrlResponse'),
  portForward: method<{ podSandboxId: string; port: number[] }, { url: string }>(
    'RuntimeService/PortForward',
    'PortForwardRequest',
    'UrlResponse',
  ),
  containerStats: method<{ containerId: string }, { stats?: CriContainerStats }>(
    'RuntimeService/ContainerStats',
    'ContainerId',
    'ContainerStatsResponse',
  ),
  listContainerStats: method<{ filter?: { id?: string; podSandboxId?: string; labelSelector?: Labels } }, { stats: CriContainerStats[] }>(
    'RuntimeService/ListContainerStats',
    'ListContainerStatsRequest',
    'ListContainerStatsResponse',
  ),
  getContainerEvents: method<Nothing, ContainerEvent>('RuntimeService/GetContainerEvents', 'Empty', 'ContainerEventResponse'),
  listImages: method<{ filter?: { image: ImageSpec } }, { images: CriImage[] }>(
    'ImageService/ListImages',
    'ListImagesRequest',
    'ListImagesResponse',
  ),
  imageStatus: method<{ image: ImageSpec; verbose?: boolean }, { image?: CriImage; info: Record<string, string> }>(
    'ImageService/ImageStatus',
    'ImageStatusRequest',
    'ImageStatusResponse',
  ),
  pullImage: method<{ image: ImageSpec; auth?: AuthConfig; sandboxConfig?: SandboxConfig }, { imageRef: string }>(
    'ImageService/PullImage',
    'PullImageRequest',
    'PullImageResponse',
  ),
  removeImage: method<{ image: ImageSpec }, Nothing>('ImageService/RemoveImage', 'ImageRequest', 'Empty'),
  imageFsInfo: method<Nothing, { imageFilesystems: FilesystemUsage[]; containerFilesystems: FilesystemUsage[] }>(
    'ImageService/ImageFsInfo',
    'Empty',
    'ImageFsInfoResponse',
  ),
}

type Methods = typeof criMethods
/** All but the one that tells of events. */
export type CriUnaryName = Exclude<keyof Methods, 'getContainerEvents'>
export type CriRequest<Name extends keyof Methods> = Methods[Name] extends GrpcMethod<infer Request, infer _> ? Request : never
export type CriResponse<Name extends keyof Methods> = Methods[Name] extends GrpcMethod<infer _, infer Response> ? Response : never
