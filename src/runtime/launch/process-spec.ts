/** What a process in a container is to be, for a container's first one and for those run in it later. */
export type ProcessSpec = {
  args: readonly string[]
  env: readonly string[]
  directory: string
  uid: number
  gid: number
  groups: readonly number[]
  /** Bits of the kernel's capabilities. */
  capabilities: bigint
  ambient: bigint
  hasNoNewPrivileges: boolean
  /** A program for the kernel; absent where all calls are allowed. */
  seccompFilter?: Uint8Array
  hasTerminal: boolean
  oomScoreAdjust?: number
  /** A profile that the process gets as it starts. */
  appArmorProfile?: string
  /** Whether the groups of a process may be set: not for a user without root's help. */
  maySetGroups: boolean
}

export type BindMount = {
  source: string
  target: string
  isFile: boolean
  isReadOnly: boolean
  isRecursivelyReadOnly: boolean
  propagation: 'private' | 'hostToContainer' | 'bidirectional'
  /** Programs there may get other users' rights, devices there work. */
  isTrusted: boolean
}

export type RootSpec = {
  /** Uppermost first. */
  lowerDirectories: readonly string[]
  upperDirectory: string
  workDirectory: string
  /** An empty directory for the root to be mounted on. */
  mountPoint: string
  isReadOnly: boolean
  /** Whether overlays mark what is hidden by attributes that users without root may set. */
  hasUserAttributes: boolean
}

export type ContainerSpec = {
  process: ProcessSpec
  root: RootSpec
  isPrivileged: boolean
  /** Whose namespaces of network, IPC and host name it shares; absent ones are the node's. */
  namespaces: { pid: number; joins: readonly ('net' | 'ipc' | 'uts')[] }
  /** `own`; the node's; or that of another process. */
  pidNamespace: 'own' | 'node' | { pid: number }
  /** Files of the groups that it is to be in. */
  cgroupProcs: readonly string[]
  /** What is written to files of these groups before. */
  cgroupRules: readonly { path: string; text: string }[]
  cgroups: { version: 1 | 2; controllers: readonly string[] }
  mounts: readonly BindMount[]
  /** The memory that containers of a pod share. */
  sharedMemory: string
  hasNodeIpc: boolean
  devices: readonly { source: string; target: string }[]
  maskedPaths: readonly { path: string; isFile: boolean }[]
  readonlyPaths: readonly string[]
  /** Where mounting a file system of its own is not allowed, the node's is shown. */
  bindsSys: boolean
  hasCgroupNamespace: boolean
  hasStdin: boolean
  /** Held by the agent for as long as it lives. */
  agentLock: string
  /** Where what is left in the pipes goes when the container ends while no agent is there. */
  leftovers: { stdout: string; stderr: string }
}
