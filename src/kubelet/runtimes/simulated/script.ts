/** What a simulated container does, as its pod's annotations say. */
import { isSidecar } from '#api/core/v1/pod-spec/all-containers.ts'
import type { V1Container, V1Pod } from '#api/core/v1/types.gen.ts'

export type ContainerScript = {
  startAfterMs: number
  readyAfterMs: number
  /** Absent: it runs until it is stopped. */
  exitAfterMs?: number
  exitCode: number
  /** How long it takes to end when asked to. */
  stopAfterMs: number
  /** Its code when it was asked to end, and did in time. */
  stopExitCode: number
}

const domain = 'sim.typernetes.dev'
const defaultStartMs = 50
const defaultInitWorkMs = 100
const defaultJobWorkMs = 1000

/**
 * `sim.typernetes.dev/exit-after: 5s` speaks of every app container, `NAME.sim.typernetes.dev/exit-after` of one container, which
 * may be an init container. Exit codes may be several, one for each attempt: `1,1,0`; the last one stays.
 */
export function scriptOf(pod: V1Pod, container: V1Container, attempt: number): ContainerScript {
  const annotations = pod.metadata.annotations ?? {}
  const isInit = (pod.spec.initContainers ?? []).some(({ name }) => name === container.name)
  const said = (what: string): string | undefined =>
    annotations[`${container.name}.${domain}/${what}`] ?? (isInit ? undefined : annotations[`${domain}/${what}`])
  const durationSaid = (what: string): number | undefined => {
    const text = said(what)
    return text === undefined || text === 'never' ? undefined : durationMs(what, text)
  }
  const codes = (said('exit-code') ?? '0').split(',')
  const exitAfterMs = durationSaid('exit-after') ?? (said('exit-after') === 'never' ? undefined : usualExitMs(pod, container, isInit))
  return {
    startAfterMs: durationSaid('start-after') ?? defaultStartMs,
    readyAfterMs: durationSaid('ready-after') ?? 0,
    ...(exitAfterMs === undefined ? {} : { exitAfterMs }),
    exitCode: exitCode('exit-code', codes[Math.min(attempt, codes.length - 1)] ?? '0'),
    stopAfterMs: durationSaid('stop-after') ?? 0,
    stopExitCode: exitCode('stop-exit-code', said('stop-exit-code') ?? '0'),
  }
}

/** Init containers come to an end, and so does the work of jobs; all else serves for ever. */
function usualExitMs({ metadata, spec }: V1Pod, container: V1Container, isInit: boolean): number | undefined {
  if (isInit) return isSidecar(container) ? undefined : defaultInitWorkMs
  const isJobs = (metadata.ownerReferences ?? []).some(({ kind, controller }) => kind === 'Job' && controller)
  return isJobs && spec.restartPolicy !== 'Always' ? defaultJobWorkMs : undefined
}

const unitMs: Record<string, number> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 }

function durationMs(what: string, text: string): number {
  const parts = [...text.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h)/g)]
  if (text !== '0' && (text === '' || parts.map(([part]) => part).join('') !== text)) {
    throw new Error(`annotation ${domain}/${what}: ${text} is no length of time such as 500ms, 30s or 1m30s`)
  }
  return parts.reduce((sum, [, amount, unit]) => sum + Number(amount) * (unitMs[unit ?? ''] ?? 0), 0)
}

function exitCode(what: string, text: string): number {
  const code = Number(text)
  if (!Number.isInteger(code) || code < 0 || code > 255) throw new Error(`annotation ${domain}/${what}: ${text} is no exit code`)
  return code
}
