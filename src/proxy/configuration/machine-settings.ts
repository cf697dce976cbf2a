import { parseDurationSeconds } from '#base/duration.ts'
import type { Files } from '#base/files.ts'
import type { Logger } from '#base/log.ts'
import type { ProxyConfiguration } from '#proxy/configuration/proxy-configuration.ts'

/** Kernel settings by path below `/proc/sys`; only what is asked for. */
export function kernelSettings({ conntrack }: ProxyConfiguration, cores: number): Map<string, string> {
  const wanted = new Map<string, string>()
  const most = conntrack.maxPerCore > 0 ? Math.max(conntrack.maxPerCore * cores, conntrack.min) : 0
  const put = (name: string, value: number) => {
    if (value > 0) wanted.set(`net/netfilter/${name}`, String(value))
  }
  put('nf_conntrack_max', most)
  put('nf_conntrack_tcp_timeout_established', parseDurationSeconds(conntrack.tcpEstablishedTimeout))
  put('nf_conntrack_tcp_timeout_close_wait', parseDurationSeconds(conntrack.tcpCloseWaitTimeout))
  put('nf_conntrack_tcp_be_liberal', conntrack.tcpBeLiberal ? 1 : 0)
  put('nf_conntrack_udp_timeout', parseDurationSeconds(conntrack.udpTimeout))
  put('nf_conntrack_udp_timeout_stream', parseDurationSeconds(conntrack.udpStreamTimeout))
  return wanted
}

/** Those that must be on for packets between pods to be seen and handed on. */
const needed: Record<string, string> = {
  'net/ipv4/ip_forward': '1',
  'net/bridge/bridge-nf-call-iptables': '1',
  'net/bridge/bridge-nf-call-ip6tables': '1',
}

/** What cannot be set is told of, and left: a machine may have it in other hands. */
export async function applyMachineSettings(
  configuration: ProxyConfiguration,
  cores: number,
  { files, logger }: { files: Files; logger: Logger },
): Promise<void> {
  for (const [name, value] of [...Object.entries(needed), ...kernelSettings(configuration, cores)]) {
    const path = `/proc/sys/${name}`
    try {
      const now = (await files.readTextIfPresent(path))?.trim()
      // A larger table than asked for is as good.
      const isEnough = now === value || (name.endsWith('nf_conntrack_max') && Number(now) >= Number(value))
      if (now === undefined || isEnough) continue
      // These files are written in place.
      await files.append(path, value)
    } catch (error) {
      logger.warn('failed to set sysctl', { setting: name, value, error: String(error) })
    }
  }
  await files
    .append('/proc/self/oom_score_adj', String(configuration.oomScoreAdj))
    .catch((error: unknown) => logger.debug('failed to set oom_score_adj', { error: String(error) }))
}
