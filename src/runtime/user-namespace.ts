/** Users of a pod's own (`hostUsers: false`): root in the pod is one of the node's users that may do nothing there. */
import { descriptors } from '#base/descriptors.ts'
import { GrpcError, grpcCodes } from '#base/grpc.ts'
import { systemCall } from '#base/system-calls.ts'
import { type IdMapping, namespaceModes, type SandboxConfig } from '#wire/cri/cri-types.ts'

export type PodUsers = { uids: readonly IdMapping[]; gids: readonly IdMapping[] }

/** Those that a pod asks for; undefined where it has the node's. Throws on what cannot be done. */
export function podUsersOf({ linux }: SandboxConfig): PodUsers | undefined {
  const { usernsOptions, network, ipc, pid } = linux?.securityContext?.namespaceOptions ?? {}
  if (usernsOptions === undefined || usernsOptions.mode === namespaceModes.node) return undefined
  const { mode, uids = [], gids = [] } = usernsOptions
  const refuse = (message: string): never => {
    throw new GrpcError(grpcCodes.invalidArgument, message)
  }
  if (mode !== namespaceModes.pod) refuse(`unsupported user namespace mode ${mode}`)
  if (uids.length === 0 || gids.length === 0) refuse('a user namespace needs mappings of users and of groups')
  if (hostIdOf(uids, 0) === undefined || hostIdOf(gids, 0) === undefined) refuse('the mappings of a user namespace must have a root')
  // The kernel shows files of such a namespace only to who may change it.
  for (const [name, shared] of Object.entries({ network, ipc, pid })) {
    if (shared === namespaceModes.node) refuse(`a pod with users of its own cannot share the ${name} namespace of the node`)
  }
  return { uids, gids }
}

/** Who on the node somebody in the pod is. */
export function hostIdOf(mappings: readonly IdMapping[], id: number): number | undefined {
  const found = mappings.find(({ containerId, length }) => id >= containerId && id < containerId + length)
  return found && found.hostId + (id - found.containerId)
}

export function areSameUsers(one: PodUsers, other: PodUsers): boolean {
  return mapText(one.uids) === mapText(other.uids) && mapText(one.gids) === mapText(other.gids)
}

/** For a process that has just made a user namespace; it is allowed once. */
export function writeUserMaps(pid: number, { uids, gids }: PodUsers): void {
  for (const [name, mappings] of Object.entries({ gid_map: gids, uid_map: uids })) {
    const descriptor = descriptors.openForWriting(`/proc/${pid}/${name}`)
    try {
      // The kernel takes it as a whole or not at all.
      const text = mapText(mappings)
      systemCall('write', descriptor, text, text.length)
    } finally {
      descriptors.close(descriptor)
    }
  }
}

const mapText = (mappings: readonly IdMapping[]): string =>
  mappings.map(({ containerId, hostId, length }) => `${containerId} ${hostId} ${length}\n`).join('')
