/** One probe, asked once. */

import type { V1Container, V1Probe } from '#api/core/v1/types.gen.ts'
import { type DialedAnswer, type Dialer, DialTimeout } from '#base/dialer.ts'
import { errorMessage } from '#base/error-message.ts'
import { hasCode } from '#base/files.ts'
import { expandVariables, TextLimit } from '#kubelet/environment/expand-variables.ts'
import { containerPort, httpGetOf } from '#kubelet/hooks/http-get.ts'
import type { HealthCheck } from '#kubelet/probes/grpc-health.ts'
import { ExecTimeout, type Runtime } from '#kubelet/runtimes/runtime.ts'

export type ProbeRunResult = { result: 'success' | 'warning' | 'failure'; output: string }

export type ProbeMeans = { runtime: Pick<Runtime, 'exec'>; dialer: Dialer; checkHealth: HealthCheck }

const outputLimit = 10 * 1024
const longestChain = 10

/** Rejects when the question could not even be asked: that says nothing of the container. */
export async function runProbe(
  probe: V1Probe,
  { container, containerId, ip }: { container: V1Container; containerId: string; ip: string },
  { runtime, dialer, checkHealth }: ProbeMeans,
): Promise<ProbeRunResult> {
  const timeoutMs = (probe.timeoutSeconds || 1) * 1000
  if (probe.exec) return execProbe(runtime, containerId, expanded(probe.exec.command ?? [], container), timeoutMs)
  if (probe.httpGet) {
    const { url, headers } = httpGetOf(probe.httpGet, container, ip, 'probe')
    return httpProbe(dialer, url, headers, timeoutMs)
  }
  if (probe.tcpSocket) {
    const port = containerPort(probe.tcpSocket.port, container)
    const host = probe.tcpSocket.host || ip
    return dialer.connect({ host, port, timeoutMs }).then(
      () => ({ result: 'success', output: '' }),
      (error: unknown) => failure(dialText(error, host, port)),
    )
  }
  if (probe.grpc) {
    const problem = await checkHealth({ host: ip, port: probe.grpc.port, service: probe.grpc.service ?? '', timeoutMs })
    return problem === undefined ? { result: 'success', output: 'service healthy' } : failure(problem)
  }
  throw new Error(`missing probe handler for ${container.name}`)
}

const failure = (output: string): ProbeRunResult => ({ result: 'failure', output })

async function execProbe(
  runtime: Pick<Runtime, 'exec'>,
  containerId: string,
  command: readonly string[],
  timeoutMs: number,
): Promise<ProbeRunResult> {
  try {
    const { exitCode, stdout, stderr } = await runtime.exec(containerId, command, timeoutMs)
    const output = (stdout + stderr).slice(0, outputLimit)
    return { result: exitCode === 0 ? 'success' : 'failure', output }
  } catch (error) {
    if (!(error instanceof ExecTimeout)) throw error
    return failure(`command timed out: "${command.join(' ')}" timed out after ${timeoutMs / 1000}s`)
  }
}

/** Only redirects to the same host are followed; one that leads elsewhere is as good as an answer. */
async function httpProbe(
  dialer: Dialer,
  first: string,
  headers: Readonly<Record<string, string | string[]>>,
  timeoutMs: number,
): Promise<ProbeRunResult> {
  let url = first
  let answer: DialedAnswer
  for (let hops = 0; ; hops++) {
    if (hops === longestChain) return failure(`Get "${url}": stopped after 10 redirects`)
    try {
      answer = await dialer.get({ url, headers, timeoutMs, bodyLimitBytes: outputLimit })
    } catch (error) {
      const { hostname, port, protocol } = new URL(url)
      const text =
        error instanceof DialTimeout ? timeoutText : dialText(error, hostname, Number(port || (protocol === 'https:' ? 443 : 80)))
      return failure(`Get "${url}": ${text}`)
    }
    const isRedirect = [301, 302, 303, 307, 308].includes(answer.status) && answer.location !== undefined
    const next = isRedirect ? URL.parse(answer.location ?? '', url) : null
    if (next === null || next.hostname !== new URL(first).hostname) break
    url = next.href
  }
  const { status, body } = answer
  if (status >= 200 && status < 300) return { result: 'success', output: body }
  if (status >= 300 && status < 400) return { result: 'warning', output: `Probe terminated redirects, Response body: ${body}` }
  // The body stays out of it: events are read by more people than the server's answers.
  return failure(`HTTP probe failed with statuscode: ${status}`)
}

const timeoutText = 'context deadline exceeded (Client.Timeout exceeded while awaiting headers)'

const systemTexts: Record<string, string> = {
  ECONNREFUSED: 'connect: connection refused',
  EHOSTUNREACH: 'connect: no route to host',
  ENETUNREACH: 'connect: network is unreachable',
  ETIMEDOUT: 'connect: connection timed out',
}

function dialText(error: unknown, host: string, port: number): string {
  const target = `${host.includes(':') && !host.startsWith('[') ? `[${host}]` : host}:${port}`
  if (error instanceof DialTimeout) return `dial tcp ${target}: i/o timeout`
  for (const [code, text] of Object.entries(systemTexts)) if (hasCode(error, code)) return `dial tcp ${target}: ${text}`
  if (hasCode(error, 'ECONNRESET'))
    return error instanceof Error && error.message.includes('hang up') ? 'EOF' : 'read: connection reset by peer'
  return errorMessage(error)
}

/** `$(NAME)` for variables whose values the pod spells out; `$$` is a dollar. */
function expanded(command: readonly string[], { env = [] }: V1Container): string[] {
  const values = new Map(env.flatMap(({ name, value }) => (value === undefined ? [] : [[name, value] as const])))
  const lookUp = new TextLimit().counting((name) => values.get(name))
  return command.map((word) => expandVariables(word, lookUp))
}
