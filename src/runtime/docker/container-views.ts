/** Docker's containers in the words of CRI. */
import { defined } from '#base/defined.ts'
import { dockerLabel, labelsIn, metadataIn, nanosOf } from '#runtime/docker/docker-names.ts'
import { linuxResourcesOf } from '#runtime/docker/docker-resources.ts'
import type { DockerImage, InspectedContainer, ListedContainer } from '#runtime/docker/docker-types.ts'
import { type CriContainer, type CriContainerStatus, type CriMount, containerStates, propagations } from '#wire/cri/cri-types.ts'

export function containerView(listed: ListedContainer, hasFailed: boolean): CriContainer {
  const { Id, Names, Labels, Image, ImageID } = listed
  const { labels, annotations } = labelsIn(Labels)
  const metadata = metadataIn(Names[0] ?? '')?.container
  return {
    ...{ id: Id, podSandboxId: Labels[dockerLabel.sandboxId] ?? '', labels, annotations },
    ...defined({ metadata }),
    ...{ image: { image: Image }, imageRef: ImageID, imageId: ImageID },
    state: hasFailed ? containerStates.exited : (states[listed.State] ?? containerStates.unknown),
    createdAt: BigInt(listed.Created) * 1_000_000_000n,
  }
}

const states: Record<string, number> = {
  created: containerStates.created,
  running: containerStates.running,
  paused: containerStates.running,
  restarting: containerStates.running,
  removing: containerStates.exited,
  exited: containerStates.exited,
  dead: containerStates.exited,
}

/** Docker leaves a container that could not be started as it was made, but for the code. */
export const hasFailedToStart = ({ State }: InspectedContainer): boolean => State.Status === 'created' && State.ExitCode !== 0

export function containerStatus(inspected: InspectedContainer, image: DockerImage | undefined): CriContainerStatus {
  const { Id, Name, Config, HostConfig, State, Mounts = [] } = inspected
  const docker = Config.Labels ?? {}
  const { labels, annotations } = labelsIn(docker)
  const metadata = metadataIn(Name)?.container
  const createdAt = nanosOf(inspected.Created)
  const hasFailed = hasFailedToStart(inspected)
  const state = hasFailed ? containerStates.exited : (states[State.Status] ?? containerStates.unknown)
  const user = userOf(inspected)
  return {
    ...{ id: Id, state, createdAt, labels, annotations, mounts: Mounts.map(mountView), logPath: docker[dockerLabel.logPath] ?? '' },
    ...defined({ metadata, user }),
    startedAt: hasFailed ? createdAt : nanosOf(State.StartedAt),
    finishedAt: hasFailed ? createdAt : state === containerStates.exited ? nanosOf(State.FinishedAt) : 0n,
    exitCode: state === containerStates.exited ? State.ExitCode : 0,
    ...(state === containerStates.exited ? { reason: reasonOf(inspected, hasFailed), message: State.Error } : { reason: '', message: '' }),
    image: { image: image?.RepoTags?.[0] ?? image?.RepoDigests?.[0] ?? docker[dockerLabel.userSpecifiedImage] ?? Config.Image },
    imageRef: image?.RepoDigests?.[0] ?? inspected.Image,
    imageId: inspected.Image,
    resources: { linux: linuxResourcesOf(HostConfig) },
  }
}

function reasonOf({ State }: InspectedContainer, hasFailed: boolean): string {
  if (hasFailed) return 'ContainerCannotRun'
  if (State.OOMKilled) return 'OOMKilled'
  return State.ExitCode === 0 ? 'Completed' : 'Error'
}

/** Names are looked up in the image, which only Docker does. */
function userOf({ Config, HostConfig }: InspectedContainer): CriContainerStatus['user'] | undefined {
  const found = /^(\d+):(\d+)$/.exec(Config.User)
  if (found === null) return undefined
  const [uid, gid] = [Number(found[1]), Number(found[2])]
  const others = (HostConfig.GroupAdd ?? []).map(Number).filter((group) => group !== gid)
  return { linux: { uid, gid, supplementalGroups: [gid, ...others] } }
}

const propagationNames: Record<string, number> = { rslave: propagations.hostToContainer, rshared: propagations.bidirectional }

function mountView({ Source, Destination, RW, Propagation }: NonNullable<InspectedContainer['Mounts']>[number]): CriMount {
  return {
    ...{ hostPath: Source, containerPath: Destination, readonly: !RW },
    propagation: propagationNames[Propagation] ?? propagations.private,
  }
}
