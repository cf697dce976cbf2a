/** A road without sockets: requests are handed to a server in the same process, as values where it takes them. */
import type { Transport } from '#client/transport.ts'

/**
 * What a server in this process offers; `chunks` is for answers that have no whole `body`. To `takesValues` it may give values in
 * place of bytes: what it gives is shared.
 */
export type InProcessServer = (request: {
  method: string
  target: string
  headers: Record<string, string>
  body?: string
  /** In place of `body`. */
  value?: object
  signal?: AbortSignal
  goesLast?: boolean
  takesValues: boolean
}) => Promise<{
  status: number
  headers: Readonly<Record<string, string | string[] | undefined>>
  body: Uint8Array | undefined
  chunks(): AsyncIterable<Uint8Array>
  value?(): object
  values?(): AsyncIterable<readonly object[]>
}>

/** `sharesObjects`: watches tell of the server's own objects, for those who are known to leave them as they are. */
export function inProcessTransport(server: InProcessServer, { sharesObjects = true } = {}): Transport {
  return {
    takesValues: sharesObjects,
    async send(request) {
      const response = await server({ ...request, takesValues: sharesObjects })
      const { value, values } = response
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
        ...(value && { value }),
        ...(values && { values }),
      }
    },
  }
}

const decoder = new TextDecoder()
