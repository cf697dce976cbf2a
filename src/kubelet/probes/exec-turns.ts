import type { Clock } from '#base/clock.ts'

/** So many commands of one pod run at once: each holds descriptors of ours. */
const mostOfPod = 10

type OfPod = { running: number; readonly waiting: (() => void)[] }

/**
 * Commands of probes are begun one in each turn of the event loop, since each is a process to be started. Pods take turns, so that one
 * with a thousand probes does not keep others waiting.
 */
export class ExecTurns {
  readonly #clock: Pick<Clock, 'soon'>
  readonly #pods = new Map<string, OfPod>()
  /** Those that have something waiting and may run it, in the order of their turns. */
  readonly #ready = new Set<string>()
  #hasBegunOne = false

  constructor(clock: Pick<Clock, 'soon'>) {
    this.#clock = clock
  }

  async run<T>(podUid: string, command: () => Promise<T>): Promise<T> {
    const pod = this.#pods.get(podUid) ?? { running: 0, waiting: [] }
    this.#pods.set(podUid, pod)
    await new Promise<void>((begin) => {
      pod.waiting.push(begin)
      this.#consider(podUid, pod)
    })
    try {
      return await command()
    } finally {
      pod.running--
      if (pod.running === 0 && pod.waiting.length === 0) this.#pods.delete(podUid)
      this.#consider(podUid, pod)
    }
  }

  #consider(podUid: string, { running, waiting }: OfPod): void {
    if (running < mostOfPod && waiting.length > 0) this.#ready.add(podUid)
    if (!this.#hasBegunOne) this.#beginOne()
  }

  readonly #beginOne = (): void => {
    const [podUid] = this.#ready
    this.#hasBegunOne = podUid !== undefined
    if (podUid === undefined) return
    this.#ready.delete(podUid)
    const pod = this.#pods.get(podUid) as OfPod
    pod.running++
    pod.waiting.shift()?.()
    if (pod.running < mostOfPod && pod.waiting.length > 0) this.#ready.add(podUid)
    this.#clock.soon(this.#beginOne)
  }
}
