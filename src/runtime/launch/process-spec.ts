import type { FilterProfile } from '#runtime/seccomp/compile-filter.ts'

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
  /** What that program was made of. */
  seccompProfile?: FilterProfile
  hasTerminal: boolean
  oomScoreAdjust?: number
  /** A profile that the process gets as it starts. */
  appArmorProfile?: string
  /** Whether the groups of a process may be set: not for a user without root's help. */
  maySetGroups: boolean
}

/** A part of an image, or all of it where the path is empty. */
export type ImagePart = { /** Uppermost first. */ lowerDirectories: readonly string[]; path: string }

export type BindMount = {
  /** A path of the node, or what is in an image. */
  source: string | ImagePart
  target: string
  isFile: boolean
  isReadOnly: boolean
  isRecursivelyReadOnly: boolean
  propagation: 'private' | 'hostToContainer' | 'bidirectional'
  /** Programs there may get other users' rights, devices there work. */
  isTrusted: boolean
  /** Its files belong to the pod's users whose numbers they have. */
  isMapped: boolean
}

/** A place in the root of a container that is put together from directories of the node. */
export type RootPart =
  | { kind: 'link'; path: string; target: string }
  | { kind: 'directory'; path: string; mode: number }
  /** The node's, with a layer of the container's own above it. */
  | { kind: 'layer'; path: string; upperDirectory: string; workDirectory: string }
  /** The node's, with all that is mounted below it, read-only. */
  | { kind: 'bind'; path: string }

export type RootSpec = {
  /** Uppermost first. */
  lowerDirectories: readonly string[]
  /** In place of lower directories. */
  parts?: readonly RootPart[]
  upperDirectory: string
  workDirectory: string
  /** An empty directory for the root to be mounted on. */
  mountPoint: string
  isReadOnly: boolean
  /** Whether overlays mark what is hidden by attributes that users without root may set. */
  hasUserAttributes: boolean
}

/** Users of the pod's own. */
export type UsersSpec = {
  /** Of the sandbox's user namespace. */
  namespacePath: string
  /** Who on the node the pod's root is. */
  root: { uid: number; gid: number }
  /** Who on the node the container's process is. */
  processUid: number
}

export type ContainerSpec = {
  process: ProcessSpec
  root: RootSpec
  isPrivileged: boolean
  /** Whose namespaces of network, IPC and host name it shares; absent ones are the node's. */
  namespaces: { pid: number; joins: readonly ('net' | 'ipc' | 'uts')[] }
  /** Absent where it has those of the node. */
  users?: UsersSpec
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
  bindsProc: boolean
  hasCgroupNamespace: boolean
  hasStdin: boolean
  /** Held by the agent for as long as it lives. */
  agentLock: string
  /** Where what is left in the pipes goes when the container ends while no agent is there. */
  leftovers: { stdout: string; stderr: string }
}
