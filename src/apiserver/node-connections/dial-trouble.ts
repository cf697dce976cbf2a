/** Why no answer came, in the words of upstream's dialer. */
import { ConnectTimeout } from '#base/upgrade-client.ts'

const connectTroubles: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connect: connection refused',
  EHOSTUNREACH: 'connect: no route to host',
  ENETUNREACH: 'connect: network is unreachable',
  EADDRNOTAVAIL: 'connect: cannot assign requested address',
  EINVAL: 'connect: invalid argument',
  ETIMEDOUT: 'connect: connection timed out',
}

const certificateTroubles: Readonly<Record<string, string>> = {
  DEPTH_ZERO_SELF_SIGNED_CERT: 'x509: certificate signed by unknown authority',
  SELF_SIGNED_CERT_IN_CHAIN: 'x509: certificate signed by unknown authority',
  UNABLE_TO_GET_ISSUER_CERT: 'x509: certificate signed by unknown authority',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'x509: certificate signed by unknown authority',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'x509: certificate signed by unknown authority',
  CERT_HAS_EXPIRED: 'x509: certificate has expired or is not yet valid',
  CERT_NOT_YET_VALID: 'x509: certificate has expired or is not yet valid',
}

/** `host` is where it was sent: `10.0.0.7:10250`. */
export function dialTrouble(error: unknown, host: string, scheme: 'http' | 'https'): string {
  if (!(error instanceof Error)) return String(error)
  const address = /:\d+$/.test(host) ? host : `${host}:${scheme === 'https' ? 443 : 80}`
  if (error instanceof ConnectTimeout) return `dial tcp ${address}: i/o timeout`
  const code = codeOf(error)
  const connect = connectTroubles[code]
  if (connect !== undefined) return `dial tcp ${address}: ${connect}`
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return `dial tcp: lookup ${address.replace(/:\d+$/, '')}: no such host`
  const certificate = certificateTroubles[code]
  if (certificate !== undefined) return `tls: failed to verify certificate: ${certificate}`
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') {
    return `tls: failed to verify certificate: x509: ${wrongName(error as NameMismatch, address.replace(/:\d+$/, ''))}`
  }
  if (code === 'ERR_SSL_WRONG_VERSION_NUMBER' || code === 'EPROTO') return 'tls: first record does not look like a TLS handshake'
  if (code === 'ECONNRESET') return error.message === 'socket hang up' ? 'EOF' : `read tcp ${address}: read: connection reset by peer`
  if (code === 'ABORT_ERR') return 'context canceled'
  return error.message
}

type NameMismatch = Error & { host?: string; cert?: { subjectaltname?: string } }

function wrongName({ host, cert }: NameMismatch, address: string): string {
  const wanted = host ?? address
  const names = (cert?.subjectaltname ?? '').split(', ').filter((name) => name !== '')
  if (names.length === 0) return `certificate is not valid for any names, but wanted to match ${wanted}`
  const isAddress = /^[\d.]+$|:/.test(wanted)
  const alike = names.filter((name) => name.startsWith(isAddress ? 'IP Address:' : 'DNS:')).map((name) => name.slice(name.indexOf(':') + 1))
  if (alike.length > 0) return `certificate is valid for ${alike.join(', ')}, not ${wanted}`
  if (isAddress) return `cannot validate certificate for ${wanted} because it doesn't contain any IP SANs`
  return `certificate is not valid for any names, but wanted to match ${wanted}`
}

/** Node tries several addresses of a name, and gathers what went wrong with each. */
function codeOf(error: Error): string {
  const first = error instanceof AggregateError ? (error.errors[0] as unknown) : error
  return first instanceof Error && 'code' in first ? String(first.code) : ''
}
