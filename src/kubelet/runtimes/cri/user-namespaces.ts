/** Ranges of the node's users for pods with users of their own. */
import { userNamespaceAnnotation } from '#kubelet/runtimes/cri/labels.ts'
import { type CriSandbox, type Labels, namespaceModes, type UserNamespace } from '#wire/cri/cri-types.ts'

const usersPerPod = 65_536
/** The kernel counts users in 32 bits; the first range is the node's own. */
const lastRange = 2 ** 16 - 1

/** The first user of a range that no sandbox has; `claimed` are those of sandboxes that are being made. */
export function freeUserRange(sandboxes: readonly Pick<CriSandbox, 'annotations'>[], claimed: ReadonlySet<number>): number {
  const taken = new Set(sandboxes.map(({ annotations }) => Number(annotations[userNamespaceAnnotation] ?? 0)))
  for (let range = 1; range < lastRange; range++) {
    const start = range * usersPerPod
    if (!taken.has(start) && !claimed.has(start)) return start
  }
  throw new Error('could not find an empty slot to allocate a user namespace')
}

export function userNamespaceIn(annotations: Labels): UserNamespace | undefined {
  const text = annotations[userNamespaceAnnotation]
  return text === undefined ? undefined : userNamespaceFrom(Number(text))
}

export function userNamespaceFrom(hostId: number): UserNamespace {
  const mapping = [{ hostId, containerId: 0, length: usersPerPod }]
  return { mode: namespaceModes.pod, uids: mapping, gids: mapping }
}
