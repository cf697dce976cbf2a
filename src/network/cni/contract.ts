/** What runtimes and plugins say to each other: CNI's specification, versions 0.3 to 1.1. */

import { defined } from '#base/defined.ts'
import type { Files } from '#base/files.ts'
import { omitEmpty } from '#base/omit-empty.ts'
import type { Processes } from '#base/processes.ts'

export const supportedVersions = ['0.3.0', '0.3.1', '0.4.0', '1.0.0', '1.1.0'] as const
export const newestVersion = '1.1.0'

export type CniInterface = { name: string; mac?: string; mtu?: number; sandbox?: string }
export type CniIp = { address: string; gateway?: string; interface?: number }
export type CniRoute = { dst: string; gw?: string; mtu?: number }
export type CniDns = { nameservers?: string[]; domain?: string; search?: string[]; options?: string[] }
/** In the newest version's shape. */
export type CniResult = { interfaces: CniInterface[]; ips: CniIp[]; routes: CniRoute[]; dns: CniDns }

export type PortMapping = { hostPort: number; containerPort: number; protocol?: string; hostIP?: string }
export type Attachment = { containerID: string; ifname: string }

export type PluginConf = {
  cniVersion: string
  name: string
  type: string
  ipam?: { type?: string; [key: string]: unknown }
  prevResult?: unknown
  runtimeConfig?: { portMappings?: PortMapping[]; bandwidth?: Record<string, number>; ips?: string[] }
  args?: { cni?: { ips?: string[] } }
  'cni.dev/valid-attachments'?: Attachment[]
  [key: string]: unknown
}

export type CniRequest = {
  command: string
  containerId: string
  /** The path of the container's network namespace; empty where it is gone. */
  netns: string
  ifName: string
  /** `CNI_ARGS`: `K=V;K2=V2`. */
  args: ReadonlyMap<string, string>
  /** Where plugins lie. */
  path: readonly string[]
  conf: PluginConf
  prevResult: CniResult | undefined
  /** As the runtime gave it, for plugins that are called in turn. */
  environment: Record<string, string>
  seams: CniSeams
}

export type CniSeams = { files: Files; processes: Processes }

export type CniPlugin = {
  add(request: CniRequest): Promise<CniResult>
  /** Does nothing where there is nothing left to do. */
  remove(request: CniRequest): Promise<void>
  /** Throws what is not as it was left. */
  check?(request: CniRequest): Promise<void>
  /** Removes what belongs to none of the attachments that are valid. */
  collect?(request: CniRequest, valid: readonly Attachment[]): Promise<void>
  /** Throws why nothing could be added now. */
  status?(request: CniRequest): Promise<void>
}

export type ErrorCode = 1 | 2 | 3 | 4 | 5 | 6 | 7 | 11 | 50 | 51 | 100

export class CniError extends Error {
  readonly code: ErrorCode
  constructor(code: ErrorCode, message: string) {
    super(message)
    this.code = code
  }
}

export const emptyResult: CniResult = { interfaces: [], ips: [], routes: [], dns: {} }

/** Takes any supported version's result. */
export function readResult(value: unknown): CniResult {
  const { interfaces, ips, routes, dns } = (value ?? {}) as Partial<CniResult>
  return {
    interfaces: interfaces ?? [],
    ips: (ips ?? []).map(({ address, gateway, interface: index }) => ({
      address,
      ...defined({ gateway, interface: index }),
    })),
    routes: routes ?? [],
    dns: dns ?? {},
  }
}

export function writeResult({ interfaces, ips, routes, dns }: CniResult, cniVersion: string): object {
  const isOld = cniVersion.startsWith('0.')
  const hasMtu = cniVersion === newestVersion
  return {
    cniVersion,
    ...omitEmpty({ interfaces: interfaces.map(({ mtu, ...rest }) => (hasMtu && mtu ? { ...rest, mtu } : rest)) }),
    ips: ips.map((ip) => (isOld ? { version: ip.address.includes(':') ? '6' : '4', ...ip } : ip)),
    ...omitEmpty({ routes }),
    dns,
  }
}
