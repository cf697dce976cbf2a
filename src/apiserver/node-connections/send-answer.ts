import type { HttpExchange, HttpHeaders } from '#base/http-server.ts'

/** Sends an answer piece by piece, no faster than the client takes it. An answer that breaks off does so for the client as well. */
export async function sendPieces(
  exchange: HttpExchange,
  status: number,
  headers: HttpHeaders,
  body: AsyncIterable<Uint8Array>,
): Promise<void> {
  if (exchange.method === 'HEAD' || status === 204 || status === 304) {
    exchange.respond(status, headers)
    for await (const _ of body);
    return
  }
  const stream = exchange.stream(status, headers)
  let resume: (() => void) | undefined
  const wake = () => resume?.()
  stream.onDrain(wake)
  exchange.onClose(wake)
  try {
    for await (const piece of body) {
      if (exchange.isClosed) return
      if (!stream.write(piece) && !exchange.isClosed) {
        await new Promise<void>((resolve) => {
          resume = resolve
        })
      }
    }
    stream.end()
  } catch {
    // The node has cut the answer off; the client sees it cut off too.
    stream.abort()
  }
}
