/** The road to an API server, whether it is in this process or far away. */
export type TransportRequest = {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** Path and query. */
  target: string
  headers: Record<string, string>
  body?: string
  /** In place of `body`, to transports that take values: what its JSON would say. */
  value?: object
  signal?: AbortSignal
  /** A server in this process serves others first: nobody waits for the answer. */
  goesLast?: boolean
}

/** One of `text`, `chunks`, `value` and `values` may be called, once. */
export type TransportResponse = {
  readonly status: number
  header(name: string): string | undefined
  text(): Promise<string>
  /** Pieces as they arrive; ends when the server ends the answer, throws when the connection breaks or the signal aborts. */
  chunks(): AsyncIterable<Uint8Array>
  /** In place of `text`, where the server is in this process: what its JSON would say, shared with others, not to be changed. */
  value?(): unknown
  /** In place of `chunks`, likewise: what its lines of JSON would say. */
  values?(): AsyncIterable<readonly unknown[]>
}

export type Transport = {
  /** The server is in this process: it need not be sent text. */
  readonly takesValues?: boolean
  /** Rejects when no answer could be had; any status is an answer. */
  send(request: TransportRequest): Promise<TransportResponse>
}
