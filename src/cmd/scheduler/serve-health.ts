import { issueIdentity, newAuthority } from '#apiserver/pki/authority.ts'
import type { Clock } from '#base/clock.ts'
import { type HttpListener, listenHttp } from '#base/http-server.ts'
import { thisMachine } from '#base/machine.ts'
import type { Metrics } from '#base/metrics.ts'
import type { Random } from '#base/random.ts'

/** Health and metrics over TLS, with a certificate made for this run: as upstream does where it is given none. */
export function serveHealth(options: {
  host: string
  port: number
  metrics: Metrics
  clock: Clock
  random: Random
}): Promise<HttpListener> {
  const { host, port, metrics, clock, random } = options
  const { authority } = newAuthority('ca', clock.now(), random)
  const identity = {
    name: 'scheduler-serving',
    signer: 'ca' as const,
    subject: { commonName: 'kube-scheduler' },
    usages: ['serverAuth' as const],
    subjectAltNames: { dnsNames: ['localhost', thisMachine().hostname], ipAddresses: ['127.0.0.1', '::1'] },
  }
  const { certificatePem, privateKeyPem } = issueIdentity(identity, authority, clock.now(), random)
  return listenHttp({
    host,
    port,
    tls: { cert: certificatePem, key: privateKeyPem },
    onExchange(exchange) {
      const [path] = exchange.target.split('?')
      const plain = { 'content-type': 'text/plain; charset=utf-8' }
      if (path === '/healthz' || path === '/livez' || path === '/readyz') exchange.respond(200, plain, 'ok')
      else if (path === '/metrics') exchange.respond(200, { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' }, metrics.text())
      else exchange.respond(404, plain, '404 page not found\n')
    },
  })
}
