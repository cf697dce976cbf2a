import type { Files } from '#base/files.ts'
import { dockerLabel, dockerTypes, labelsOf } from '#runtime/docker/docker-names.ts'
import { dockerCgroupParent } from '#runtime/docker/docker-resources.ts'
import type { CreateRequest } from '#runtime/docker/docker-types.ts'
import { securityOptions } from '#runtime/docker/security-options.ts'
import { namespaceModes, type SandboxConfig } from '#wire/cri/cri-types.ts'

export type RequestContext = {
  /** The directory of whoever asks. */
  owner: string
  sandboxImage: string
  cgroupDriver: string
  /** Nobody is made safer from the kernel's killing than this: where the machine does not allow it, containers could not be started. */
  leastOomScoreAdjust: number
  files: Pick<Files, 'readTextIfPresent'>
}

const oomScoreAdjust = -998
const leastShares = 2
/** Nobody, as which sandboxes wait. */
const user = '65535:65535'

/** The container that holds a pod's namespaces. Its network is laid afterwards, by CNI. */
export async function sandboxRequest(config: SandboxConfig, context: RequestContext): Promise<CreateRequest> {
  const { labels = {}, annotations = {}, hostname = '', linux = {} } = config
  const { owner, sandboxImage, cgroupDriver, leastOomScoreAdjust, files } = context
  const { namespaceOptions: modes = {}, seccomp, apparmor, selinuxOptions } = linux.securityContext ?? {}
  const isOnNode = modes.network === namespaceModes.node
  return {
    Image: sandboxImage,
    ...(hostname !== '' && !isOnNode && { Hostname: hostname }),
    User: user,
    Labels: labelsOf(labels, annotations, { [dockerLabel.type]: dockerTypes.sandbox, [dockerLabel.owner]: owner }),
    HostConfig: {
      NetworkMode: isOnNode ? 'host' : 'none',
      // The containers of the pod join it.
      IpcMode: modes.ipc === namespaceModes.node ? 'host' : 'shareable',
      ...(modes.pid === namespaceModes.node && { PidMode: 'host' }),
      ...(isOnNode && { UTSMode: 'host' }),
      CgroupParent: dockerCgroupParent(linux.cgroupParent ?? '', cgroupDriver),
      CpuShares: leastShares,
      OomScoreAdj: Math.max(oomScoreAdjust, leastOomScoreAdjust),
      Sysctls: linux.sysctls ?? {},
      SecurityOpt: await securityOptions(
        { ...(seccomp && { seccomp }), ...(apparmor && { apparmor }), ...(selinuxOptions && { selinuxOptions }), noNewPrivs: true },
        files,
      ),
      // It writes nothing.
      LogConfig: { Type: 'none', Config: {} },
    },
  }
}
