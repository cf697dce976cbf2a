/** What a simulated container does, as its pod's annotations say. */

import { isSidecar } from '#api/core/v1/pod-spec/all-containers.ts'
import type { V1Container, V1Pod } from '#api/core/v1/types.gen.ts'
import { controllerOf } from '#api/meta/owner-references.ts'
import { defined } from '#base/defined.ts'
import { omitEmpty } from '#base/omit-empty.ts'
import { type Curve, curveOf } from '#kubelet/runtimes/simulated/curve.ts'
import { durationMs, scriptDomain } from '#kubelet/runtimes/simulated/script-words.ts'

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
  /** The code of every command that is run in it. */
  execExitCode?: number
  /** What probes find out and when, from the start; oldest first. */
  probes?: ProbeTurn[]
  log?: { lines: string[]; everyMs?: number }
  cpu?: Curve
  memory?: Curve
}

export type ProbeTurn = { afterMs: number; kind: 'liveness' | 'readiness' | 'startup'; passes: boolean }

const defaultStartMs = 50
const defaultInitWorkMs = 100
const defaultJobWorkMs = 1000

/** What nobody has said otherwise: shared, since most containers are like that. */
const usual: ContainerScript = { startAfterMs: defaultStartMs, readyAfterMs: 0, exitCode: 0, stopAfterMs: 0, stopExitCode: 0 }

/**
 * `sim.typernetes.dev/exit-after: 5s` speaks of every app container, `NAME.sim.typernetes.dev/exit-after` of one container, which
 * may be an init container. Exit codes may be several, one for each attempt: `1,1,0`; the last one stays.
 */
export function scriptOf(pod: V1Pod, container: V1Container, attempt: number): ContainerScript {
  const annotations = pod.metadata.annotations ?? {}
  const isInit = (pod.spec.initContainers ?? []).some(({ name }) => name === container.name)
  const workMs = usualExitMs(pod, container, isInit)
  if (workMs === undefined && !Object.keys(annotations).some((key) => key.includes(scriptDomain))) return usual
  const said = (what: string): string | undefined =>
    annotations[`${container.name}.${scriptDomain}/${what}`] ?? (isInit ? undefined : annotations[`${scriptDomain}/${what}`])
  const durationSaid = (what: string): number | undefined => {
    const text = said(what)
    return text === undefined || text === 'never' ? undefined : durationMs(what, text)
  }
  const codes = (said('exit-code') ?? '0').split(',')
  const exitAfterMs = durationSaid('exit-after') ?? (said('exit-after') === 'never' ? undefined : workMs)
  const execCode = said('exec-exit-code')
  const probes = probesIn(said)
  const log = logIn(said)
  const [cpu, memory] = [said('cpu'), said('memory')]
  return {
    startAfterMs: durationSaid('start-after') ?? defaultStartMs,
    readyAfterMs: durationSaid('ready-after') ?? 0,
    ...defined({ exitAfterMs }),
    exitCode: exitCode('exit-code', codes[Math.min(attempt, codes.length - 1)] ?? '0'),
    stopAfterMs: durationSaid('stop-after') ?? 0,
    stopExitCode: exitCode('stop-exit-code', said('stop-exit-code') ?? '0'),
    ...defined({ execExitCode: execCode === undefined ? undefined : exitCode('exec-exit-code', execCode) }),
    ...omitEmpty({ probes }),
    ...defined({ log }),
    ...defined({
      cpu: cpu === undefined ? undefined : curveOf('cpu', cpu),
      memory: memory === undefined ? undefined : curveOf('memory', memory),
    }),
  }
}

/** Init containers come to an end, and so does the work of jobs; all else serves for ever. */
function usualExitMs(pod: V1Pod, container: V1Container, isInit: boolean): number | undefined {
  if (isInit) return isSidecar(container) ? undefined : defaultInitWorkMs
  return controllerOf(pod)?.kind === 'Job' && pod.spec.restartPolicy !== 'Always' ? defaultJobWorkMs : undefined
}

/** `liveness: fail-after 10s`, `readiness: fail-after 10s, pass-after 30s`, `startup: pass-after 5s`. */
function probesIn(said: (what: string) => string | undefined): ProbeTurn[] {
  const turns: ProbeTurn[] = []
  for (const kind of ['liveness', 'readiness', 'startup'] as const) {
    for (const text of said(kind)?.split(',') ?? []) {
      const [, verb, time] = /^\s*(fail|pass)(?:-after\s+(\S+))?\s*$/.exec(text) ?? []
      if (verb === undefined) throw new Error(`annotation ${scriptDomain}/${kind}: ${text} is not like fail-after 10s or pass-after 5s`)
      turns.push({ kind, passes: verb === 'pass', afterMs: time === undefined ? 0 : durationMs(kind, time) })
    }
  }
  return turns.sort((one, other) => one.afterMs - other.afterMs)
}

function logIn(said: (what: string) => string | undefined): ContainerScript['log'] {
  const text = said('log')
  if (text === undefined) return undefined
  const every = said('log-every')
  return { lines: text.split('\n'), ...defined({ everyMs: every === undefined ? undefined : Math.max(1, durationMs('log-every', every)) }) }
}

function exitCode(what: string, text: string): number {
  const code = Number(text)
  if (!Number.isInteger(code) || code < 0 || code > 255)
    throw new Error(`annotation ${scriptDomain}/${what}: ${text} is not a valid exit code`)
  return code
}
