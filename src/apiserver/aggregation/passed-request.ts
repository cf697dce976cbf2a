/** Requests for group versions of other servers: passed on as they are, upgrades and watches too, in the name of who asked. */
import { StatusError } from '#api/meta/status-error.ts'
import { discoveryPath, type RemoteApi } from '#apiserver/aggregation/remote-api.ts'
import { type RemoteConnections, userHeaders } from '#apiserver/aggregation/remote-connections.ts'
import type { RequestContext } from '#apiserver/http/context.ts'
import { forward, untilAnswered } from '#apiserver/node-connections/forward.ts'
import type { Clock } from '#base/clock.ts'
import type { Logger } from '#base/log.ts'
import { trimEndOf } from '#base/trim-end.ts'

export type PassingServices = { connections: RemoteConnections; clock: Clock; logger: Logger }

export function passedOn(context: RequestContext, api: RemoteApi, services: PassingServices): Promise<void> {
  return untilAnswered((onAnswer) => passOn(context, api, services, onAnswer))
}

/** Clients ask every server what it serves before they do anything: one that is slow must not make them all slow. */
const discoveryLimitMs = 5000

async function passOn(
  context: RequestContext,
  api: RemoteApi,
  { connections, clock, logger }: PassingServices,
  onAnswer: () => void,
): Promise<void> {
  const { exchange, info } = context
  if (!api.isAvailable) {
    respondText(context, 'service unavailable')
    return
  }
  const [path = '', query = ''] = splitOnce(exchange.target)
  const isDiscovery = trimEndOf(info.path, '/') === discoveryPath(api)
  const limit = new AbortController()
  using limiting = isDiscovery ? clock.after(discoveryLimitMs, () => limit.abort(new Error('context deadline exceeded'))) : undefined
  try {
    const backend = await connections.backendOf(api).catch((error: Error) => {
      logger.warn('no endpoints available for APIService', { apiService: api.name, error: error.message })
      throw new Error('service unavailable')
    })
    const headers = { ...userHeaders(context.user), host: backend.host }
    await forward(context, {
      backend,
      path,
      query,
      headers,
      refusesRedirects: true,
      signal: limit.signal,
      onAnswer: () => {
        limiting?.cancel()
        onAnswer()
      },
    })
  } catch (error) {
    if (!(error instanceof Error)) throw error
    respondText(context, error instanceof StatusError ? (error.status.message ?? '') : error.message)
  }
}

function splitOnce(target: string): [string, string] {
  const mark = target.indexOf('?')
  return mark < 0 ? [target, ''] : [target.slice(0, mark), target.slice(mark + 1)]
}

function respondText({ exchange }: RequestContext, message: string): void {
  exchange.respond(503, { 'content-type': 'text/plain; charset=utf-8', 'x-content-type-options': 'nosniff' }, `${message}\n`)
}
