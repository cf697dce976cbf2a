import type { Clock } from '#base/clock.ts'
import { inTurns } from '#base/in-turns.ts'
import type { Processes } from '#base/processes.ts'
import type { Steps } from '#base/steps.ts'
import { type Flow, flowsInStep } from '#proxy/conntrack/stale-flows.ts'
import type { IpFamily } from '#proxy/service-table/service-port.ts'

/** The kernel's memory of conversations in datagrams. */
export type Conntrack = {
  list(family: IpFamily): Promise<Flow[]>
  /** All from one address and port to one endpoint, whoever speaks. */
  delete(family: IpFamily, flow: Omit<Flow, 'source' | 'sourcePort'>): Promise<void>
}

/** One that hangs must not stop everything. */
const longestMs = 60_000

/** By way of the program `conntrack`. Rejects where there is no such program. */
export function conntrackProgram(processes: Processes, clock: Pick<Clock, 'soon' | 'heldMs'>): Conntrack {
  const familyFlag = (family: IpFamily): string => (family === 'IPv4' ? 'ipv4' : 'ipv6')
  return {
    async list(family) {
      const { stdout, stderr, exitCode } = await processes.run('conntrack', ['-L', '-p', 'udp', '-f', familyFlag(family)], {
        timeoutMs: longestMs,
      })
      if (exitCode !== 0) throw new Error(stderr.trim())
      return await inTurns(flowsIn(stdout), clock)
    },
    async delete(family, flow) {
      // That it is gone already is as good.
      const to = ['--orig-dst', flow.destination, '--orig-port-dst', String(flow.destinationPort)]
      const from = ['--reply-src', flow.replySource, '--reply-port-src', String(flow.replySourcePort)]
      await processes.run('conntrack', ['-D', '-p', 'udp', '-f', familyFlag(family), ...to, ...from], { timeoutMs: longestMs })
    },
  }
}

/** A kernel may remember hundreds of thousands. */
export function* flowsIn(text: string): Steps<Flow[]> {
  const flows: Flow[] = []
  let [start, count] = [0, 0]
  while (start < text.length) {
    const found = text.indexOf('\n', start)
    const end = found < 0 ? text.length : found
    const flow = parseFlow(text.slice(start, end))
    if (flow !== undefined) flows.push(flow)
    start = end + 1
    if (++count % flowsInStep === 0) yield
  }
  return flows
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
