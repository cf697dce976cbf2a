import type { V1Container, V1EphemeralContainer, V1Pod } from '#api/core/v1/types.gen.ts'
import { defined } from '#base/defined.ts'
import { omitEmpty } from '#base/omit-empty.ts'
import { containerAnnotations, containerLabels } from '#kubelet/runtimes/cri/labels.ts'
import { containerResources, type NodeCapacity } from '#kubelet/runtimes/cri/linux-resources.ts'
import { containerSecurityContext, type ImageUser, type SecurityOptions } from '#kubelet/runtimes/cri/security-context.ts'
import type { ContainerPlan, Mount, Placement } from '#kubelet/runtimes/plans.ts'
import { type ContainerConfig, type CriMount, type LinuxResources, type NamespaceOption, propagations } from '#wire/cri/cri-types.ts'

export type RunContainerOptions = {
  attempt: number
  imageUser: ImageUser
  namespaces: NamespaceOption
  capacity: NodeCapacity
  security: SecurityOptions
}

/** Below the pod's log directory. */
const logPathOf = (name: string, attempt: number): string => `${name}/${attempt}.log`

/** What a runtime is told of a container. */
export function containerConfig(
  pod: V1Pod,
  container: V1Container | V1EphemeralContainer,
  plan: ContainerPlan,
  runtimeHelper: RunContainerOptions,
): ContainerConfig {
  const { attempt, imageUser, namespaces, capacity, security } = runtimeHelper
  const { name, image = '', workingDir = '', stdin = false, stdinOnce = false, tty = false } = container
  const volumeGroups = plan.volumeGroups ?? []
  return {
    metadata: { name, attempt },
    image: { image: plan.imageRef || image, userSpecifiedImage: image },
    command: plan.command ?? [],
    args: plan.args ?? [],
    workingDir,
    envs: plan.env.map((variable) => ({ key: variable.name, value: Buffer.from(variable.value) })),
    mounts: plan.mounts.map((mount) => mountOf(mount, namespaces)),
    devices: plan.devices ?? [],
    labels: containerLabels(pod, container),
    annotations: { ...plan.annotations, ...containerAnnotations(pod, container, attempt, plan.terminationMessageFile) },
    cdiDevices: (plan.cdiDevices ?? []).map((cdiName) => ({ name: cdiName })),
    logPath: logPathOf(name, attempt),
    stdin,
    stdinOnce,
    tty,
    linux: {
      resources: { ...containerResources(pod, container, capacity), ...placed(plan.placement) },
      securityContext: containerSecurityContext(pod, container, { imageUser, namespaces, volumeGroups }, security),
    },
  }
}

/** A container that has processors for itself is not slowed down on them. */
function placed(placement: Placement | undefined): LinuxResources {
  if (placement === undefined) return {}
  const { cpus, memoryNodes, isExclusive } = placement
  return {
    ...omitEmpty({ cpusetCpus: cpus, cpusetMems: memoryNodes }),
    ...defined({ cpuQuota: isExclusive ? 0 : undefined }),
  }
}

function mountOf(mount: Mount, { usernsOptions }: NamespaceOption): CriMount {
  const { containerPath, hostPath, isReadOnly, isRecursivelyReadOnly = false, propagation = 'private', mustRelabel = false } = mount
  return {
    containerPath,
    hostPath,
    readonly: isReadOnly,
    recursiveReadOnly: isRecursivelyReadOnly,
    propagation: propagations[propagation],
    selinuxRelabel: mustRelabel,
    ...(mount.image === undefined
      ? {}
      : { image: { image: mount.image.imageRef, userSpecifiedImage: mount.image.reference }, imageSubPath: mount.image.subPath }),
    // Files keep their owners as the pod's users see them.
    ...(usernsOptions === undefined ? {} : { uidMappings: usernsOptions.uids ?? [], gidMappings: usernsOptions.gids ?? [] }),
  }
}
