/** A road without sockets: requests are handed to a server in the same process. */
import type { Transport } from '#client/transport.ts'

/** What a server in this process offers; `chunks` is for answers that have no whole `body`. */
export type InProcessServer = (request: {
  method: string
  target: string
  headers: Record<string, string>
  body?: string
  signal?: AbortSignal
}) => Promise<{
  status: number
  headers: Readonly<Record<string, string | string[] | undefined>>
  body: Uint8Array | undefined
  chunks(): AsyncIterable<Uint8Array>
}>

export function inProcessTransport(server: InProcessServer): Transport {
  return {
    async send(request) {
      const response = await server(request)
      return {
        status: response.status,
        header(name) {
          const value = response.headers[name]
          return Array.isArray(value) ? value[0] : value
        },
        async text() {
          if (response.body !== undefined) return decoder.decode(response.body)
          const chunks: Uint8Array[] = []
          for await (const chunk of response.chunks()) chunks.push(chunk)
          return decoder.decode(Buffer.concat(chunks))
        },
        chunks: () => response.chunks(),
      }
    },
  }
}

const decoder = new TextDecoder()
