/** Calico's objects as the API has them, for those who act on them. */
import type { Client } from '#client/client.ts'
import { Informer, type InformerOptions } from '#client/informer/informer.ts'
import type { CalicoObjects } from '#network/calico/bgp-settings.ts'
import { BGPConfiguration, BGPPeer, IPPool } from '#network/calico/definitions.ts'

export type CalicoSource = {
  list(): CalicoObjects
  /** Resolves when all of them are known. */
  readonly synced: Promise<unknown>
  /** Told of each change. */
  onChange(changed: () => void): void
  stop(): void
}

export function followCalico(client: Client, seams: Pick<InformerOptions<IPPool>, 'clock' | 'random' | 'logger'>): CalicoSource {
  const shared = { ...seams, client, forgetsManagers: true }
  const pools = new Informer({ ...shared, kind: IPPool })
  const peers = new Informer({ ...shared, kind: BGPPeer })
  const configurations = new Informer({ ...shared, kind: BGPConfiguration })
  const all = [pools, peers, configurations]
  for (const informer of all) informer.start()
  return {
    list: () => ({ pools: pools.list(), peers: peers.list(), configurations: configurations.list() }),
    synced: Promise.all(all.map(({ synced }) => synced)),
    onChange(changed) {
      for (const informer of all) informer.addHandler({ onAdd: changed, onUpdate: changed, onDelete: changed })
    },
    stop() {
      for (const informer of all) informer.stop()
    },
  }
}
