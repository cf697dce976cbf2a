/** The road to an API server, whether it is in this process or far away. */
export type TransportRequest = {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** Path and query. */
  target: string
  headers: Record<string, string>
  body?: string
  signal?: AbortSignal
}

/** One of `text` and `chunks` may be called, once. */
export type TransportResponse = {
  readonly status: number
  header(name: string): string | undefined
  text(): Promise<string>
  /** Pieces as they arrive; ends when the server ends the answer, throws when the connection breaks or the signal aborts. */
  chunks(): AsyncIterable<Uint8Array>
}

export type Transport = {
  /** Rejects when no answer could be had; any status is an answer. */
  send(request: TransportRequest): Promise<TransportResponse>
}
