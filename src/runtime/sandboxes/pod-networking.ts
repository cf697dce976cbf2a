import type { SandboxConfig } from '#wire/cri/cri-types.ts'

/** Gives pods their network. */
export type PodNetworking = {
  /** Why none can be given now; undefined where one can. */
  problem(): Promise<string | undefined>
  /** Resolves with the pod's addresses. What it has begun is undone when it fails. */
  attach(pod: NetworkedPod): Promise<string[]>
  /** Does nothing where nothing is left. The namespace may be gone already. */
  detach(pod: NetworkedPod): Promise<void>
}

export type NetworkedPod = {
  id: string
  /** The path of its network namespace; empty where it is gone. */
  namespacePath: string
  config: SandboxConfig
}
