import { errorMessage } from '#base/error-message.ts'
import type { HttpExchange } from '#base/http-server.ts'
import { Refusal } from '#kubelet/server/refusal.ts'

/**
 * Sends pieces as they come, no faster than the client takes them. The answer begins with the first, be it empty: what goes wrong
 * before that is refused; later it can only break the answer off.
 */
export async function sendPieces(exchange: HttpExchange, pieces: AsyncIterable<Uint8Array>, contentType: string): Promise<void> {
  const iterator = pieces[Symbol.asyncIterator]()
  const first = await iterator.next().catch((error: unknown): never => {
    throw new Refusal(400, errorMessage(error))
  })
  const stream = exchange.stream(200, { 'content-type': contentType })
  let resume: () => void = () => {}
  const wake = () => resume()
  stream.onDrain(wake)
  exchange.onClose(wake)
  try {
    for (let next = first; !next.done && !exchange.isClosed; next = await iterator.next()) {
      if (next.value.length === 0 || stream.write(next.value) || exchange.isClosed) continue
      await new Promise<void>((resolve) => {
        resume = resolve
      })
    }
    stream.end()
  } catch {
    stream.abort()
  } finally {
    await iterator.return?.()
  }
}
