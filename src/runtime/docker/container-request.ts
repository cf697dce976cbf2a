import { stopSignalOf } from '#runtime/containers/stop-signal.ts'
import { dockerLabel, dockerTypes, labelsOf } from '#runtime/docker/docker-names.ts'
import { dockerCgroupParent, dockerResources } from '#runtime/docker/docker-resources.ts'
import type { CreateRequest, DockerMount } from '#runtime/docker/docker-types.ts'
import type { RequestContext } from '#runtime/docker/sandbox-request.ts'
import { securityOptions } from '#runtime/docker/security-options.ts'
import {
  type ContainerConfig,
  type ContainerSecurityContext,
  type CriMount,
  namespaceModes,
  propagations,
  type SandboxConfig,
} from '#wire/cri/cri-types.ts'

export type ContainerPlace = {
  sandboxId: string
  sandbox: SandboxConfig
  /** Empty where it has no log. */
  logFile: string
  /** Empty where the pod has none of its own. */
  resolvConf: string
}

/** What Docker keeps of the output until it is in the pod's log: enough for an agent that is away for a while. */
const logKeeping = { Type: 'json-file', Config: { 'max-size': '16m', 'max-file': '8' } }

/** A container in a pod's namespaces. */
export async function containerRequest(config: ContainerConfig, place: ContainerPlace, context: RequestContext): Promise<CreateRequest> {
  const { labels = {}, annotations = {}, command = [], args = [], envs = [], mounts = [], devices = [], linux = {} } = config
  const { securityContext: security = {}, resources = {} } = linux
  const { sandboxId, sandbox, logFile, resolvConf } = place
  const sandboxContainer = `container:${sandboxId}`
  const stopSignal = stopSignalOf(config.stopSignal)
  const isOnNode = security.namespaceOptions?.network === namespaceModes.node
  return {
    Image: config.image.image,
    ...userOf(security),
    Env: envs.map(({ key, value }) => `${key}=${Buffer.from(value).toString()}`),
    ...(command.length > 0 && { Entrypoint: command }),
    ...(args.length > 0 && { Cmd: args }),
    ...(config.workingDir && { WorkingDir: config.workingDir }),
    Labels: labelsOf(labels, annotations, {
      ...{ [dockerLabel.type]: dockerTypes.container, [dockerLabel.sandboxId]: sandboxId, [dockerLabel.owner]: context.owner },
      ...{ [dockerLabel.logPath]: logFile, [dockerLabel.userSpecifiedImage]: config.image.userSpecifiedImage ?? '' },
    }),
    OpenStdin: config.stdin ?? false,
    StdinOnce: config.stdinOnce ?? false,
    Tty: config.tty ?? false,
    ...(stopSignal !== undefined && { StopSignal: stopSignal }),
    // Whether a container is well is the kubelet's to find out.
    Healthcheck: { Test: ['NONE'] },
    HostConfig: {
      NetworkMode: sandboxContainer,
      IpcMode: security.namespaceOptions?.ipc === namespaceModes.node ? 'host' : sandboxContainer,
      ...pidModeOf(security, sandboxContainer),
      ...(isOnNode && { UTSMode: 'host' }),
      CgroupParent: dockerCgroupParent(sandbox.linux?.cgroupParent ?? '', context.cgroupDriver),
      ...dockerResources(resources),
      OomScoreAdj: Math.max(resources.oomScoreAdj ?? 0, context.leastOomScoreAdjust),
      Privileged: security.privileged ?? false,
      ReadonlyRootfs: security.readonlyRootfs ?? false,
      CapAdd: security.capabilities?.addCapabilities ?? [],
      CapDrop: security.capabilities?.dropCapabilities ?? [],
      GroupAdd: (security.supplementalGroups ?? []).map(String),
      SecurityOpt: await securityOptions(security, context.files),
      ...(!security.privileged && { MaskedPaths: security.maskedPaths ?? [], ReadonlyPaths: security.readonlyPaths ?? [] }),
      Mounts: [...mounts.map(mountOf), ...resolvConfMount(resolvConf, mounts)],
      Devices: devices.map(({ hostPath, containerPath, permissions }) => ({
        ...{ PathOnHost: hostPath, PathInContainer: containerPath, CgroupPermissions: permissions },
      })),
      LogConfig: logFile === '' ? { Type: 'none', Config: {} } : logKeeping,
    },
  }
}

function userOf({ runAsUser, runAsUsername = '', runAsGroup }: ContainerSecurityContext): { User?: string } {
  const user = runAsUser === undefined ? runAsUsername : String(runAsUser.value)
  if (user === '') return {}
  return { User: runAsGroup === undefined ? user : `${user}:${runAsGroup.value}` }
}

function pidModeOf({ namespaceOptions = {} }: ContainerSecurityContext, sandboxContainer: string): { PidMode?: string } {
  const { pid = namespaceModes.pod, targetId = '' } = namespaceOptions
  if (pid === namespaceModes.node) return { PidMode: 'host' }
  if (pid === namespaceModes.target) return { PidMode: `container:${targetId}` }
  return pid === namespaceModes.pod ? { PidMode: sandboxContainer } : {}
}

const dockerPropagations: Record<number, DockerMount['BindOptions']['Propagation']> = {
  [propagations.private]: 'rprivate',
  [propagations.hostToContainer]: 'rslave',
  [propagations.bidirectional]: 'rshared',
}

function mountOf({ hostPath, containerPath, readonly = false, propagation = propagations.private }: CriMount): DockerMount {
  return {
    ...{ Type: 'bind', Source: hostPath, Target: containerPath, ReadOnly: readonly },
    BindOptions: { Propagation: dockerPropagations[propagation] ?? 'rprivate' },
  }
}

function resolvConfMount(resolvConf: string, mounts: readonly CriMount[]): DockerMount[] {
  const target = '/etc/resolv.conf'
  if (resolvConf === '' || mounts.some(({ containerPath }) => containerPath === target)) return []
  return [mountOf({ hostPath: resolvConf, containerPath: target })]
}
