/** How the resize of a pod's running containers comes along, as conditions and events tell it. */

import type { V1Pod, V1PodStatus } from '#api/core/v1/types.gen.ts'
import { findCondition } from '#api/meta/find-condition.ts'
import type { Clock } from '#base/clock.ts'
import { defined } from '#base/defined.ts'
import { omitEmpty } from '#base/omit-empty.ts'
import type { ResizeConditions } from '#kubelet/pod-worker/pod-conditions.ts'

export type PendingResize = NonNullable<ResizeConditions['pending']>

export type ResizeProgressOptions = {
  clock: Clock
  tell(type: 'Normal' | 'Warning', reason: string, message: string): void
}

const retryMs = 10_000

export class ResizeProgress {
  readonly #options: ResizeProgressOptions
  #inProgress: ResizeConditions['inProgress']
  /** Why the node has not allocated what the pod asks for. */
  pending: PendingResize | undefined
  /** When a resize that has failed is tried again. */
  retryAtMs: number | undefined

  constructor({ conditions = [] }: V1PodStatus, options: ResizeProgressOptions) {
    this.#options = options
    const before = findCondition(conditions, 'PodResizeInProgress')
    if (before?.status === 'True') this.#inProgress = { generation: before.observedGeneration ?? 0 }
  }

  get conditions(): ResizeConditions {
    return {
      ...defined({ pending: this.pending, inProgress: this.#inProgress }),
    }
  }

  begin({ metadata }: V1Pod): void {
    this.#inProgress = { generation: metadata.generation ?? 0 }
    this.retryAtMs = undefined
  }

  /** After every look: whether running containers lack something. */
  update(pod: V1Pod, isResizing: boolean): void {
    if (isResizing) {
      this.#inProgress ??= { generation: pod.metadata.generation ?? 0 }
    } else if (this.#inProgress !== undefined) {
      this.#options.tell('Normal', 'ResizeCompleted', resizeMessage('Pod resize completed', pod, this.#inProgress.generation))
      this.#inProgress = undefined
    }
  }

  fail(pod: V1Pod, message: string): void {
    const { generation } = this.#inProgress ?? { generation: pod.metadata.generation ?? 0 }
    const isNew = this.#inProgress?.message !== message
    this.#inProgress = { reason: 'Error', message, generation }
    this.retryAtMs = this.#options.clock.now() + retryMs
    if (isNew) this.#options.tell('Warning', 'ResizeError', resizeMessage('Pod resize error', pod, generation, message))
  }
}

/** What happened, and what every container is to have, for programs to read. */
export function resizeMessage(what: string, { spec }: V1Pod, generation: number, error?: string): string {
  const allocated = (containers: V1Pod['spec']['containers'] = []) => containers.map(({ name, resources = {} }) => ({ name, resources }))
  const initContainers = allocated(spec.initContainers)
  const summary = {
    ...omitEmpty({ initContainers }),
    ...{ containers: allocated(spec.containers), generation },
    ...omitEmpty({ error }),
  }
  return `${what}: ${JSON.stringify(summary)}`
}
