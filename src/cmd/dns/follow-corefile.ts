/** The configuration that a cluster keeps for its name servers, where it keeps one. */
import { ConfigMap } from '#api/core/v1/kinds.gen.ts'
import type { Clock } from '#base/clock.ts'
import type { Logger } from '#base/log.ts'
import type { Random } from '#base/random.ts'
import type { Client } from '#client/client.ts'
import { Informer } from '#client/informer/informer.ts'
import { type CorefileOptions, defaultCorefile } from '#dns/corefile/default-corefile.ts'
import { kubeDnsSettings } from '#dns/corefile/kube-dns-settings.ts'

export type FollowCorefileOptions = {
  client: Client
  clock: Clock
  random: Random
  logger: Logger
  /** What holds where the cluster says nothing else. */
  corefileOptions: CorefileOptions
  /** Called with each configuration, one after the other. */
  configure(corefile: string): Promise<void>
}

const namespace = 'kube-system'

/**
 * The config map `coredns` holds a Corefile; `kube-dns` holds stub domains and upstream servers for the usual one. Resolves when the
 * first configuration is in force. One that is wrong is told of, and the one before stays.
 */
export async function followCorefile({ corefileOptions, configure, ...parts }: FollowCorefileOptions): Promise<Disposable> {
  const { logger } = parts
  const follow = (name: string) => new Informer({ ...parts, kind: ConfigMap, namespace, fieldSelector: `metadata.name=${name}` })
  const own = follow('coredns')
  const old = follow('kube-dns')
  let inForce = ''
  let turn: Promise<void> = Promise.resolve()
  const look = (): Promise<void> => {
    turn = turn.then(async () => {
      try {
        const corefile = own.get(namespace, 'coredns')?.data?.['Corefile'] ?? usual()
        if (corefile !== inForce) await configure(corefile)
        inForce = corefile
      } catch (error) {
        logger.error('failed to read the DNS configuration in kube-system, keeping the old one', {
          error: error instanceof Error ? error.message : String(error),
        })
        if (inForce !== '') return
        inForce = defaultCorefile(corefileOptions)
        await configure(inForce)
      }
    })
    return turn
  }
  const usual = () => {
    const { stubDomains, upstreams } = kubeDnsSettings(old.get(namespace, 'kube-dns')?.data ?? {})
    return defaultCorefile({
      ...corefileOptions,
      stubDomains: { ...corefileOptions.stubDomains, ...stubDomains },
      upstreams: upstreams ?? corefileOptions.upstreams,
    })
  }
  for (const informer of [own, old]) informer.start()
  await Promise.all([own.synced, old.synced])
  await look()
  const again = () => void look().catch((error: unknown) => logger.error('failed to configure DNS', { error: String(error) }))
  for (const informer of [own, old]) informer.addHandler({ onAdd: again, onUpdate: again, onDelete: again })
  return {
    [Symbol.dispose]() {
      for (const informer of [own, old]) informer.stop()
    },
  }
}
