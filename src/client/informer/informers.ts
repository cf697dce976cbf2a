/** Informers, one for each kind, shared by everybody who asks. */
import type { Kind } from '#api/kind.ts'
import type { KubernetesObject } from '#api/resource.ts'
import { Informer, type InformerOptions } from '#client/informer/informer.ts'

export type InformersOptions = Omit<InformerOptions<KubernetesObject>, 'kind' | 'labelSelector' | 'fieldSelector'>

export class Informers {
  readonly #options: InformersOptions
  readonly #informers = new Map<string, Informer>()
  #isRunning = false

  constructor(options: InformersOptions) {
    this.#options = options
  }

  /** The informer of the kind; begins to follow at once when the others do. */
  of<T extends KubernetesObject>(kind: Kind<T>): Informer<T> {
    const name = `${kind.group}/${kind.version}/${kind.plural}`
    let informer = this.#informers.get(name)
    if (informer === undefined) {
      informer = new Informer<KubernetesObject>({ ...this.#options, kind })
      this.#informers.set(name, informer)
      if (this.#isRunning) informer.start()
    }
    return informer as unknown as Informer<T>
  }

  /** The informer of the kind, if somebody asked for it before. */
  find(kind: Pick<Kind, 'group' | 'version' | 'plural'>): Informer | undefined {
    return this.#informers.get(`${kind.group}/${kind.version}/${kind.plural}`)
  }

  /** Resolves when all have seen the present state. */
  async start(): Promise<void> {
    this.#isRunning = true
    for (const informer of this.#informers.values()) informer.start()
    await Promise.all([...this.#informers.values()].map(({ synced }) => synced))
  }

  /** Stops following a kind and forgets it. */
  drop(kind: Pick<Kind, 'group' | 'version' | 'plural'>): void {
    const name = `${kind.group}/${kind.version}/${kind.plural}`
    this.#informers.get(name)?.stop()
    this.#informers.delete(name)
  }

  stop(): void {
    this.#isRunning = false
    for (const informer of this.#informers.values()) informer.stop()
  }

  [Symbol.dispose](): void {
    this.stop()
  }
}
