import { Node } from '#api/core/v1/kinds.gen.ts'
import { ignoreNotFound } from '#api/meta/server-response.ts'
import type { Clock } from '#base/clock.ts'
import type { Logger } from '#base/log.ts'
import type { Random } from '#base/random.ts'
import { SyncLoop } from '#base/sync-loop.ts'
import type { Client } from '#client/client.ts'
import { Informer } from '#client/informer/informer.ts'
import { IPAMBlock } from '#network/calico/definitions.ts'
import { affinityOf } from '#network/calico/pool-blocks.ts'

export type CollectBlocksOptions = { client: Client; clock: Clock; random: Random; logger: Logger }

/** A node that is made anew soon keeps its blocks. */
const graceMs = 60_000
const checkMs = 10_000

/** Takes blocks away from nodes that are no more, so that others may have them. */
export function collectBlocks({ client, clock, random, logger }: CollectBlocksOptions): { stop(): Promise<void> } {
  const shared = { client, clock, random, logger, forgetsManagers: true }
  const nodes = new Informer({ ...shared, kind: Node })
  const blocks = new Informer({ ...shared, kind: IPAMBlock })
  const orphanedSinceMs = new Map<string, number>()
  const loop = new SyncLoop({
    ...{ clock, minMs: 0, maxMs: checkMs },
    async run() {
      const owners = new Set(nodes.list().map(({ metadata }) => affinityOf(metadata.name ?? '')))
      const orphans = blocks.list().filter(({ spec }) => spec.affinity !== undefined && !owners.has(spec.affinity))
      const names = new Set(orphans.map(({ metadata }) => metadata.name ?? ''))
      for (const name of orphanedSinceMs.keys()) if (!names.has(name)) orphanedSinceMs.delete(name)
      for (const { metadata, spec } of orphans) {
        const name = metadata.name ?? ''
        const sinceMs = orphanedSinceMs.get(name) ?? clock.monotonic()
        orphanedSinceMs.set(name, sinceMs)
        if (clock.monotonic() - sinceMs < graceMs) continue
        await client.delete(IPAMBlock, { name }, metadata.uid === undefined ? {} : { uid: metadata.uid }).catch(ignoreNotFound)
        logger.info('a block of addresses is free again: its node is gone', { block: spec.cidr, affinity: spec.affinity })
      }
    },
    onFailure: (error, retryMs) => logger.warn('failed to free blocks of nodes that are gone, retrying', { error: String(error), retryMs }),
  })
  for (const informer of [nodes, blocks]) informer.start()
  void Promise.all([nodes.synced, blocks.synced]).then(() => loop.request())
  return {
    async stop() {
      for (const informer of [nodes, blocks]) informer.stop()
      await loop.stop()
    },
  }
}
