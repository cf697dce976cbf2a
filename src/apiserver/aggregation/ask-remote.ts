/** Questions of this server's own to the servers behind APIServices. */

import type { RemoteApi } from '#apiserver/aggregation/remote-api.ts'
import { type RemoteConnections, userHeaders } from '#apiserver/aggregation/remote-connections.ts'
import { aggregatorUser } from '#apiserver/aggregation/validate-remote-api.ts'
import type { Clock } from '#base/clock.ts'
import { omitEmpty } from '#base/omit-empty.ts'

export type RemoteAnswer = { status: number; contentType: string; etag: string; text: string }
export type AskRemote = (api: RemoteApi, question: { target: string; accept: string; etag?: string }) => Promise<RemoteAnswer>

const answerLimitMs = 5000
const answerLimitBytes = 8 << 20

/** Rejects where there is no answer, or one that takes too long or is too large. */
export function askingRemotes(connections: RemoteConnections, clock: Clock): AskRemote {
  return async (api, { target, accept, etag }) => {
    const abort = new AbortController()
    using _ = clock.after(answerLimitMs, () => abort.abort(new Error('context deadline exceeded')))
    const backend = await connections.backendOf(api)
    const headers = { ...userHeaders(aggregatorUser), host: backend.host, accept, ...omitEmpty({ 'if-none-match': etag }) }
    const answer = await backend.send({ method: 'GET', target, headers, signal: abort.signal })
    const pieces: Uint8Array[] = []
    let sizeBytes = 0
    for await (const piece of answer.body) {
      sizeBytes += piece.length
      if (sizeBytes > answerLimitBytes) {
        abort.abort()
        throw new Error(`the answer to ${target} is larger than ${answerLimitBytes} bytes`)
      }
      pieces.push(piece)
    }
    return {
      status: answer.status,
      contentType: answer.headers['content-type'] ?? '',
      etag: answer.headers.etag ?? '',
      text: Buffer.concat(pieces).toString('utf8'),
    }
  }
}
