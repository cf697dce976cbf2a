/** What a runtime tells of containers and sandboxes, in the kubelet's words. */

import type { V1ResourceRequirements } from '#api/core/v1/types.gen.ts'
import { milliQuantityOf, quantityOf } from '#api/meta/quantity.ts'
import { defined } from '#base/defined.ts'
import { omitEmpty } from '#base/omit-empty.ts'
import { containerAnnotation, containerNameIn } from '#kubelet/runtimes/cri/labels.ts'
import type { ObservedContainer, ObservedSandbox } from '#kubelet/runtimes/runtime.ts'
import { type CriContainerStatus, type CriSandboxStatus, containerStates, type LinuxResources, sandboxStates } from '#wire/cri/cri-types.ts'

const stateNames: Record<number, ObservedContainer['state']> = {
  [containerStates.created]: 'created',
  [containerStates.running]: 'running',
  [containerStates.exited]: 'exited',
  // The runtime has lost it; what it did is not known, but it is not there any more.
  [containerStates.unknown]: 'exited',
}

export function observedContainer(status: CriContainerStatus, runtimeName: string): ObservedContainer {
  const { annotations, labels, metadata, resources, user } = status
  const state = stateNames[status.state] ?? 'exited'
  const restartCount = annotations[containerAnnotation.restartCount]
  const specImage = annotations[containerAnnotation.image]
  const actualResources = resources?.linux === undefined ? undefined : resourcesOf(resources.linux)
  return {
    id: `${runtimeName}://${status.id}`,
    name: containerNameIn(labels) ?? metadata?.name ?? '',
    attempt: restartCount === undefined ? (metadata?.attempt ?? 0) : Number(restartCount),
    state,
    image: status.image?.image ?? '',
    imageId: status.imageId || status.imageRef,
    ...defined({ specImage }),
    createdMs: millisOf(status.createdAt),
    // One that could not be started was so at the beginning of time, as upstream has it.
    ...defined({ startedMs: state === 'created' ? undefined : millisOf(status.startedAt) }),
    ...(state === 'exited' ? endOf(status) : {}),
    ...omitEmpty({ logFile: status.logPath }),
    ...defined({ resources: actualResources, user: user?.linux }),
  }
}

function endOf({ state, finishedAt, createdAt, exitCode, reason, message }: CriContainerStatus): Partial<ObservedContainer> {
  const isLost = state === containerStates.unknown
  return {
    finishedMs: millisOf(finishedAt > 0n ? finishedAt : createdAt),
    exitCode: isLost ? 137 : exitCode,
    reason: isLost ? 'ContainerStatusUnknown' : reason || (exitCode === 0 ? 'Completed' : 'Error'),
    ...omitEmpty({ message }),
  }
}

export function observedSandbox(status: CriSandboxStatus): ObservedSandbox {
  const { ip = '', additionalIps = [] } = status.network ?? {}
  return {
    id: status.id,
    isReady: status.state === sandboxStates.ready,
    createdMs: millisOf(status.createdAt),
    ips: [ip, ...additionalIps.map((each) => each.ip)].filter((text) => text !== ''),
  }
}

const millisOf = (nanos: bigint): number => Number(nanos / 1_000_000n)

function resourcesOf({ cpuShares = 0, cpuQuota = 0, cpuPeriod = 0, memoryLimitInBytes = 0 }: LinuxResources): V1ResourceRequirements {
  const limitMillis = cpuPeriod > 0 && cpuQuota > 0 ? Math.trunc((cpuQuota * 1000) / cpuPeriod) : 0
  const limits = {
    ...defined({
      cpu: limitMillis > 0 ? milliQuantityOf(limitMillis).toString() : undefined,
      memory: memoryLimitInBytes > 0 ? quantityOf(memoryLimitInBytes, 'BinarySI').toString() : undefined,
    }),
  }
  // Two shares are what the kernel has for those who asked for nothing.
  const requests = cpuShares > 2 ? { cpu: milliQuantityOf(Math.ceil((cpuShares * 1000) / 1024)).toString() } : {}
  return { limits, requests }
}
