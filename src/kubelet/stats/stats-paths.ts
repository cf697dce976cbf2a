/** The figures of a node, as its server shows them. */
import type { Clock } from '#base/clock.ts'
import type { HttpExchange } from '#base/http-server.ts'
import { respondJson } from '#kubelet/server/refusal.ts'
import { cadvisorMetrics, type MachineFacts } from '#kubelet/stats/cadvisor-metrics.ts'
import { CpuRates } from '#kubelet/stats/cpu-rates.ts'
import { resourceMetrics } from '#kubelet/stats/resource-metrics.ts'
import { summaryOf } from '#kubelet/stats/summary.ts'
import type { Detail, NodeUsage, UsageSource } from '#kubelet/stats/usage.ts'

export type StatsPathsOptions = { nodeName: string; source: UsageSource; clock: Clock; machine(): Promise<MachineFacts> }

export type StatsPath = (exchange: HttpExchange, query: URLSearchParams) => Promise<void>

/** Nobody has looked for long: between two looks so much time passes that a rate can be told. */
const secondLookMs = 1000

export function statsPaths({ nodeName, source, clock, machine }: StatsPathsOptions): ReadonlyMap<string, StatsPath> {
  const rates = new CpuRates()
  const withRates = async (detail: Detail): Promise<NodeUsage> => {
    const usage = await source.collect({ detail })
    if (rates.see(usage)) return usage
    await clock.sleep(secondLookMs)
    const second = await source.collect({ detail })
    rates.see(second)
    return second
  }
  return new Map<string, StatsPath>([
    [
      '/stats/summary',
      async (exchange, query) => {
        const onlyCpuAndMemory = query.get('only_cpu_and_memory') === 'true'
        const usage = await withRates(onlyCpuAndMemory ? 'amounts' : 'summary')
        respondJson(exchange, summaryOf(usage, { nodeName, rates, onlyCpuAndMemory }))
      },
    ],
    ['/metrics/resource', async (exchange) => respondMetrics(exchange, resourceMetrics(await source.collect({ detail: 'amounts' })))],
    [
      '/metrics/cadvisor',
      async (exchange) => respondMetrics(exchange, cadvisorMetrics(await source.collect({ detail: 'all' }), await machine())),
    ],
  ])
}

function respondMetrics(exchange: HttpExchange, text: string): void {
  exchange.respond(200, { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' }, text)
}
