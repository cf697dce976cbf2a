/** Records in the words of CRI. */
import { defined } from '#base/defined.ts'
import type { StoredImage } from '#runtime/images/stored-image.ts'
import type { ContainerRecord, SandboxRecord } from '#runtime/records.ts'
import {
  type CriContainer,
  type CriContainerStatus,
  type CriImage,
  type CriSandbox,
  type CriSandboxStatus,
  containerStates,
  sandboxStates,
} from '#wire/cri/cri-types.ts'

export function sandboxView({ id, config, createdNanos, runtimeHandler }: SandboxRecord, isReady: boolean): CriSandbox {
  const { metadata, labels = {}, annotations = {} } = config
  return {
    id,
    metadata,
    state: isReady ? sandboxStates.ready : sandboxStates.notReady,
    createdAt: BigInt(createdNanos),
    labels,
    annotations,
    runtimeHandler,
  }
}

export function sandboxStatus(record: SandboxRecord, isReady: boolean): CriSandboxStatus {
  const [ip = '', ...others] = isReady ? record.ips : []
  return { ...sandboxView(record, isReady), network: { ip, additionalIps: others.map((each) => ({ ip: each })) } }
}

export function containerView(record: ContainerRecord): CriContainer {
  const { id, sandboxId, config, imageId, createdNanos } = record
  const { metadata, labels = {}, annotations = {}, image } = config
  return {
    ...{ id, podSandboxId: sandboxId, metadata, image, imageRef: imageId, imageId, labels, annotations },
    state: containerStates[record.state],
    createdAt: BigInt(createdNanos),
  }
}

export function containerStatus(record: ContainerRecord, image: StoredImage | undefined): CriContainerStatus {
  const { config, imageId, user } = record
  const { metadata, labels = {}, annotations = {}, mounts = [] } = config
  const name = image?.repoTags[0] ?? image?.repoDigests[0] ?? config.image.userSpecifiedImage ?? config.image.image
  return {
    ...{ id: record.id, metadata, labels, annotations, mounts, logPath: record.logFile, reason: record.reason, message: record.message },
    ...{ exitCode: record.exitCode, state: containerStates[record.state], imageId, image: { image: name } },
    imageRef: image?.repoDigests[0] ?? imageId,
    createdAt: BigInt(record.createdNanos),
    startedAt: BigInt(record.startedNanos),
    finishedAt: BigInt(record.finishedNanos),
    resources: { linux: record.resources },
    user: { linux: { uid: user.uid, gid: user.gid, supplementalGroups: user.groups } },
  }
}

export function imageView({ id, repoTags, repoDigests, sizeBytes, config, isPinned }: StoredImage): CriImage {
  const [user = ''] = (config.User ?? '').split(':')
  const isNumber = /^\d+$/.test(user)
  return {
    ...{ id, repoTags, repoDigests, size: sizeBytes, pinned: isPinned },
    ...defined({ uid: user === '' || isNumber ? { value: Number(user || 0) } : undefined }),
    username: isNumber ? '' : user,
  }
}

type Labelled = { id: string; labels: Record<string, string>; state: number }
export type Filter = { id?: string; state?: { state?: number }; podSandboxId?: string; labelSelector?: Record<string, string> }

export function matches(
  item: Labelled & { podSandboxId?: string },
  { id = '', state, podSandboxId = '', labelSelector = {} }: Filter = {},
): boolean {
  if (id !== '' && !item.id.startsWith(id)) return false
  if (state !== undefined && (state.state ?? 0) !== item.state) return false
  if (podSandboxId !== '' && item.podSandboxId !== undefined && !item.podSandboxId.startsWith(podSandboxId)) return false
  return Object.entries(labelSelector).every(([key, value]) => item.labels[key] === value)
}
