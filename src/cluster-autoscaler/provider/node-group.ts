/** What the autoscaler asks of whoever makes and removes machines. Everything may fail, take long, or be answered wrongly. */
import type { V1Node, V1Pod } from '#api/core/v1/types.gen.ts'

export type InstanceError = {
  readonly code: string
  readonly message: string
  /** Whether there are no more machines of this kind to be had now; then another group is tried at once. */
  readonly isOutOfResources: boolean
}

/** A machine of a group, whether or not its node has registered. */
export type Instance = {
  /** The node's `spec.providerID`, or its name where it has none. */
  readonly id: string
  readonly state?: 'running' | 'creating' | 'deleting'
  /** Why it will never run. */
  readonly error?: InstanceError
}

/** What may differ from group to group; the flags of the autoscaler are the defaults. */
export type GroupOptions = {
  readonly scaleDownUtilizationThreshold: number
  readonly scaleDownGpuUtilizationThreshold: number
  readonly scaleDownUnneededMs: number
  readonly scaleDownUnreadyMs: number
  readonly maxNodeProvisionMs: number
  readonly ignoreDaemonSetsUtilization: boolean
  /** All machines of the group, or none. */
  readonly zeroOrMaxNodeScaling: boolean
}

export type NodeGroup = {
  readonly id: string
  readonly minSize: number
  readonly maxSize: number
  /** How many machines there will be when all requests are met. */
  targetSize(): Promise<number>
  /** Resolves when the request is accepted; the machines come later. */
  increaseSize(by: number): Promise<void>
  /** Removes these machines and makes the target smaller by their number. */
  deleteNodes(nodes: readonly V1Node[]): Promise<void>
  /** Takes back requests for machines that have not come; never removes one that is there. */
  decreaseTargetSize(by: number): Promise<void>
  instances(): Promise<readonly Instance[]>
  /** A node of the group as it would be when new; undefined where the provider cannot tell. */
  template(): Promise<V1Node | undefined>
  /** Undefined: the defaults. */
  options?(defaults: GroupOptions): Promise<GroupOptions | undefined>
}

/** In any currency, as long as it is one. */
export type Pricing = {
  nodePrice(node: V1Node, startMs: number, endMs: number): Promise<number>
  podPrice(pod: V1Pod, startMs: number, endMs: number): Promise<number>
}

export type NodeGroupProvider = {
  readonly name: string
  /** As of the last refresh. */
  nodeGroups(): readonly NodeGroup[]
  /** Undefined: the node is none of the autoscaler's business. */
  groupOf(node: V1Node): Promise<NodeGroup | undefined>
  readonly pricing?: Pricing
  /** The label by which nodes with a GPU are known. */
  readonly gpuLabel?: string
  /** Called before each round. */
  refresh(): Promise<void>
  close(): Promise<void>
}

/** By provider ID, or by name. */
export const isNodeOf = ({ id }: Instance, { metadata, spec }: V1Node): boolean => id === (spec?.providerID || metadata.name)
