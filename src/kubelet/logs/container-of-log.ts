/** Which of the containers that had the name is meant. */
import type { V1ContainerStatus, V1Pod } from '#api/core/v1/types.gen.ts'
import type { ObservedContainer } from '#kubelet/runtimes/runtime.ts'

/** There is no output yet, or no more: the message is for whoever asked. */
export class NoLog extends Error {
  override name = 'NoLog'
}

/** What runs is found by looking; the status, which may be behind, tells of what has ended. */
export function containerOfLog(pod: V1Pod, observed: readonly ObservedContainer[], name: string, previous: boolean): ObservedContainer {
  const ofName = observed.filter((container) => container.name === name)
  const running = ofName.find(({ state }) => state === 'running')
  if (running !== undefined && !previous) return running
  const { containerStatuses = [], initContainerStatuses = [], ephemeralContainerStatuses = [] } = pod.status ?? {}
  const status = [...containerStatuses, ...initContainerStatuses, ...ephemeralContainerStatuses].find((each) => each.name === name)
  const subject = `container "${name}" in pod "${pod.metadata.name}"`
  if (previous) {
    const before = running === undefined ? undefined : ofName.find(({ state, attempt }) => state === 'exited' && attempt < running.attempt)
    const ended = before ?? withId(ofName, status?.lastState?.terminated?.containerID)
    if (ended === undefined) throw new NoLog(`previous terminated ${subject} not found`)
    return ended
  }
  const { terminated } = status?.state ?? {}
  const ended =
    withId(ofName, terminated?.containerID) ??
    withId(ofName, status?.lastState?.terminated?.containerID) ??
    ofName.find(({ state }) => state === 'exited')
  if (ended !== undefined) return ended
  if (status === undefined) throw new NoLog(`${subject} is not available`)
  throw new NoLog(waitingText(status, subject))
}

function withId(containers: readonly ObservedContainer[], id: string | undefined): ObservedContainer | undefined {
  return id ? containers.find((container) => container.id === id) : undefined
}

function waitingText({ state, lastState }: V1ContainerStatus, subject: string): string {
  if (state?.terminated !== undefined || (lastState?.terminated !== undefined && state?.running === undefined))
    return `${subject} is terminated`
  const reason = state?.waiting?.reason
  if (reason === 'ErrImagePull') return `${subject} is waiting to start: image can't be pulled`
  if (reason === 'ImagePullBackOff') return `${subject} is waiting to start: trying and failing to pull image`
  if (state?.waiting !== undefined) return `${subject} is waiting to start: ${reason ?? ''}`
  return `${subject} is waiting to start - no logs yet`
}
