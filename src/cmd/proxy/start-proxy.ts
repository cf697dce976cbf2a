import type { Clock } from '#base/clock.ts'
import { defined } from '#base/defined.ts'
import { parseDurationMs, parseDurationSeconds } from '#base/duration.ts'
import type { Files } from '#base/files.ts'
import { listenHttp } from '#base/http-server.ts'
import { type Logger, silentLogger } from '#base/log.ts'
import { thisMachine } from '#base/machine.ts'
import type { Metrics } from '#base/metrics.ts'
import { nodeProcesses, type Processes } from '#base/processes.ts'
import type { Random } from '#base/random.ts'
import { nodeSockets } from '#base/sockets.ts'
import type { Client } from '#client/client.ts'
import type { ProxyMode } from '#proxy/backend.ts'
import { type ChosenBackend, chooseBackend } from '#proxy/choose-backend.ts'
import { applyMachineSettings } from '#proxy/configuration/machine-settings.ts'
import type { ProxyConfiguration } from '#proxy/configuration/proxy-configuration.ts'
import { ruleSettingsOf } from '#proxy/configuration/rule-settings-of.ts'
import type { IpvsOptions } from '#proxy/ipvs/ipvs-state.ts'
import { proxyNames } from '#proxy/proxy-names.ts'
import type { RuleSettings } from '#proxy/rules/rule-settings.ts'
import { type RunningProxy, runProxy } from '#proxy/run-proxy.ts'

export type StartProxyOptions = {
  client: Client
  configuration: ProxyConfiguration
  nodeName: string
  /** Empty for the machine's default cluster. */
  clusterId: string
  metrics: Metrics
  /** Interfaces of pods of other clusters on the machine. */
  others?: RuleSettings['others']
}

export type ProxySeams = { clock: Clock; random: Random; files: Files; logger: Logger; processes?: Processes }

/** A proxy for this machine, in the way that the configuration wants and the machine can do. */
export async function startProxy(options: StartProxyOptions, seams: ProxySeams): Promise<RunningProxy & { readonly mode: ProxyMode }> {
  const { configuration, clusterId, others } = options
  const names = proxyNames(clusterId)
  const { backend, conntrack } = await chosenBackend(configuration, clusterId, seams)
  await applyMachineSettings(configuration, thisMachine().cores, seams)
  const own = configuration[backend.mode === 'userspace' ? 'iptables' : backend.mode]
  const running = runProxy({
    ...{ client: options.client, clock: seams.clock, random: seams.random, logger: seams.logger, metrics: options.metrics },
    ...{ nodeName: options.nodeName, backend, listen: listenHttp },
    ...defined({ conntrack }),
    settingsFor(node, serviceCidrs) {
      const settings = ruleSettingsOf(configuration, backend.mode, { node, serviceCidrs, ownAddresses: thisMachine().addresses() })
      const mark = names.masqueradeBit === undefined ? {} : { masqueradeMark: 2 ** names.masqueradeBit }
      return { ...settings, ...mark, ...defined({ others }) }
    },
    minSyncMs: parseDurationMs(own.minSyncPeriod),
    syncMs: parseDurationMs(own.syncPeriod),
  })
  return { ...running, mode: backend.mode }
}

const kernelModes: readonly ProxyMode[] = ['nftables', 'iptables', 'ipvs']

/** Removes what any mode has left, but the one that is `kept`. */
export async function cleanUpProxy(
  configuration: ProxyConfiguration,
  clusterId: string,
  seams: ProxySeams,
  kept?: ProxyMode,
): Promise<void> {
  for (const mode of kernelModes) {
    if (mode === kept) continue
    // One that cannot be used has left nothing, and nobody needs to hear of it.
    const { backend } = await chosenBackend({ ...configuration, mode }, clusterId, { ...seams, logger: silentLogger })
    if (backend.mode !== mode) continue
    await backend
      .cleanUp()
      .catch((error: unknown) => seams.logger.warn(`failed to clean up rules of proxy mode ${mode}`, { error: String(error) }))
  }
}

function chosenBackend(configuration: ProxyConfiguration, clusterId: string, seams: ProxySeams): Promise<ChosenBackend> {
  const { scheduler, excludeCIDRs: excludeCidrs, strictARP: strictArp, tcpTimeout, tcpFinTimeout, udpTimeout } = configuration.ipvs
  const ipvs: IpvsOptions = {
    ...{ scheduler, excludeCidrs, strictArp },
    timeoutsSeconds: {
      tcp: parseDurationSeconds(tcpTimeout),
      tcpFin: parseDurationSeconds(tcpFinTimeout),
      udp: parseDurationSeconds(udpTimeout),
    },
  }
  return chooseBackend(configuration.mode, proxyNames(clusterId), ipvs, {
    ...{ files: seams.files, clock: seams.clock, logger: seams.logger, sockets: nodeSockets },
    processes: seams.processes ?? nodeProcesses,
    ownAddresses: () => thisMachine().addresses(),
  })
}
