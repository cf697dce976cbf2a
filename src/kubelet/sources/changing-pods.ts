import { isDeepStrictEqual } from 'node:util'
import type { V1Pod } from '#api/core/v1/types.gen.ts'
import type { PodListener } from '#kubelet/sources/pod-source.ts'

/** A set of pods that is replaced as a whole, and tells what has changed. */
export class ChangingPods {
  readonly #listeners = new Set<PodListener>()
  #pods = new Map<string, V1Pod>()

  follow(listener: PodListener): Disposable {
    this.#listeners.add(listener)
    for (const pod of this.#pods.values()) listener.onPod(pod)
    return { [Symbol.dispose]: () => this.#listeners.delete(listener) }
  }

  replace(pods: readonly V1Pod[]): void {
    const next = new Map(pods.map((pod) => [pod.metadata.uid ?? '', this.#pods.get(pod.metadata.uid ?? '') ?? pod]))
    const gone = [...this.#pods.values()].filter(({ metadata }) => !next.has(metadata.uid ?? ''))
    const come = [...next.values()].filter(({ metadata }) => !this.#pods.has(metadata.uid ?? ''))
    if (gone.length + come.length === 0 && isDeepStrictEqual([...next.keys()], [...this.#pods.keys()])) return
    this.#pods = next
    for (const listener of this.#listeners) {
      for (const pod of gone) listener.onPodGone(pod)
      for (const pod of come) listener.onPod(pod)
    }
  }
}
