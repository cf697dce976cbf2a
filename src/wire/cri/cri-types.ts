/** What a kubelet and a container runtime tell each other: CRI v1. What is left out of a request is zero. */

export const protocols = { TCP: 0, UDP: 1, SCTP: 2 } as const
export const propagations = { private: 0, hostToContainer: 1, bidirectional: 2 } as const
export const namespaceModes = { pod: 0, container: 1, node: 2, target: 3 } as const
export const profileTypes = { RuntimeDefault: 0, Unconfined: 1, Localhost: 2 } as const
export const sandboxStates = { ready: 0, notReady: 1 } as const
export const containerStates = { created: 0, running: 1, exited: 2, unknown: 3 } as const
export const cgroupDrivers = { systemd: 0, cgroupfs: 1 } as const
export const supplementalGroupsPolicies = { Merge: 0, Strict: 1 } as const

export type Labels = Record<string, string>
export type Int64Value = { value: number }
export type IdMapping = { hostId: number; containerId: number; length: number }
export type UserNamespace = { mode: number; uids?: IdMapping[]; gids?: IdMapping[] }
export type NamespaceOption = { network?: number; pid?: number; ipc?: number; targetId?: string; usernsOptions?: UserNamespace }
export type SecurityProfile = { profileType: number; localhostRef?: string }
export type SelinuxOption = { user?: string; role?: string; type?: string; level?: string }

export type LinuxResources = {
  cpuPeriod?: number
  cpuQuota?: number
  cpuShares?: number
  memoryLimitInBytes?: number
  oomScoreAdj?: number
  cpusetCpus?: string
  cpusetMems?: string
  hugepageLimits?: { pageSize: string; limit: number }[]
  unified?: Record<string, string>
  memorySwapLimitInBytes?: number
}

export type SandboxSecurityContext = {
  namespaceOptions?: NamespaceOption
  selinuxOptions?: SelinuxOption
  runAsUser?: Int64Value
  runAsGroup?: Int64Value
  readonlyRootfs?: boolean
  supplementalGroups?: number[]
  supplementalGroupsPolicy?: number
  privileged?: boolean
  seccomp?: SecurityProfile
  apparmor?: SecurityProfile
}

export type SandboxMetadata = { name: string; uid: string; namespace: string; attempt: number }
export type PortMapping = { protocol: number; containerPort: number; hostPort: number; hostIp?: string }

export type SandboxConfig = {
  metadata: SandboxMetadata
  hostname?: string
  logDirectory?: string
  dnsConfig?: { servers: string[]; searches: string[]; options: string[] }
  portMappings?: PortMapping[]
  labels?: Labels
  annotations?: Labels
  linux?: {
    cgroupParent?: string
    securityContext?: SandboxSecurityContext
    sysctls?: Record<string, string>
    overhead?: LinuxResources
    resources?: LinuxResources
  }
}

export type CriSandbox = {
  id: string
  metadata?: SandboxMetadata
  state: number
  createdAt: bigint
  labels: Labels
  annotations: Labels
  runtimeHandler: string
}

export type CriSandboxStatus = CriSandbox & { network?: { ip: string; additionalIps: { ip: string }[] } }

export type ImageSpec = { image: string; annotations?: Labels; userSpecifiedImage?: string; runtimeHandler?: string; imageRef?: string }

export type CriMount = {
  containerPath: string
  hostPath: string
  readonly?: boolean
  selinuxRelabel?: boolean
  propagation?: number
  uidMappings?: IdMapping[]
  gidMappings?: IdMapping[]
  recursiveReadOnly?: boolean
  image?: ImageSpec
  imageSubPath?: string
}

export type ContainerSecurityContext = {
  capabilities?: { addCapabilities?: string[]; dropCapabilities?: string[]; addAmbientCapabilities?: string[] }
  privileged?: boolean
  namespaceOptions?: NamespaceOption
  selinuxOptions?: SelinuxOption
  runAsUser?: Int64Value
  runAsGroup?: Int64Value
  runAsUsername?: string
  readonlyRootfs?: boolean
  supplementalGroups?: number[]
  supplementalGroupsPolicy?: number
  apparmorProfile?: string
  noNewPrivs?: boolean
  maskedPaths?: string[]
  readonlyPaths?: string[]
  seccomp?: SecurityProfile
  apparmor?: SecurityProfile
}

export type ContainerMetadata = { name: string; attempt: number }

export type ContainerConfig = {
  metadata: ContainerMetadata
  image: ImageSpec
  command?: string[]
  args?: string[]
  workingDir?: string
  envs?: { key: string; value: Uint8Array }[]
  mounts?: CriMount[]
  devices?: { containerPath: string; hostPath: string; permissions: string }[]
  labels?: Labels
  annotations?: Labels
  logPath?: string
  stdin?: boolean
  stdinOnce?: boolean
  tty?: boolean
  linux?: { resources?: LinuxResources; securityContext?: ContainerSecurityContext }
  /** By the names that files of the container device interface give them. */
  cdiDevices?: { name: string }[]
  stopSignal?: number
}

export type CriContainer = {
  id: string
  podSandboxId: string
  metadata?: ContainerMetadata
  image?: ImageSpec
  imageRef: string
  state: number
  createdAt: bigint
  labels: Labels
  annotations: Labels
  imageId: string
}

export type CriContainerStatus = {
  id: string
  metadata?: ContainerMetadata
  state: number
  createdAt: bigint
  startedAt: bigint
  finishedAt: bigint
  exitCode: number
  image?: ImageSpec
  imageRef: string
  reason: string
  message: string
  labels: Labels
  annotations: Labels
  mounts: CriMount[]
  logPath: string
  resources?: { linux?: LinuxResources }
  imageId: string
  user?: { linux?: { uid: number; gid: number; supplementalGroups: number[] } }
}

export type CriImage = {
  id: string
  repoTags: string[]
  repoDigests: string[]
  size: number
  uid?: Int64Value
  username: string
  spec?: ImageSpec
  pinned: boolean
}

export type AuthConfig = {
  username?: string
  password?: string
  auth?: string
  serverAddress?: string
  identityToken?: string
  registryToken?: string
}

export type RuntimeCondition = { type: string; status: boolean; reason: string; message: string }
export type RuntimeHandler = { name: string; features?: { recursiveReadOnlyMounts: boolean; userNamespaces: boolean } }
export type FilesystemUsage = {
  timestamp: bigint
  fsId?: { mountpoint: string }
  usedBytes?: { value: number }
  inodesUsed?: { value: number }
}

export type CriContainerStats = {
  attributes?: { id: string; metadata?: ContainerMetadata; labels: Labels; annotations: Labels }
  cpu?: { timestamp: bigint; usageCoreNanoSeconds?: { value: bigint }; usageNanoCores?: { value: bigint } }
  memory?: { timestamp: bigint; workingSetBytes?: { value: bigint }; usageBytes?: { value: bigint }; rssBytes?: { value: bigint } }
  writableLayer?: FilesystemUsage
}
