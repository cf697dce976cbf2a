import type { Processes } from '#base/processes.ts'
import type { Flow } from '#proxy/conntrack/stale-flows.ts'
import type { IpFamily } from '#proxy/service-table/service-port.ts'

/** The kernel's memory of conversations in datagrams. */
export type Conntrack = {
  list(family: IpFamily): Promise<Flow[]>
  delete(family: IpFamily, flow: Flow): Promise<void>
}

/** By way of the program `conntrack`. Rejects where there is no such program. */
export function conntrackProgram(processes: Processes): Conntrack {
  const familyFlag = (family: IpFamily): string => (family === 'IPv4' ? 'ipv4' : 'ipv6')
  return {
    async list(family) {
      const { stdout, stderr, exitCode } = await processes.run('conntrack', ['-L', '-p', 'udp', '-f', familyFlag(family)])
      if (exitCode !== 0) throw new Error(stderr.trim())
      return stdout.split('\n').flatMap((line) => parseFlow(line) ?? [])
    },
    async delete(family, flow) {
      // That it is gone already is as good.
      await processes.run('conntrack', [
        ...['-D', '-p', 'udp', '-f', familyFlag(family), '--orig-src', flow.source, '--sport', String(flow.sourcePort)],
        ...['--orig-dst', flow.destination, '--dport', String(flow.destinationPort)],
      ])
    },
  }
}

/** `udp 17 29 src=… dst=… sport=… dport=… [UNREPLIED] src=… dst=… sport=… dport=… mark=0 use=1`. */
function parseFlow(line: string): Flow | undefined {
  const found: Record<string, string[]> = {}
  for (const [, name = '', value = ''] of line.matchAll(/\b(src|dst|sport|dport)=(\S+)/g)) {
    found[name] ??= []
    found[name].push(value)
  }
  const { src = [], dst = [], sport = [], dport = [] } = found
  if (src.length < 2 || dst.length < 2 || sport.length < 2 || dport.length < 2) return undefined
  return {
    ...{ source: src[0] ?? '', sourcePort: Number(sport[0]), destination: dst[0] ?? '', destinationPort: Number(dport[0]) },
    ...{ replySource: src[1] ?? '', replySourcePort: Number(sport[1]) },
  }
}
