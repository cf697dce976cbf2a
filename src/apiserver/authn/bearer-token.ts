import {
  type Authenticator,
  type AuthOutcome,
  type Credentials,
  type TokenAuthenticator,
  Unauthenticated,
} from '#apiserver/authn/authenticator.ts'
import { headerValue, headerValues } from '#apiserver/authn/header-values.ts'

/** Takes the token of `Authorization: Bearer`. A token that no authenticator knows is a bad credential. */
export function bearerTokenAuthenticator(tokens: TokenAuthenticator, serverAudiences: readonly string[]): Authenticator {
  return {
    authenticate(credentials) {
      const token = bearerToken(credentials)
      if (token === undefined) return undefined
      return required(tokens.authenticateToken(token, credentials.audiences ?? serverAudiences))
    },
  }
}

const protocolPrefix = 'base64url.bearer.authorization.k8s.io.'

/** Browsers cannot set headers on a WebSocket: they carry the token as one of the sub-protocols they ask for. */
export function webSocketTokenAuthenticator(tokens: TokenAuthenticator, serverAudiences: readonly string[]): Authenticator {
  return {
    authenticate(credentials) {
      if (headerValue(credentials, 'upgrade').toLowerCase() !== 'websocket') return undefined
      const protocols = webSocketProtocols(credentials)
      const offered = protocols.filter((protocol) => protocol.startsWith(protocolPrefix))
      if (offered.length > 1) throw new Unauthenticated('multiple base64.bearer.authorization tokens specified')
      const token = offered[0] === undefined ? '' : decodedToken(offered[0].slice(protocolPrefix.length))
      if (token === '') return undefined
      if (protocols.length === 1) throw new Unauthenticated('missing additional subprotocol')
      return required(tokens.authenticateToken(token, credentials.audiences ?? serverAudiences))
    },
  }
}

/** What is left to negotiate with the client once the token is taken out. */
export function webSocketProtocolsWithoutToken(credentials: Pick<Credentials, 'rawHeaders'>): string[] {
  return webSocketProtocols(credentials).filter((protocol) => !protocol.startsWith(protocolPrefix))
}

function webSocketProtocols(credentials: Pick<Credentials, 'rawHeaders'>): string[] {
  return headerValues(credentials, 'sec-websocket-protocol').flatMap((value) => value.split(',').map((protocol) => protocol.trim()))
}

function bearerToken(credentials: Credentials): string | undefined {
  const header = headerValue(credentials, 'authorization').trim()
  if (header === '') return undefined
  const space = header.indexOf(' ')
  if (space < 0 || header.slice(0, space).toLowerCase() !== 'bearer') return undefined
  const end = header.indexOf(' ', space + 1)
  const token = end < 0 ? header.slice(space + 1) : header.slice(space + 1, end)
  if (token !== '') return token
  if (end >= 0) credentials.warn?.('the provided Authorization header contains extra space before the bearer token, and is ignored')
  return undefined
}

function decodedToken(encoded: string): string {
  if (!/^[A-Za-z0-9_-]*$/.test(encoded) || encoded.length % 4 === 1) {
    throw new Unauthenticated('invalid base64.bearer.authorization token encoding')
  }
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(Buffer.from(encoded, 'base64url'))
  } catch {
    throw new Unauthenticated('invalid base64.bearer.authorization token')
  }
}

function required(outcome: AuthOutcome | Promise<AuthOutcome>): AuthOutcome | Promise<AuthOutcome> {
  if (outcome instanceof Promise) return outcome.then(mustBeKnown)
  return mustBeKnown(outcome)
}

function mustBeKnown(outcome: AuthOutcome): AuthOutcome {
  if (outcome === undefined) throw new Unauthenticated('invalid bearer token')
  return outcome
}
