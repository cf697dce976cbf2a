import { isPodFinished } from '#api/core/v1/pod/pod-state.ts'
import type { V1Pod } from '#api/core/v1/types.gen.ts'
import type { Clock } from '#base/clock.ts'

export type RunOnceOptions = { pods(): readonly V1Pod[]; clock: Clock; signal?: AbortSignal }

const firstPauseMs = 1000
const mostLooks = 10

/** Resolves with the names of the node's pods once each of them runs or has come to its end. Rejects when some do not get there. */
export async function runOnce({ pods, clock, signal }: RunOnceOptions): Promise<string[]> {
  const names = (list: readonly V1Pod[]) => list.map(({ metadata }) => `${metadata.name}_${metadata.namespace}`)
  if (pods().length === 0) throw new Error('no pod manifest was found; name a directory with --pod-manifest-path')
  for (let look = 0, pauseMs = firstPauseMs; ; look++, pauseMs *= 2) {
    const waiting = pods().filter((pod) => !isPodFinished(pod) && !isRunning(pod))
    if (waiting.length === 0) return names(pods())
    if (look === mostLooks)
      throw new Error(`error running pods: [${names(waiting).join(' ')}]: containers not running after ${look} retries`)
    await clock.sleep(pauseMs, signal)
  }
}

function isRunning({ spec, status }: V1Pod): boolean {
  return spec.containers.every(({ name }) => status?.containerStatuses?.some((each) => each.name === name && each.state?.running))
}
