/** The socket on which the first API server answers what its workers cannot. */
import { standardRequestHeaders, userReader } from '#apiserver/authn/request-header.ts'
import { TrustedConnection } from '#apiserver/http/trusted-connection.ts'
import { TrustedExchange } from '#apiserver/http/trusted-exchange.ts'
import { overWebSocket } from '#apiserver/http/websocket-exchange.ts'
import { type HttpExchange, type HttpListener, listenHttp } from '#base/http-server.ts'

/** Only this user's processes reach the socket: the directory it lies in must be closed to others. */
export function listenForWorkers(socketPath: string, handle: (exchange: HttpExchange) => void): Promise<HttpListener> {
  const readUser = userReader(standardRequestHeaders)
  return listenHttp({
    ...{ host: '', port: 0, socketPath },
    onExchange(exchange) {
      const user = readUser({ headers: exchange.headers as Record<string, string | undefined>, rawHeaders: exchange.rawHeaders })
      if (user === undefined) {
        exchange.respond(401, { 'content-type': 'text/plain' }, 'Unauthorized\n')
        return
      }
      const [client = ''] = String(exchange.headers['x-forwarded-for'] ?? '')
        .split(', ')
        .slice(-1)
      handle(overWebSocket(new TrustedExchange(exchange, new TrustedConnection(user, client))))
    },
  })
}
