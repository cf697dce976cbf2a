import { Pod } from '#api/core/v1/kinds.gen.ts'
import type { V1Pod } from '#api/core/v1/types.gen.ts'
import { Informer, type InformerOptions } from '#client/informer/informer.ts'
import type { PodListener, PodSource } from '#kubelet/sources/pod-source.ts'

/** One watch of pods, for all the nodes of a process or for one alone. */
export class PodFeed implements PodSource {
  readonly #informer: Informer<V1Pod>
  readonly #listeners = new Map<string, PodListener>()

  constructor(options: Omit<InformerOptions<V1Pod>, 'kind'>) {
    this.#informer = new Informer({ forgetsManagers: true, ...options, kind: Pod })
    this.#informer.addIndex('node', ({ spec }) => (spec.nodeName ? [spec.nodeName] : []))
    this.#informer.addHandler({
      onAdd: (pod) => this.#listenerOf(pod)?.onPod(pod),
      onUpdate: (pod) => this.#listenerOf(pod)?.onPod(pod),
      onDelete: (pod) => this.#listenerOf(pod)?.onPodGone(pod),
    })
  }

  /** A node by itself may see no pods but its own. */
  static ofNode(node: string, options: Omit<InformerOptions<V1Pod>, 'kind' | 'fieldSelector'>): PodFeed {
    return new PodFeed({ ...options, fieldSelector: `spec.nodeName=${node}` })
  }

  /** Resolves when the present pods are known. */
  start(): Promise<void> {
    this.#informer.start()
    return this.#informer.synced
  }

  stop(): void {
    this.#informer.stop()
  }

  get(namespace: string, name: string): V1Pod | undefined {
    return this.#informer.get(namespace, name)
  }

  podsOn(node: string): readonly V1Pod[] {
    return this.#informer.byIndex('node', node)
  }

  follow(node: string, listener: PodListener): Disposable {
    this.#listeners.set(node, listener)
    for (const pod of this.podsOn(node)) listener.onPod(pod)
    return { [Symbol.dispose]: () => this.#listeners.delete(node) }
  }

  #listenerOf({ spec }: V1Pod): PodListener | undefined {
    return spec.nodeName ? this.#listeners.get(spec.nodeName) : undefined
  }
}
