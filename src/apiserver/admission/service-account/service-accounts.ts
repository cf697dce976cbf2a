import { ServiceAccount } from '#api/core/v1/kinds.gen.ts'
import type { V1ServiceAccount } from '#api/core/v1/types.gen.ts'
import type { AdmissionContext } from '#apiserver/admission/admission.ts'
import type { ClusterView } from '#apiserver/cluster-view/cluster-view.ts'
import type { Clock } from '#base/clock.ts'

/** A controller makes the default account of a new namespace; pods may come a moment earlier. */
const patienceMs = 1_500

export class ServiceAccounts {
  readonly #cluster: ClusterView
  readonly #clock: Clock

  constructor({ cluster, clock }: Pick<AdmissionContext, 'cluster' | 'clock'>) {
    this.#cluster = cluster
    this.#clock = clock
  }

  get(namespace: string, name: string): V1ServiceAccount | undefined {
    return this.#cluster.get(ServiceAccount, namespace, name)
  }

  /** Asks the store; waits for the default account only. */
  async await(namespace: string, name: string): Promise<V1ServiceAccount | undefined> {
    const stored = await this.#cluster.getFresh(ServiceAccount, namespace, name)
    return stored ?? (name === 'default' ? this.#appearing(namespace, name) : undefined)
  }

  async #appearing(namespace: string, name: string): Promise<V1ServiceAccount | undefined> {
    using stack = new DisposableStack()
    return await new Promise((resolve) => {
      stack.use(this.#clock.after(patienceMs, () => resolve(undefined)))
      stack.use(
        this.#cluster.onChange(ServiceAccount, (object, isDeleted) => {
          if (!isDeleted && object.metadata?.name === name && object.metadata.namespace === namespace) resolve(object)
        }),
      )
    })
  }
}
