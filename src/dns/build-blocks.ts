import type { CorefileBlock, Directive } from '#dns/corefile/parse-corefile.ts'
import { parseZoneAddress } from '#dns/corefile/zone-address.ts'
import type { DnsHandler } from '#dns/handler.ts'
import type { PluginContext, PluginPart } from '#dns/plugin.ts'
import { dnsPlugins } from '#dns/plugins.ts'
import type { ServedBlock } from '#dns/server/answer-packet.ts'
import { RequestMeter } from '#dns/server/request-meter.ts'
import { largestMessage } from '#wire/dns/write-message.ts'

/** A block of the file, put together: it can answer, and has yet to be started. */
export type BuiltBlock = ServedBlock & { port: number; bind: readonly string[] | undefined; parts: readonly PluginPart[] }

type Shared = Omit<PluginContext, 'zones' | 'server' | 'lookup'>

const nobody: DnsHandler = () => {
  throw new Error('no next plugin found')
}

/** Throws where the file asks for what there is not; nothing is left running then. */
export async function buildBlocks(
  blocks: readonly CorefileBlock[],
  shared: Shared,
  lookup: PluginContext['lookup'],
): Promise<BuiltBlock[]> {
  if (blocks.length === 0) throw new Error('the Corefile has no block')
  const built: BuiltBlock[] = []
  try {
    for (const block of blocks) {
      const byPort = Map.groupBy(
        block.zones.map((zone) => parseZoneAddress(zone, block.line)),
        ({ port }) => port,
      )
      for (const [port, zones] of byPort) {
        const names = zones.map(({ zone }) => zone)
        const taken = names.find((zone) => built.some((other) => other.port === port && other.zones.includes(zone)))
        if (taken !== undefined) throw new Error(`line ${block.line}: the zone ${taken} is served at port ${port} already`)
        built.push(await buildBlock(block.directives, port, { ...shared, zones: names, server: `dns://:${port}`, lookup }))
      }
    }
  } catch (error) {
    stopBlocks(built)
    throw error
  }
  return built
}

export function stopBlocks(blocks: readonly BuiltBlock[]): void {
  for (const { parts } of blocks) for (const part of parts) part.stop?.()
}

async function buildBlock(directives: readonly Directive[], port: number, context: PluginContext): Promise<BuiltBlock> {
  const { zones, server, metrics } = context
  for (const { name, line } of directives) {
    if (!dnsPlugins.some((plugin) => plugin.name === name)) {
      throw new Error(`line ${line}: there is no plugin ${name} here; there are ${dnsPlugins.map((plugin) => plugin.name).join(', ')}`)
    }
  }
  const parts: PluginPart[] = []
  for (const plugin of dnsPlugins) {
    const [first, ...more] = directives.filter(({ name }) => name === plugin.name)
    if (first === undefined) continue
    if (more[0] !== undefined && !plugin.mayRepeat) throw new Error(`line ${more[0].line}: ${plugin.name} is there twice in one block`)
    parts.push(await plugin.setup([first, ...more], context))
    for (const zone of zones) metrics.pluginEnabled.set(1, { server, zone, view: '', name: plugin.name })
  }
  const handler = parts.reduceRight<DnsHandler>((next, part) => part.handle?.(next) ?? next, nobody)
  const limits = parts.map(({ payloadBytes }) => payloadBytes ?? largestMessage)
  return {
    ...{ zones, handler, port, parts, meter: new RequestMeter(metrics, server, zones[0] ?? '.') },
    payloadBytes: Math.min(largestMessage, ...limits),
    bind: parts.find(({ bind }) => bind !== undefined)?.bind,
  }
}
