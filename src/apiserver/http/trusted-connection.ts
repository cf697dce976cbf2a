import type { AuthResult, UserInfo } from '#apiserver/authn/authenticator.ts'
import type { HttpConnection } from '#base/http-server.ts'

/**
 * A connection that is no socket: whoever holds it runs in the server's own process, as the given user.
 * Nothing that arrives from outside can be one, since only this constructor makes them.
 */
export class TrustedConnection implements HttpConnection {
  readonly remoteAddress: string
  readonly localAddress = '127.0.0.1'
  readonly clientCertificate = undefined
  memo: unknown = undefined
  readonly authenticated: AuthResult

  constructor(user: UserInfo, remoteAddress = '127.0.0.1') {
    this.remoteAddress = remoteAddress
    const groups = user.groups.includes('system:authenticated') ? user.groups : [...user.groups, 'system:authenticated']
    this.authenticated = { user: { ...user, groups } }
  }
}
