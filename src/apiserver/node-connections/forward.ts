/** Passes a request on to another server, and its answer back: whole conversations where both sides change protocols. */
import { badRequest, StatusError, serviceUnavailable, unknownFailure } from '#api/meta/status-error.ts'
import type { RequestContext } from '#apiserver/http/context.ts'
import { type Backend, clientSignal } from '#apiserver/node-connections/backend.ts'
import { answeredHeaders, isUpgradeRequest, passedHeaders, withoutCrossOrigin } from '#apiserver/node-connections/proxied-headers.ts'
import { type LinkRewriting, rewrittenLink, rewrittenPieces } from '#apiserver/node-connections/rewrite-links.ts'
import { sendPieces } from '#apiserver/node-connections/send-answer.ts'
import { gunzipPieces, gzipPieces } from '#base/compression.ts'
import type { HttpExchange, HttpHeaders } from '#base/http-server.ts'
import { type PassedAnswer, splice } from '#base/upgrade-client.ts'

export type Destination = {
  backend: Backend
  /** Begins with a slash; as it goes into the request, escapes and all. */
  path: string
  /** Without the question mark. */
  query: string
  /** Pages are shown: links to their server shall lead through this one. Absent: everything goes through as it is. */
  prefix?: string
  /** Anything but a change of protocol is refused. */
  mustUpgrade?: boolean
  /** Beside the client's own, in whose place they go where names are the same. */
  headers?: Readonly<Record<string, string | string[]>>
  /** The client shall not be sent elsewhere, where it would show its credentials. */
  refusesRedirects?: boolean
  /** Gives the request up, until there is an answer. */
  signal?: AbortSignal
  /** The answer begins: from here on the request only streams. */
  onAnswer?(): void
}

/** Resolves when the answer has begun: whoever is answered elsewhere takes no seat here any longer. */
export function untilAnswered(send: (onAnswer: () => void) => Promise<void>): Promise<void> {
  return new Promise((resolve, reject) => {
    send(resolve).then(resolve, reject)
  })
}

export async function forward(context: RequestContext, destination: Destination): Promise<void> {
  if (isUpgradeRequest(context.exchange)) await forwardUpgrade(context, destination)
  else if (destination.mustUpgrade) throw badRequest('Upgrade request required')
  else await forwardRequest(context, destination)
}

async function forwardRequest(context: RequestContext, destination: Destination): Promise<void> {
  const { exchange } = context
  const { backend, path, prefix } = destination
  const headers = { ...passedHeaders(exchange), ...destination.headers }
  if (prefix !== undefined) headers['x-forwarded-uri'] = `${prefix}${path}`
  const answer = await backend
    .send({
      method: exchange.method,
      target: targetOf(destination),
      headers,
      ...bodyOf(exchange, headers),
      signal: eitherSignal(clientSignal(context), destination.signal),
    })
    .catch((error: Error) => {
      const why = destination.signal?.aborted ? (destination.signal.reason as Error).message : error.message
      throw serviceUnavailable(`error trying to reach service: ${why}`)
    })
  refuseRedirect(answer, destination)
  const answered = answeredHeaders(answer.rawHeaders, answer.headers.connection)
  if (prefix === undefined) {
    const sending = sendPieces(exchange, answer.status, answered, answer.body)
    destination.onAnswer?.()
    return sending
  }
  withoutCrossOrigin(answered)
  const rewriting: LinkRewriting = { prefix, hosts: [backend.host, String(headers['host'] ?? '')] }
  const location = answered['location']
  if (typeof location === 'string') {
    answered['location'] = rewrittenLink(location, rewriting)
    return sendPieces(exchange, answer.status, answered, answer.body)
  }
  const type = String(answered['content-type'] ?? '')
  if (type.split(';')[0]?.trim() !== 'text/html') return sendPieces(exchange, answer.status, answered, answer.body)
  await sendPage(exchange, answer, answered, rewriting)
}

/** As it comes: a page may be of any length, and so may what a small one is unpacked to. */
function sendPage(exchange: HttpExchange, answer: PassedAnswer, headers: HttpHeaders, rewriting: LinkRewriting): Promise<void> {
  const coding = String(headers['content-encoding'] ?? '')
  // A coding nobody here knows hides the links, and they stay as they are.
  if ((coding !== '' && coding !== 'gzip') || exchange.method === 'HEAD') return sendPieces(exchange, answer.status, headers, answer.body)
  delete headers['content-length']
  const page = rewrittenPieces(coding === 'gzip' ? gunzipPieces(answer.body) : answer.body, rewriting)
  return sendPieces(exchange, answer.status, headers, coding === 'gzip' ? gzipPieces(page) : page)
}

async function forwardUpgrade(context: RequestContext, destination: Destination): Promise<void> {
  const { exchange } = context
  const { backend } = destination
  // Once the connections are joined, each ends with the other; until then the client's end gives the attempt up.
  const attempt = new AbortController()
  exchange.onClose(() => attempt.abort())
  const answer = await backend
    .send({
      method: exchange.method,
      target: targetOf(destination),
      headers: { ...passedHeaders(exchange), ...destination.headers },
      signal: attempt.signal,
    })
    .catch((error: Error) => {
      throw unknownFailure(`error dialing backend: ${error.message}`)
    })
  if (answer.upgraded === undefined) {
    refuseRedirect(answer, destination)
    if (answer.status < 400) throw unknownFailure(`invalid upgrade response: status code ${answer.status}`)
    return sendPieces(exchange, answer.status, answeredHeaders(answer.rawHeaders, answer.headers.connection), answer.body)
  }
  if (exchange.takeOver === undefined) {
    answer.upgraded.socket.destroy()
    throw new StatusError(unknownFailure('request connection cannot be hijacked').status)
  }
  const client = exchange.takeOver()
  client.socket.write(switchingProtocols(answer.rawHeaders))
  splice(client, answer.upgraded)
}

function refuseRedirect({ status, headers }: PassedAnswer, { refusesRedirects }: Destination): void {
  if (!refusesRedirects || status < 300 || status > 399 || headers.location === undefined) return
  throw serviceUnavailable('the backend attempted to redirect this request, which is not permitted')
}

const eitherSignal = (one: AbortSignal, other: AbortSignal | undefined): AbortSignal =>
  other === undefined ? one : AbortSignal.any([one, other])

function switchingProtocols(rawHeaders: readonly string[]): string {
  let text = 'HTTP/1.1 101 Switching Protocols\r\n'
  for (let index = 0; index < rawHeaders.length; index += 2) text += `${rawHeaders[index]}: ${rawHeaders[index + 1]}\r\n`
  return `${text}\r\n`
}

const targetOf = ({ path, query }: Destination): string => (query === '' ? path : `${path}?${query}`)

/** HTTP/2 does not say beforehand whether a body comes: methods that usually have one are believed to. */
function bodyOf(exchange: HttpExchange, headers: Record<string, string | string[]>): { body?: AsyncIterable<Uint8Array> } {
  const { 'content-length': length, 'transfer-encoding': coding } = exchange.headers
  if (length === '0') return {}
  const mayHave = exchange.httpVersion === '2' && ['POST', 'PUT', 'PATCH'].includes(exchange.method)
  if (length === undefined && coding === undefined && !mayHave) return {}
  if (length === undefined) headers['transfer-encoding'] = 'chunked'
  return { body: exchange.bodyPieces() }
}
