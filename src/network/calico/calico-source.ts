/** Calico's objects as the API has them, for those who act on them. */

import { Secret } from '#api/core/v1/kinds.gen.ts'
import type { V1Secret } from '#api/core/v1/types.gen.ts'
import type { Kind } from '#api/kind.ts'
import type { KubernetesObject } from '#api/resource.ts'
import type { Client } from '#client/client.ts'
import { Informer, type InformerOptions } from '#client/informer/informer.ts'
import type { CalicoObjects } from '#network/calico/bgp-settings.ts'
import { BGPConfiguration, BGPPeer, IPAMBlock, IPPool } from '#network/calico/definitions.ts'

export type CalicoSource = {
  list(): CalicoObjects
  /** Resolves when all of them are known. */
  readonly synced: Promise<unknown>
  /** Told of each change. */
  onChange(changed: () => void): void
  stop(): void
}

/** Where secrets lie that peers name. */
export const secretsNamespace = 'kube-system'

export function followCalico(client: Client, seams: Pick<InformerOptions<IPPool>, 'clock' | 'random' | 'logger'>): CalicoSource {
  const shared = { ...seams, client, forgetsManagers: true }
  const handlers: (() => void)[] = []
  const changed = () => {
    for (const handler of handlers) handler()
  }
  const all: Informer<KubernetesObject>[] = []
  const follow = <T extends KubernetesObject>(kind: Kind<T>, options: { namespace?: string; fieldSelector?: string } = {}): Informer<T> => {
    const informer = new Informer<T>({ ...shared, kind, ...options })
    informer.addHandler({ onAdd: changed, onUpdate: changed, onDelete: changed })
    informer.start()
    all.push(informer as unknown as Informer<KubernetesObject>)
    return informer
  }
  const pools = follow(IPPool)
  const peers = follow(BGPPeer)
  const configurations = follow(BGPConfiguration)
  const blocks = follow(IPAMBlock)
  const synced = Promise.all(all.map((informer) => informer.synced))
  /** One at a time: nobody may look at all of them. */
  const secrets = new Map<string, Informer<V1Secret>>()
  return {
    list() {
      const found = peers.list()
      const names = new Set(found.flatMap(({ spec }) => spec.password?.secretKeyRef.name ?? []))
      for (const name of names) {
        if (!secrets.has(name)) {
          secrets.set(name, follow(Secret, { namespace: secretsNamespace, fieldSelector: `metadata.name=${name}` }))
        }
      }
      const secretsNow = [...secrets.values()].flatMap((informer) => informer.list())
      return { pools: pools.list(), peers: found, configurations: configurations.list(), blocks: blocks.list(), secrets: secretsNow }
    },
    synced,
    onChange: (handler) => void handlers.push(handler),
    stop() {
      for (const informer of all) informer.stop()
    },
  }
}
