/** What is used of the Docker Engine API's objects. Names are Docker's. */

export type DockerLabels = Record<string, string>

export type ListedContainer = {
  Id: string
  Names: string[]
  Image: string
  ImageID: string
  /** Seconds. */
  Created: number
  Labels: DockerLabels
  /** `created`, `running`, `paused`, `restarting`, `removing`, `exited` or `dead`. */
  State: string
}

export type InspectedContainer = {
  Id: string
  Name: string
  Created: string
  Image: string
  State: {
    Status: string
    Running: boolean
    OOMKilled: boolean
    Pid: number
    ExitCode: number
    Error: string
    StartedAt: string
    FinishedAt: string
  }
  Config: { Labels: DockerLabels | null; Image: string; User: string; Tty: boolean; OpenStdin: boolean }
  HostConfig: DockerResources & { CgroupParent?: string; NetworkMode: string; OomScoreAdj?: number; GroupAdd?: string[] | null }
  Mounts?: { Source: string; Destination: string; RW: boolean; Propagation: string }[]
  /** Of the json-file log. */
  LogPath?: string
  GraphDriver?: { Data?: { UpperDir?: string } | null }
}

export type DockerResources = {
  CpuShares?: number
  CpuPeriod?: number
  CpuQuota?: number
  CpusetCpus?: string
  CpusetMems?: string
  Memory?: number
  MemorySwap?: number
}

export type DockerMount = {
  Type: 'bind'
  Source: string
  Target: string
  ReadOnly: boolean
  BindOptions: { Propagation: 'rprivate' | 'rslave' | 'rshared' }
}

/** What a container is made of. */
export type CreateRequest = {
  Image: string
  Hostname?: string
  User?: string
  Env?: string[]
  Entrypoint?: string[]
  Cmd?: string[]
  WorkingDir?: string
  Labels: DockerLabels
  OpenStdin?: boolean
  StdinOnce?: boolean
  Tty?: boolean
  StopSignal?: string
  Healthcheck?: { Test: string[] }
  HostConfig: DockerResources & {
    NetworkMode: string
    IpcMode: string
    PidMode?: string
    UTSMode?: string
    CgroupParent?: string
    OomScoreAdj?: number
    Sysctls?: Record<string, string>
    Privileged?: boolean
    ReadonlyRootfs?: boolean
    CapAdd?: string[]
    CapDrop?: string[]
    GroupAdd?: string[]
    SecurityOpt?: string[]
    MaskedPaths?: string[]
    ReadonlyPaths?: string[]
    Mounts?: DockerMount[]
    Devices?: { PathOnHost: string; PathInContainer: string; CgroupPermissions: string }[]
    LogConfig?: { Type: string; Config: Record<string, string> }
  }
}

export type DockerInfo = {
  ServerVersion: string
  CgroupDriver: string
  DockerRootDir: string
  SecurityOptions?: string[] | null
}

export type DockerImage = {
  Id: string
  RepoTags?: string[] | null
  RepoDigests?: string[] | null
  Size: number
  Config?: { User?: string } | null
}

export type InspectedExec = { ID: string; Running: boolean; ExitCode: number | null; Pid: number }

export type DockerEvent = {
  Type: string
  Action: string
  Actor: { ID: string; Attributes: Record<string, string> }
  timeNano: number
}

export type DockerStats = {
  cpu_stats?: { cpu_usage?: { total_usage?: number } }
  memory_stats?: { usage?: number; stats?: Record<string, number> }
}
