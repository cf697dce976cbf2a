import { inProcess } from '#apiserver/http/in-process-exchange.ts'
import { TrustedConnection } from '#apiserver/http/trusted-connection.ts'
import type { RunningApiServer } from '#apiserver/run-api-server.ts'
import { Client } from '#client/client.ts'
import { inProcessTransport } from '#client/in-process-transport.ts'

/** A client that the server believes to be this user, without a credential and without a socket. */
export function clientInProcess(
  { server }: RunningApiServer,
  name: string,
  groups: readonly string[],
  options: { sharesObjects?: boolean } = {},
): Client {
  const connection = new TrustedConnection({ name, groups, extra: {} })
  const transport = inProcessTransport(inProcess(server.handler.handle, connection), options)
  return new Client({ transport, userAgent: 'typernetes' })
}
