import type { PodInfo } from '#scheduler/cache/pod-info.ts'

/** Pods that were promised room on a node and wait for it: others of no higher priority must leave that room alone. */
export class Nominator {
  readonly #byNode = new Map<string, Map<string, PodInfo>>()
  readonly #nodeOf = new Map<string, string>()

  get isEmpty(): boolean {
    return this.#nodeOf.size === 0
  }

  nominate(info: PodInfo, nodeName: string): void {
    this.withdraw(info.uid)
    if (nodeName === '') return
    this.#nodeOf.set(info.uid, nodeName)
    const pods = this.#byNode.get(nodeName)
    if (pods === undefined) this.#byNode.set(nodeName, new Map([[info.uid, info]]))
    else pods.set(info.uid, info)
  }

  withdraw(uid: string): void {
    const nodeName = this.#nodeOf.get(uid)
    if (nodeName === undefined) return
    this.#nodeOf.delete(uid)
    const pods = this.#byNode.get(nodeName)
    pods?.delete(uid)
    if (pods?.size === 0) this.#byNode.delete(nodeName)
  }

  nodeOf(uid: string): string | undefined {
    return this.#nodeOf.get(uid)
  }

  on(nodeName: string): Iterable<PodInfo> {
    return this.#byNode.get(nodeName)?.values() ?? []
  }
}
