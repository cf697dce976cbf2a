import type { RuleSettings } from '#proxy/rules/rule-settings.ts'
import type { IpFamily } from '#proxy/service-table/service-port.ts'
import type { ServiceTable } from '#proxy/service-table/service-table.ts'

export type ProxyMode = 'nftables' | 'iptables' | 'ipvs' | 'userspace'

/** A way to make connections to services arrive at endpoints. Calls never overlap. */
export type ProxyBackend = {
  readonly mode: ProxyMode
  readonly families: readonly IpFamily[]
  /**
   * Brings about what the table says. `changed`: the services that may lead elsewhere since the last call that succeeded.
   * `isFull`: nothing is known of what is there, which may be another run's; connections that are open must not notice.
   */
  sync(table: ServiceTable, changed: ReadonlySet<string>, isFull: boolean): Promise<void>
  /** Takes effect with the next full sync. */
  setSettings(settings: RuleSettings): void
  /** Whether what was laid is still there, as far as can be told without reading all of it. */
  isIntact(): Promise<boolean>
  /** Ends what cannot live on without this process; rules in the kernel stay. */
  stop(): Promise<void>
  /** Leaves nothing behind. */
  cleanUp(): Promise<void>
}
