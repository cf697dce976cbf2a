/** Who answers: plain data, sent to threads. */
export type Endpoint = { readonly host: string; readonly port: number }

/** `h2c` is HTTP/2 without TLS, `h2` with it. */
export type BackendProtocol = 'http' | 'https' | 'h2c' | 'h2'

export type Backend = {
  readonly protocol: BackendProtocol
  readonly endpoints: readonly Endpoint[]
}
