/** What a cloud can be asked for. A part that is absent is one the cloud does not have: its controllers do not run. */

import type { V1LoadBalancerStatus, V1Node, V1NodeAddress, V1Service } from '#api/core/v1/types.gen.ts'
import type { Controller } from '#controllers/runtime/environment.ts'

export type CloudProvider = {
  readonly name: string
  readonly instances?: CloudInstances
  readonly loadBalancers?: CloudLoadBalancers
  readonly routes?: CloudRoutes
  /** Loops of the cloud's own, which run beside those that ask it. */
  readonly controllers?: readonly Controller[]
}

export type InstanceMetadata = {
  /** `cloud://machine`. Once a node has one it never changes. */
  providerId: string
  instanceType?: string
  addresses: readonly V1NodeAddress[]
  zone?: string
  region?: string
  /** Those of Kubernetes' own domains, and those that a node has already, are left out. */
  labels?: Readonly<Record<string, string>>
}

export type CloudInstances = {
  /** Whether the machine is there, running or not. */
  exists(node: V1Node): Promise<boolean>
  isShutDown(node: V1Node): Promise<boolean>
  /** Undefined: the cloud has nothing to say of this node, now or ever. Throws where it does not know yet. */
  metadata(node: V1Node): Promise<InstanceMetadata | undefined>
}

/** Each may be called again with the same arguments, after success as after failure. */
export type CloudLoadBalancers = {
  /** Annotations that the cloud itself writes on services: their changes are no reason to ask it again. */
  readonly ownAnnotations?: readonly string[]
  /** Undefined where there is none. */
  get(clusterName: string, service: V1Service): Promise<V1LoadBalancerStatus | undefined>
  ensure(clusterName: string, service: V1Service, nodes: readonly V1Node[]): Promise<V1LoadBalancerStatus>
  /** Only the nodes have changed. */
  update(clusterName: string, service: V1Service, nodes: readonly V1Node[]): Promise<void>
  /** Without error where there is none. */
  remove(clusterName: string, service: V1Service): Promise<void>
}

export type CloudRoute = {
  name: string
  /** Empty where the cloud does not know whose it is. */
  targetNode: string
  /** Present where the cloud knows them: then a route is made anew when the node's have changed. */
  targetNodeAddresses?: readonly V1NodeAddress[]
  destinationCidr: string
  /** Leads nowhere: its node is gone. */
  isBlackhole?: boolean
}

export type CloudRoutes = {
  list(clusterName: string): Promise<readonly CloudRoute[]>
  create(clusterName: string, nameHint: string, route: Omit<CloudRoute, 'name'>): Promise<void>
  remove(clusterName: string, route: CloudRoute): Promise<void>
}

/** Thrown by load balancers that somebody else looks after: nothing is done, and nothing is wrong. */
export class ImplementedElsewhere extends Error {
  override name = 'ImplementedElsewhere'
}

/** Thrown by a cloud that knows when it is worth asking again. */
export class RetryLater extends Error {
  override name = 'RetryLater'
  readonly retryAfterMs: number

  constructor(message: string, retryAfterMs: number) {
    super(message)
    this.retryAfterMs = retryAfterMs
  }
}
