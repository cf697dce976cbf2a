import { ClusterTrustBundle } from '#api/certificates/v1beta1/kinds.gen.ts'
import type { V1beta1ClusterTrustBundle } from '#api/certificates/v1beta1/types.gen.ts'
import type { V1ClusterTrustBundleProjection } from '#api/core/v1/types.gen.ts'
import { labelSelectorFrom } from '#api/meta/selector.ts'
import type { Clock } from '#base/clock.ts'
import type { Logger } from '#base/log.ts'
import type { Random } from '#base/random.ts'
import type { Client } from '#client/client.ts'
import { Informer } from '#client/informer/informer.ts'

export type TrustBundlesOptions = { client: Client; clock: Clock; random: Random; logger: Logger; onChange(): void }

const waitMs = 1000

/** Certificates that pods are told to trust. Bundles are watched once a pod asks for one. */
export class TrustBundles {
  readonly #options: TrustBundlesOptions
  #informer: Informer<V1beta1ClusterTrustBundle> | undefined

  constructor(options: TrustBundlesOptions) {
    this.#options = options
  }

  /** As PEM, each certificate once. Rejects with upstream's words. */
  async anchors({ name, signerName, labelSelector, optional = false }: V1ClusterTrustBundleProjection): Promise<string> {
    const informer = await this.#synced()
    if (name !== undefined) {
      const bundle = informer.get('', name)
      if (bundle !== undefined) return normalized([bundle])
      if (optional) return ''
      throw new Error(`while getting ClusterTrustBundle: clustertrustbundle.certificates.k8s.io "${name}" not found`)
    }
    if (signerName === undefined) throw new Error('ClusterTrustBundle projection requires either name or signerName to be set')
    // Without a selector nothing is meant, with an empty one everything.
    const selector = labelSelectorFrom(labelSelector)
    const bundles = informer
      .list()
      .filter(({ metadata, spec }) => spec.signerName === signerName && selector.matches(metadata?.labels ?? {}))
    if (bundles.length === 0 && !optional) throw new Error('combination of signerName and labelSelector matched zero ClusterTrustBundles')
    return normalized(bundles)
  }

  stop(): void {
    this.#informer?.stop()
  }

  async #synced(): Promise<Informer<V1beta1ClusterTrustBundle>> {
    const { client, clock, random, logger, onChange } = this.#options
    if (this.#informer === undefined) {
      const informer = new Informer({ client, kind: ClusterTrustBundle, clock, random, logger })
      informer.addHandler({ onAdd: onChange, onUpdate: onChange, onDelete: onChange })
      informer.start()
      this.#informer = informer
    }
    // Servers without the kind never answer.
    await Promise.race([this.#informer.synced, clock.sleep(waitMs)])
    if (!this.#informer.hasSynced) throw new Error('ClusterTrustBundle informer has not yet synced')
    return this.#informer
  }
}

/** In a stable order; text between the blocks is left out. */
function normalized(bundles: readonly V1beta1ClusterTrustBundle[]): string {
  const blocks = bundles.flatMap(({ spec }) => spec.trustBundle.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [])
  const bodies = new Set(blocks.map((block) => block.replace(/-----[^-]+-----/g, '').replace(/\s+/g, '')))
  return [...bodies]
    .sort()
    .map((body) => `-----BEGIN CERTIFICATE-----\n${(body.match(/.{1,64}/g) ?? []).join('\n')}\n-----END CERTIFICATE-----\n`)
    .join('')
}
