/** Holds a container to a rate: token buckets on its link, and on a device behind it for what it sends. */
import { createHash } from 'node:crypto'
import { asLines } from '#base/as-lines.ts'
import { CniError, type CniPlugin, type CniRequest, type CniResult } from '#network/cni/contract.ts'
import { containerIp, hostIp } from '#network/cni/veth.ts'
import type { Link } from '#network/kernel/ip-tool.ts'

type Rates = { ingressRate: number; ingressBurst: number; egressRate: number; egressBurst: number }

const latencyMs = 25
const defaultBurstBits = 0x7fff_ffff

export const bandwidth: CniPlugin = {
  async add(request) {
    const result = request.prevResult
    if (result === undefined) throw new CniError(7, 'must be called as chained plugin')
    const rates = ratesIn(request)
    if (rates === undefined) return result
    const link = await hostLink(request)
    const commands: string[] = []
    if (rates.ingressRate > 0) commands.push(...bucket(link.ifname, rates.ingressRate, rates.ingressBurst))
    if (rates.egressRate === 0) {
      await tc(request, commands)
      return result
    }
    const device = deviceOf(request)
    await hostIp(request).try([`link delete ${device}`])
    await hostIp(request).change([`link add ${device} mtu ${link.mtu} type ifb`, `link set ${device} up`])
    await tc(request, [
      ...commands,
      `qdisc add dev ${link.ifname} ingress`,
      `filter add dev ${link.ifname} parent ffff: protocol all u32 match u32 0 0 action mirred egress redirect dev ${device}`,
      ...bucket(device, rates.egressRate, rates.egressBurst),
    ])
    return withDevice(result, device)
  },
  async remove(request) {
    await hostIp(request).try([`link delete ${deviceOf(request)}`])
  },
  async check(request) {
    const rates = ratesIn(request)
    if (rates === undefined) return
    const link = await hostLink(request)
    const { stdout } = await request.seams.processes.run('tc', ['qdisc', 'show', 'dev', link.ifname])
    if (rates.ingressRate > 0 && !stdout.includes('tbf')) throw new CniError(100, `the rate of interface ${link.ifname} is not limited`)
    if (rates.egressRate > 0 && (await hostIp(request).show('link', 'show', 'dev', deviceOf(request))).length === 0) {
      throw new CniError(100, `the device ${deviceOf(request)} is gone`)
    }
  },
}

/** In the form of `tc -batch`. */
export function bucket(device: string, rateBits: number, burstBits: number): string[] {
  const burstBytes = Math.floor((burstBits || defaultBurstBits) / 8)
  // As long as the burst and what may wait together: what comes beyond is dropped.
  const limitBytes = Math.floor((rateBits / 8) * (latencyMs / 1000)) + burstBytes
  return [`qdisc replace dev ${device} root tbf rate ${rateBits}bit burst ${burstBytes}b limit ${limitBytes}b`]
}

function ratesIn({ conf }: CniRequest): Rates | undefined {
  const given = conf.runtimeConfig?.bandwidth ?? (conf as Record<string, unknown>)
  const value = (name: keyof Rates) => Number(given[name] ?? 0)
  const rates = {
    ingressRate: value('ingressRate'),
    ingressBurst: value('ingressBurst'),
    egressRate: value('egressRate'),
    egressBurst: value('egressBurst'),
  }
  for (const [name, rate] of Object.entries(rates)) if (!(rate >= 0)) throw new CniError(7, `${name} ${rate} is no rate in bits`)
  return rates.ingressRate > 0 || rates.egressRate > 0 ? rates : undefined
}

/** The node's end of the container's link. */
async function hostLink(request: CniRequest): Promise<Link> {
  const [inside] = await containerIp(request).show<Link>('link', 'show', 'dev', request.ifName)
  const links = await hostIp(request).show<Link>('link', 'show')
  const names = new Set((request.prevResult?.interfaces ?? []).filter(({ sandbox }) => !sandbox).map(({ name }) => name))
  const link = links.find(({ ifindex, ifname }) => ifindex === inside?.link_index && names.has(ifname))
  if (link === undefined) throw new CniError(100, `the node's end of ${request.ifName} was not found`)
  return link
}

const deviceOf = ({ containerId, ifName, conf }: CniRequest): string =>
  `bwp${createHash('sha256').update(`${conf.name} ${containerId} ${ifName}`).digest('hex').slice(0, 12)}`

function withDevice(result: CniResult, name: string): CniResult {
  return { ...result, interfaces: [...result.interfaces, { name }] }
}

async function tc({ seams }: CniRequest, commands: readonly string[]): Promise<void> {
  const { exitCode, stderr } = await seams.processes.run('tc', ['-batch', '-'], { input: asLines(commands) })
  if (exitCode !== 0) throw new CniError(100, `tc: ${stderr.trim().split('\n')[0]}`)
}
