/** A small server for this machine's own users, without TLS. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

export type LocalRequest = {
  method: string
  target: string
  headers: Readonly<Record<string, string | string[] | undefined>>
  body: Uint8Array
}

export type LocalAnswer = {
  /** Aborted when the client has gone. */
  readonly signal: AbortSignal
  send(status: number, headers: Record<string, string>, body: string | Uint8Array): void
  stream(status: number, headers: Record<string, string>, body: AsyncIterable<Uint8Array>): Promise<void>
}

export type LocalServer = { address: string; close(): Promise<void> }

export function localHttpServer(
  at: { host: string; port: number; unixSocket?: string },
  handle: (request: LocalRequest, answer: LocalAnswer) => Promise<void> | void,
): Promise<LocalServer> {
  const server = createServer((incoming, outgoing) => {
    const gone = new AbortController()
    outgoing.on('close', () => gone.abort())
    const chunks: Buffer[] = []
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk))
    incoming.on('end', async () => {
      const answer: LocalAnswer = {
        signal: gone.signal,
        send(status, headers, body) {
          outgoing.writeHead(status, headers)
          outgoing.end(body)
        },
        async stream(status, headers, body) {
          outgoing.writeHead(status, headers)
          for await (const piece of body) outgoing.write(piece)
          outgoing.end()
        },
      }
      try {
        await handle(
          { method: incoming.method ?? 'GET', target: incoming.url ?? '/', headers: incoming.headers, body: Buffer.concat(chunks) },
          answer,
        )
      } catch (error) {
        if (gone.signal.aborted) return
        if (!outgoing.headersSent) answer.send(502, { 'content-type': 'text/plain' }, String((error as Error).message))
        else outgoing.destroy()
      }
    })
  })
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    const listening = () => {
      const address = server.address() as AddressInfo | string
      resolve({
        address:
          typeof address === 'string'
            ? address
            : `${address.address.includes(':') ? `[${address.address}]` : address.address}:${address.port}`,
        close: () =>
          new Promise((closed) => {
            server.closeAllConnections()
            server.close(() => closed())
          }),
      })
    }
    if (at.unixSocket === undefined) server.listen(at.port, at.host, listening)
    else server.listen(at.unixSocket, listening)
  })
}
