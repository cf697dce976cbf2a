/** A runtime through another one's hands: what it is asked for is written down and validated, and may be made to go wrong. */
import assert from 'node:assert/strict'
import { isSidecar } from '#api/core/v1/pod-spec/all-containers.ts'
import type { V1Pod } from '#api/core/v1/types.gen.ts'
import type { Clock } from '#base/clock.ts'
import type { Random } from '#base/random.ts'
import type { Runtime, RuntimeEvent } from '#kubelet/runtimes/runtime.ts'

export type RuntimeFaults = {
  clock: Clock
  random: Random
  /** Chances of a call to fail before and after it was done, to take long, and of an event to be lost. Read anew each time. */
  rates: { fails: number; failsLater: number; delays: number; losesEvent: number }
}

type Entry = { podUid: string; name: string; what: 'started' | 'stopped'; attempt: number }

/** What was really done to containers, in order. */
export class RuntimeRecord {
  readonly #entries: Entry[] = []
  readonly #problems = new Map<string, string[]>()

  add(entry: Entry): void {
    this.#entries.push(entry)
  }

  complain(podUid: string, problem: string): void {
    this.#problems.set(podUid, [...(this.#problems.get(podUid) ?? []), problem])
  }

  started(podUid: string): string[] {
    return this.#entries.filter((entry) => entry.podUid === podUid && entry.what === 'started').map(({ name }) => name)
  }

  /** In the order in which containers were asked to end for the last time. */
  stopped(podUid: string): string[] {
    const names = this.#entries.filter((entry) => entry.podUid === podUid && entry.what === 'stopped').map(({ name }) => name)
    return names.filter((name, index) => names.indexOf(name) === index)
  }

  /** Nothing was done to the pod that must never be. */
  validate(podUid: string): void {
    assert.deepEqual(this.#problems.get(podUid) ?? [], [])
  }
}

export function recordingRuntime(runtime: Runtime, record: RuntimeRecord, faults?: RuntimeFaults): Runtime {
  const made = new Map<string, { pod: V1Pod; name: string; attempt: number }>()
  const happens = (rate: number) => faults !== undefined && faults.random.float() < rate
  const roughly = async <T>(what: string, act: () => Promise<T>): Promise<T> => {
    if (faults === undefined) return act()
    const { rates, clock, random } = faults
    if (happens(rates.delays)) await clock.sleep(random.int(2000))
    if (happens(rates.fails)) throw new Error(`${what} fails on purpose`)
    const result = await act()
    if (happens(rates.failsLater)) throw new Error(`${what} was done, and fails on purpose`)
    return result
  }
  return {
    version: runtime.version,
    runSandbox: (pod, plan, signal) => roughly('runSandbox', () => runtime.runSandbox(pod, plan, signal)),
    stopSandbox: (id) => roughly('stopSandbox', () => runtime.stopSandbox(id)),
    removeSandbox: (id) => roughly('removeSandbox', () => runtime.removeSandbox(id)),
    createContainer: (request, signal) =>
      roughly('createContainer', async () => {
        const id = await runtime.createContainer(request, signal)
        made.set(id, { pod: request.pod, name: request.container.name, attempt: request.attempt })
        return id
      }),
    startContainer: (id, signal) =>
      roughly('startContainer', async () => {
        const { pod, name, attempt } = made.get(id) ?? {}
        if (pod !== undefined && name !== undefined) {
          const podUid = pod.metadata.uid ?? ''
          record.add({ podUid, name, what: 'started', attempt: attempt ?? 0 })
          await validateStart(runtime, pod, name, id, record)
        }
        return runtime.startContainer(id, signal)
      }),
    stopContainer: (id, graceMs) =>
      roughly('stopContainer', () => {
        const { pod, name, attempt } = made.get(id) ?? {}
        if (pod !== undefined && name !== undefined) {
          record.add({ podUid: pod.metadata.uid ?? '', name, what: 'stopped', attempt: attempt ?? 0 })
        }
        return runtime.stopContainer(id, graceMs)
      }),
    removeContainer: (id) => roughly('removeContainer', () => runtime.removeContainer(id)),
    resizeContainer: (id, pod, container) => roughly('resizeContainer', () => runtime.resizeContainer(id, pod, container)),
    exec: (id, command, timeoutMs) => roughly('exec', () => runtime.exec(id, command, timeoutMs)),
    observe: (uid) => roughly('observe', () => runtime.observe(uid)),
    podUids: () => roughly('podUids', () => runtime.podUids()),
    ...(runtime.snapshot === undefined
      ? {}
      : { snapshot: () => roughly('snapshot', async () => (await runtime.snapshot?.()) ?? new Map()) }),
    onEvent: (listener: (event: RuntimeEvent) => void) =>
      runtime.onEvent((event) => {
        if (!happens(faults?.rates.losesEvent ?? 0)) listener(event)
      }),
  }
}

/** What must hold whenever a container is started, however rough the going. */
async function validateStart(runtime: Runtime, pod: V1Pod, name: string, id: string, record: RuntimeRecord): Promise<void> {
  const { uid = '' } = pod.metadata
  const { containers } = await runtime.observe(uid)
  const others = containers.filter((container) => container.id !== id)
  if (others.some((other) => other.name === name && other.state === 'running')) record.complain(uid, `${name} runs twice`)
  const inits = pod.spec.initContainers ?? []
  const isApp = pod.spec.containers.some((container) => container.name === name)
  const place = isApp ? inits.length : inits.findIndex((container) => container.name === name)
  for (const before of inits.slice(0, Math.max(0, place))) {
    const latest = others.find((other) => other.name === before.name)
    const isDone = isSidecar(before) ? latest !== undefined : latest?.state === 'exited' && latest.exitCode === 0
    const hasRun = containers.some((other) => other.id !== id && pod.spec.containers.some((app) => app.name === other.name))
    if (!isDone && !hasRun) record.complain(uid, `${name} starts before ${before.name} is done`)
  }
  const otherInits = inits.filter((container) => !isSidecar(container) && container.name !== name)
  if (otherInits.some((init) => others.some((other) => other.name === init.name && other.state === 'running'))) {
    record.complain(uid, `${name} starts while an init container runs`)
  }
}

/** What must hold from one status to the next. */
export function validateStatus(next: V1Pod, prev: V1Pod, record: RuntimeRecord): void {
  const { uid = '' } = next.metadata
  const isOver = (phase: string | undefined) => phase === 'Failed' || phase === 'Succeeded'
  const [before, now] = [prev.status?.phase, next.status?.phase]
  if (isOver(before) && before !== now) record.complain(uid, `from ${before} it went to ${now}`)
  const counts = ({ status }: V1Pod) => [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])]
  for (const { name, restartCount } of counts(prev)) {
    const later = counts(next).find((each) => each.name === name)
    if (later === undefined) record.complain(uid, `nothing is told of ${name} any more`)
    else if (later.restartCount < restartCount)
      record.complain(uid, `restarts of ${name} went from ${restartCount} to ${later.restartCount}`)
  }
}
