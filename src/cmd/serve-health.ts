import { HealthcheckMetrics } from '#apiserver/health/healthcheck-metrics.ts'
import { issueIdentity, newAuthority } from '#apiserver/pki/authority.ts'
import type { Clock } from '#base/clock.ts'
import { defined } from '#base/defined.ts'
import { type HttpListener, listenHttp } from '#base/http-server.ts'
import { thisMachine, thisProcess } from '#base/machine.ts'
import type { Metrics } from '#base/metrics.ts'
import type { Random } from '#base/random.ts'

export type HealthOptions = {
  /** Upstream's name of the program: `kube-scheduler`. */
  component: string
  host: string
  port: number
  metrics: Metrics
  clock: Clock
  random: Random
  /** PEM. Absent: a certificate made for this run, as upstream does where it is given none. */
  tls?: { cert: string; key: string } | 'none'
  /** By name, why the process is not well; undefined where it is. */
  checks?: Checks
  /** What is asked of /readyz beside these. */
  readyChecks?: Checks
}

type Checks = Readonly<Record<string, () => string | undefined>>

/** Health and metrics of a process that serves nothing else, over TLS unless said. */
export function serveHealth({
  host,
  port,
  metrics,
  checks: ofAll = {},
  readyChecks = {},
  ...options
}: HealthOptions): Promise<HttpListener> {
  const healthchecks = new HealthcheckMetrics(thisProcess.startedMs)
  return listenHttp({
    host,
    port,
    ...defined({ tls: options.tls === 'none' ? undefined : (options.tls ?? ownCertificate(options)) }),
    onExchange(exchange) {
      const [path = '', query = ''] = exchange.target.split('?')
      const [, probe = '', one = ''] = path.split('/')
      const checks = probe === 'readyz' ? { ...ofAll, ...readyChecks } : ofAll
      if (path === '/metrics') exchange.respond(200, { 'content-type': metricsType }, metrics.text())
      else if (path === '/metrics/slis') exchange.respond(200, { 'content-type': metricsType }, healthchecks.text())
      else if (!probes.has(probe) || (one !== '' && one !== 'ping' && checks[one] === undefined)) {
        exchange.respond(404, plain, '404 page not found\n')
      } else {
        const asked =
          one === '' ? checks : one === 'ping' ? {} : Object.fromEntries(Object.entries(checks).filter(([name]) => name === one))
        const { isWell, text } = evaluation(probe, asked, healthchecks)
        const isVerbose = new URLSearchParams(query).has('verbose') && one === ''
        exchange.respond(isWell ? 200 : 500, plain, isWell && !isVerbose ? 'ok' : text)
      }
    },
  })
}

const metricsType = 'text/plain; version=0.0.4; charset=utf-8'
const plain = { 'content-type': 'text/plain; charset=utf-8', 'x-content-type-options': 'nosniff' }
const probes: ReadonlySet<string> = new Set(['healthz', 'livez', 'readyz'])

function evaluation(probe: string, checks: Checks, healthchecks: HealthcheckMetrics): { isWell: boolean; text: string } {
  let isWell = true
  healthchecks.observe('ping', probe, true)
  let text = '[+]ping ok\n'
  for (const [name, check] of Object.entries(checks)) {
    const isFine = check() === undefined
    isWell &&= isFine
    healthchecks.observe(name, probe, isFine)
    // Why is for the log: whoever asks here may be anybody.
    text += isFine ? `[+]${name} ok\n` : `[-]${name} failed: reason withheld\n`
  }
  return { isWell, text: `${text}${probe} check ${isWell ? 'passed' : 'failed'}\n` }
}

function ownCertificate({ component, clock, random }: Pick<HealthOptions, 'component' | 'clock' | 'random'>): {
  cert: string
  key: string
} {
  const { authority } = newAuthority('ca', clock.now(), random)
  const identity = {
    name: `${component}-serving`,
    signer: 'ca' as const,
    subject: { commonName: component },
    usages: ['serverAuth' as const],
    subjectAltNames: { dnsNames: ['localhost', thisMachine().hostname], ipAddresses: ['127.0.0.1', '::1'] },
  }
  const { certificatePem, privateKeyPem } = issueIdentity(identity, authority, clock.now(), random)
  return { cert: certificatePem, key: privateKeyPem }
}
