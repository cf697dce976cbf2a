/** Everything a runtime must be told of a sandbox or a container that the pod's own text does not say. */

export type DnsPlan = { servers: string[]; searches: string[]; options: string[] }

export type SandboxPlan = {
  /** Empty where the pod has the node's. */
  hostname: string
  /** Absent where the runtime decides. */
  dns?: DnsPlan
  /** Where the logs of its containers go. */
  logDirectory: string
  /** The runtime's name for how pods of this class are run; empty for the usual way. */
  runtimeHandler: string
}

export type Mount = {
  containerPath: string
  hostPath: string
  isReadOnly: boolean
  /** Also everything mounted below it. */
  isRecursivelyReadOnly?: boolean
  propagation?: 'private' | 'hostToContainer' | 'bidirectional'
  /** What is in an image, which the runtime mounts by itself: `hostPath` is empty then. */
  image?: { reference: string; imageRef: string; subPath: string }
  /** Label it for the container, where the host has SELinux. */
  mustRelabel?: boolean
}

export type ContainerPlan = {
  /** What the runtime calls the image, known once it is here. */
  imageRef: string
  /** Variables are filled in; absent where the image decides. */
  command?: string[]
  args?: string[]
  env: { name: string; value: string }[]
  mounts: Mount[]
  /** Disks of the node; links are followed. */
  devices?: { containerPath: string; hostPath: string; permissions: string }[]
  /** The file on the host that the container's last words are read from. */
  terminationMessageFile?: string
  /** Groups the volumes want its processes to be in. */
  volumeGroups?: number[]
  /** Beside the agent's own. */
  annotations?: Record<string, string>
  /** Devices by the names that files of CDI give them; the runtime reads these. */
  cdiDevices?: string[]
  /** Where its processes may run and have their memory; absent where everywhere. */
  placement?: Placement
}

/** As the kernel writes such lists; empty is everywhere. */
export type Placement = {
  cpus: string
  memoryNodes: string
  /** Nobody else runs on these processors: there is nothing to share out. */
  isExclusive: boolean
}

/** What devices bring to a container. */
export type ContainerExtras = Required<Pick<ContainerPlan, 'env' | 'devices' | 'mounts' | 'annotations' | 'cdiDevices'>>

/** Runtimes without files and variables need nothing. */
export const emptySandboxPlan: SandboxPlan = { hostname: '', logDirectory: '', runtimeHandler: '' }
export const emptyContainerPlan: ContainerPlan = { imageRef: '', env: [], mounts: [] }
