import type { Clock } from '#base/clock.ts'
import type { Files } from '#base/files.ts'
import type { Logger } from '#base/log.ts'
import type { Processes } from '#base/processes.ts'
import type { Sockets } from '#base/sockets.ts'
import type { ProxyBackend, ProxyMode } from '#proxy/backend.ts'
import { type Conntrack, conntrackProgram } from '#proxy/conntrack/conntrack-program.ts'
import { IptablesBackend } from '#proxy/iptables/iptables-backend.ts'
import { IpvsBackend } from '#proxy/ipvs/ipvs-backend.ts'
import type { IpvsOptions } from '#proxy/ipvs/ipvs-state.ts'
import { NftablesBackend } from '#proxy/nftables/nftables-backend.ts'
import type { ProxyNames } from '#proxy/proxy-names.ts'
import { defaultRuleSettings } from '#proxy/rules/rule-settings.ts'
import { type IpFamily, ipFamilies } from '#proxy/service-table/service-port.ts'
import { UserspaceBackend } from '#proxy/userspace/userspace-backend.ts'
import { nftProgram } from '#wire/nftables/nft-program.ts'

export type BackendSeams = {
  processes: Processes
  sockets: Sockets
  files: Files
  clock: Clock
  logger: Logger
  ownAddresses(): readonly string[]
}

export type ChosenBackend = { backend: ProxyBackend; conntrack: Conntrack | undefined }

/** In which order ways are tried when the one that is wanted cannot be. */
const fallbacks: Record<ProxyMode, readonly ProxyMode[]> = {
  nftables: ['iptables', 'userspace'],
  iptables: ['nftables', 'userspace'],
  ipvs: ['nftables', 'iptables', 'userspace'],
  userspace: [],
}

/** The way that is wanted, or the next that the machine can do; which, and why, is logged. */
export async function chooseBackend(
  wanted: ProxyMode | '',
  names: ProxyNames,
  ipvs: IpvsOptions,
  seams: BackendSeams,
): Promise<ChosenBackend> {
  const first = wanted === '' ? 'nftables' : wanted
  for (const mode of [first, ...fallbacks[first]]) {
    const why = await whyNot(mode, seams)
    if (why === undefined) return made(mode, names, ipvs, seams, await familiesHere(seams.files))
    const next = fallbacks[first][fallbacks[first].indexOf(mode) + 1]
    seams.logger.warn(`proxy mode ${mode} is not available: ${why}${next === undefined ? '' : `; trying ${next}`}`)
  }
  throw new Error(`the proxy mode ${first} cannot be used on this machine, nor any in its place`)
}

/** A kernel without IPv6 takes no rules for it. */
async function familiesHere(files: Files): Promise<readonly IpFamily[]> {
  return (await files.stat('/proc/net/if_inet6')) === undefined ? ['IPv4'] : ipFamilies
}

/** Undefined where it works. */
async function whyNot(mode: ProxyMode, { processes, files }: BackendSeams): Promise<string | undefined> {
  const fails = async (program: string, ...args: string[]): Promise<string | undefined> => {
    try {
      const { exitCode, stderr } = await processes.run(program, args)
      return exitCode === 0 ? undefined : `${program}: ${stderr.trim().split('\n')[0]}`
    } catch {
      return `the program ${program} is not installed`
    }
  }
  switch (mode) {
    case 'nftables':
      return await fails('nft', 'list', 'tables')
    case 'iptables':
      return await fails('iptables', '-w', '5', '-t', 'nat', '-S')
    case 'ipvs': {
      if ((await files.stat('/proc/net/ip_vs')) === undefined) return 'this kernel has no ip_vs (is the module loaded?)'
      return (await fails('ipvsadm', '-Ln')) ?? (await fails('ipset', 'list', '-n'))
    }
    case 'userspace':
      return undefined
  }
}

function made(mode: ProxyMode, names: ProxyNames, ipvs: IpvsOptions, seams: BackendSeams, families: readonly IpFamily[]): ChosenBackend {
  const { processes, clock, logger } = seams
  const settings = defaultRuleSettings
  const conntrack = conntrackProgram(processes, clock)
  switch (mode) {
    case 'nftables':
      return {
        backend: new NftablesBackend({ nft: nftProgram(processes), settings, tableName: names.nftTable, clock, logger, families }),
        conntrack,
      }
    case 'iptables':
      return { backend: new IptablesBackend({ processes, settings, prefix: names.prefix, families }), conntrack }
    case 'ipvs':
      return { backend: new IpvsBackend({ processes, settings, names, families, ...ipvs }), conntrack }
    case 'userspace':
      return { backend: new UserspaceBackend({ ...seams, settings, families }), conntrack: undefined }
  }
}
