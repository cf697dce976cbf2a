/** What /proc tells of the whole machine and of networks. */
import type { KernelFiles } from '#base/kernel-files.ts'
import { Amounts } from '#kubelet/stats/amounts.ts'
import type { GroupUsage, InterfaceUsage } from '#kubelet/stats/usage.ts'

/** The whole machine, and when it was started. */
export function machineUsage(files: KernelFiles, timeMs: number): GroupUsage & { startedMs: number } {
  const memory = new Amounts(files.read('/proc/meminfo') ?? '')
  // In the order of the file.
  const [limitBytes, freeBytes, cacheBytes, inactiveFileBytes, swapTotalBytes, swapFreeBytes, rssBytes] = memoryNames.map(
    (name) => (memory.of(name) ?? 0) * 1024,
  ) as [number, number, number, number, number, number, number]
  const stat = files.read('/proc/stat') ?? ''
  const [, user = 0, nice = 0, system = 0, , , irq = 0, softIrq = 0] = stat.split('\n', 1)[0]?.split(/\s+/).map(Number) ?? []
  const counts = new Amounts(files.read('/proc/vmstat') ?? '')
  const usageBytes = limitBytes - freeBytes
  const ticks = 10_000_000
  return {
    timeMs,
    startedMs: (new Amounts(stat).of('btime') ?? 0) * 1000,
    cpu: {
      usageNanos: (user + nice + system + irq + softIrq) * ticks,
      userNanos: (user + nice) * ticks,
      systemNanos: (system + irq + softIrq) * ticks,
    },
    memory: {
      usageBytes,
      workingSetBytes: Math.max(0, usageBytes - inactiveFileBytes),
      ...{ rssBytes, cacheBytes },
      swapBytes: swapTotalBytes - swapFreeBytes,
      pageFaults: counts.of('pgfault') ?? 0,
      majorPageFaults: counts.of('pgmajfault') ?? 0,
      limitBytes,
    },
  }
}

const memoryNames = ['MemTotal', 'MemFree', 'Cached', 'Inactive(file)', 'SwapTotal', 'SwapFree', 'AnonPages']

export function processCounts(files: KernelFiles): { most: number; current: number } | undefined {
  const most = Number(files.read('/proc/sys/kernel/pid_max') ?? Number.NaN)
  const current = Number(/\/(\d+)/.exec(files.read('/proc/loadavg') ?? '')?.[1] ?? Number.NaN)
  return Number.isNaN(most + current) ? undefined : { most, current }
}

/** The interfaces of the network that a process is in: `self`, or its number. Without loopback. Undefined where there is no such process. */
export function interfacesOf(files: KernelFiles, process: string): InterfaceUsage[] | undefined {
  const text = files.read(`/proc/${process}/net/dev`)
  if (text === undefined) return undefined
  const found: InterfaceUsage[] = []
  // Two lines of headings.
  let start = text.indexOf('\n', text.indexOf('\n') + 1) + 1
  for (let end = text.indexOf('\n', start); end >= 0; start = end + 1, end = text.indexOf('\n', start)) {
    const colon = text.indexOf(':', start)
    if (colon < 0 || colon > end) continue
    const name = text.slice(start, colon).trim()
    if (name === 'lo') continue
    const counts = numbersIn(text, colon + 1, end)
    const [rxBytes = 0, rxPackets = 0, rxErrors = 0, rxDropped = 0] = counts
    const [txBytes = 0, txPackets = 0, txErrors = 0, txDropped = 0] = counts.slice(8)
    found.push({ name, rxBytes, rxPackets, rxErrors, rxDropped, txBytes, txPackets, txErrors, txDropped })
  }
  return found
}

function numbersIn(text: string, from: number, to: number): number[] {
  const numbers: number[] = []
  for (let at = from; at < to; at++) {
    let code = text.charCodeAt(at) - zero
    if (code < 0 || code > 9) continue
    let value = 0
    for (; code >= 0 && code <= 9; code = text.charCodeAt(++at) - zero) value = value * 10 + code
    numbers.push(value)
  }
  return numbers
}

const zero = 0x30

/** By which interface other machines are reached. */
export function defaultInterface(files: KernelFiles, process: string): string | undefined {
  const routes = (files.read(`/proc/${process}/net/route`) ?? '').split('\n').slice(1)
  return routes.map((line) => line.split('\t')).find(([, destination]) => destination === '00000000')?.[0]
}
