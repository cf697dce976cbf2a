import { checkHostPath } from '#kubelet/volumes/host-path.ts'
import type { MountPlugin } from '#kubelet/volumes/mountable/mount-plugin.ts'

const name = 'kubernetes.io/host-path'

/** What is on the node itself, claimed: for clusters of one node. */
export const claimedHostPath: MountPlugin = {
  source: 'hostPath',
  name,
  idOf: ({ source }) => `${name}/${source.hostPath?.path ?? ''}`,
  targetOf: ({ source }) => source.hostPath?.path ?? '',
  async publish({ spec }, { files }) {
    const { hostPath } = spec.source
    if (hostPath !== undefined) await checkHostPath(hostPath, files)
    return undefined
  },
}
