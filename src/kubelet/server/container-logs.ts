/** `/containerLogs/NAMESPACE/POD/CONTAINER`: what a container wrote. */
import type { V1Pod } from '#api/core/v1/types.gen.ts'
import type { HttpExchange } from '#base/http-server.ts'
import { containerOfLog, NoLog } from '#kubelet/logs/container-of-log.ts'
import { logFilePieces } from '#kubelet/logs/log-file.ts'
import { logLinePieces } from '#kubelet/logs/log-lines.ts'
import { BadLogOptions, type LogOptions, logOptions } from '#kubelet/logs/log-options.ts'
import { logSubject } from '#kubelet/logs/log-subject.ts'
import type { ObservedContainer } from '#kubelet/runtimes/runtime.ts'
import type { ServerParts } from '#kubelet/server/kubelet-server.ts'
import { Refusal } from '#kubelet/server/refusal.ts'
import { sendPieces } from '#kubelet/server/send-pieces.ts'

export type ContainerLogRequest = { namespace: string; name: string; container: string; query: URLSearchParams }

export async function containerLogs(exchange: HttpExchange, request: ContainerLogRequest, parts: ServerParts): Promise<void> {
  const { namespace, name, container, query } = request
  const { clock, findPod, runtime } = parts
  const options = optionsOf(query, clock.now())
  const pod = findPod(namespace, name)
  if (pod === undefined) throw new Refusal(404, `pod "${name}" does not exist`)
  if (!containerNames(pod).includes(container)) throw new Refusal(404, `container "${container}" not found in pod "${name}"`)
  const { uid = '' } = pod.metadata
  const { containers } = await runtime.observe(uid)
  const observed = found(() => containerOfLog(pod, containers, container, options.previous))
  const reading = new AbortController()
  exchange.onClose(() => reading.abort())
  await sendPieces(exchange, piecesOf(observed, uid, options, parts, reading.signal), 'text/plain; charset=utf-8')
}

function piecesOf(
  { id, logFile }: ObservedContainer,
  podUid: string,
  options: LogOptions,
  { runtime, files, clock }: ServerParts,
  signal: AbortSignal,
): AsyncIterable<Uint8Array> {
  const subject = logSubject(runtime, podUid, id, clock, signal)
  if (logFile !== undefined) return logFilePieces(files, logFile, options, subject)
  return logLinePieces(() => runtime.logLines?.(id) ?? [], options, subject, clock)
}

function optionsOf(query: URLSearchParams, nowMs: number): LogOptions {
  try {
    return logOptions(query, nowMs)
  } catch (error) {
    if (error instanceof BadLogOptions) throw new Refusal(error.code, error.message)
    throw error
  }
}

function found(find: () => ObservedContainer): ObservedContainer {
  try {
    return find()
  } catch (error) {
    if (error instanceof NoLog) throw new Refusal(400, error.message)
    throw error
  }
}

function containerNames({ spec }: V1Pod): string[] {
  return [...spec.containers, ...(spec.initContainers ?? []), ...(spec.ephemeralContainers ?? [])].map(({ name }) => name)
}
