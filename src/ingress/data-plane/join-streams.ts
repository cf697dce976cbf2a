import type { ByteStream } from '#base/byte-streams.ts'
import type { AnswerHead } from '#ingress/data-plane/exchange.ts'
import { linesOf } from '#ingress/data-plane/http1-answer.ts'

/** Nothing was said for so long: nobody is there. */
const silenceMs = 3_600_000

/** The two talk to each other in a protocol of their own, until one of them ends. */
export function joinStreams(
  client: ByteStream,
  backend: ByteStream,
  { head, fromBackend, fromClient }: { head: AnswerHead; fromBackend: Buffer; fromClient: Buffer },
): void {
  client.write(`HTTP/1.1 ${head.status} ${head.reason || 'Switching Protocols'}\r\n${linesOf(head.headers)}\r\n`, 'latin1')
  if (fromBackend.length > 0) client.write(fromBackend)
  if (fromClient.length > 0) backend.write(fromClient)
  const cut = () => {
    client.destroy()
    backend.destroy()
  }
  for (const stream of [client, backend]) {
    stream.on('close', cut)
    stream.on('error', cut)
    stream.setTimeout(silenceMs, cut)
  }
  client.pipe(backend)
  backend.pipe(client)
}
