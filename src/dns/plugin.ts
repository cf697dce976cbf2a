import type { Clock } from '#base/clock.ts'
import type { Files } from '#base/files.ts'
import type { Logger } from '#base/log.ts'
import type { Random } from '#base/random.ts'
import type { Sockets } from '#base/sockets.ts'
import type { Directive } from '#dns/corefile/parse-corefile.ts'
import type { DnsMetrics } from '#dns/dns-metrics.ts'
import type { DnsHandler, DnsRequest, DnsResponse } from '#dns/handler.ts'
import type { ClusterNames } from '#dns/zone/cluster-names.ts'

export type DnsSeams = { clock: Clock; random: Random; files: Files; sockets: Sockets; logger: Logger }

/** What plugins of one block have to do with. */
export type PluginContext = DnsSeams & {
  metrics: DnsMetrics
  /** All of them, as Prometheus reads them. */
  metricsText(): string
  /** Of the block. */
  zones: readonly string[]
  /** `dns://:53`, as metrics call it. */
  server: string
  /** Absent where the process follows no cluster. */
  cluster: { names: ClusterNames; hasSynced(): boolean; followPods(): void; ownAddresses: readonly string[] } | undefined
  /** Asks the whole server again, from the first plugin on. */
  lookup(name: string, type: number, like?: DnsRequest): Promise<DnsResponse>
}

export type HttpPart = { host: string; port: number; path: string; answer(): { status: number; body: string } }

/** A plugin as one block has it. */
export type PluginPart = {
  handle?(next: DnsHandler): DnsHandler
  /** Once the server listens. */
  start?(): void
  stop?(): void
  /** Waited for before the server goes away: clients may still ask meanwhile. */
  drainMs?: number
  /** Served beside the names. */
  http?: HttpPart[]
  /** Listened on in place of all addresses. */
  bind?: string[]
  /** The largest answer by UDP. */
  payloadBytes?: number
}

export type DnsPlugin = {
  name: string
  /** Several lines are one plugin. */
  mayRepeat?: boolean
  /** Reads its lines in the file. Throws with what is wrong, and the line. */
  setup(directives: readonly [Directive, ...Directive[]], context: PluginContext): PluginPart | Promise<PluginPart>
}

export function wrongOption(plugin: string, { name, line }: Directive): Error {
  return new Error(`line ${line}: ${plugin} has no option ${name} here`)
}

/** One whole number, or the default where nothing is said. */
export function wholeNumberAt({ name, args, line }: Directive, index: number, otherwise?: number): number {
  const text = args[index]
  if (text === undefined && otherwise !== undefined) return otherwise
  if (text === undefined || !/^\d+$/.test(text)) throw new Error(`line ${line}: ${name}: ${text ?? 'nothing'} is not a valid whole number`)
  return Number(text)
}
