/** The road over TCP and TLS. */
import { defined } from '#base/defined.ts'
import type { HttpClient } from '#base/http-client.ts'
import { trimEndOf } from '#base/trim-end.ts'
import type { Transport } from '#client/transport.ts'

export type HttpTransportOptions = {
  http: HttpClient
  /** `https://127.0.0.1:6443`, perhaps with a path that all others hang below. */
  server: string
  /** The Authorization header, asked for before each request since tokens change. */
  authorization?(): Promise<string | undefined>
  /** Headers of every request: impersonation. */
  headers?: Readonly<Record<string, string | string[]>>
}

export function httpTransport({ http, server, authorization, headers: always = {} }: HttpTransportOptions): Transport {
  const base = trimEndOf(server, '/')
  return {
    async send({ method, target, headers, body, signal }) {
      const credential = await authorization?.()
      const response = await http.request({
        url: `${base}${target}`,
        method,
        headers: { ...always, ...headers, ...defined({ authorization: credential }) },
        ...defined({ body, signal }),
      })
      return {
        status: response.status,
        header(name) {
          const value = response.headers[name]
          return Array.isArray(value) ? value[0] : value
        },
        // The largest lists of large clusters are some hundred megabytes.
        text: () => response.text(1 << 30),
        chunks: () => response.body,
      }
    },
  }
}
