/** The certificate that webhooks are served with, and its authority: kept in a secret, shared by all replicas, renewed in time. */
import { X509Certificate } from 'node:crypto'
import { Secret } from '#api/core/v1/kinds.gen.ts'
import type { V1Secret } from '#api/core/v1/types.gen.ts'
import { ignoreNotFound, isAlreadyExists, isConflict } from '#api/meta/server-response.ts'
import { type Authority, issueIdentity, newAuthority, pemOf, readAuthority, renewedAuthority } from '#apiserver/pki/authority.ts'
import type { Clock, Timer } from '#base/clock.ts'
import type { Logger } from '#base/log.ts'
import type { Random } from '#base/random.ts'
import type { Client } from '#client/client.ts'
import { Informer } from '#client/informer/informer.ts'

export type WebhookCertificate = {
  readonly cert: string
  readonly key: string
  /** In base64, for `caBundle`. */
  readonly caBundle: string
  readonly renewAtMs: number
}

export type WebhookCertificatesOptions = {
  client: Client
  secret: { namespace: string; name: string }
  dnsNames: readonly string[]
  ipAddresses: readonly string[]
  /** Called with each certificate after the first. */
  onRenewed(certificate: WebhookCertificate): Promise<void>
  clock: Clock
  random: Random
  logger: Logger
}

const retryMs = 60_000

/**
 * Resolves with the certificate that is good now. Until disposed it is renewed when a third of its life is left, and what another
 * replica or anybody else puts into the secret is taken up at once.
 */
export async function keepWebhookCertificates(options: WebhookCertificatesOptions): Promise<Disposable & { first: WebhookCertificate }> {
  const { clock, logger, onRenewed, client, random, secret } = options
  let isOver = false
  let timer: Timer | undefined
  let looking = Promise.resolve()
  const first = await currentCertificate(options)
  let current = first
  const wait = (delayMs: number) => {
    timer?.cancel()
    if (!isOver) timer = clock.after(delayMs, look)
  }
  const renew = async () => {
    if (isOver) return
    try {
      const next = await currentCertificate(options)
      if (!isSame(next, current)) await onRenewed(next)
      current = next
      wait(next.renewAtMs - clock.now())
    } catch (error) {
      logger.error('failed to renew the certificate of webhooks, retrying', {
        error: error instanceof Error ? error.message : String(error),
      })
      wait(retryMs)
    }
  }
  // One after the other: it may be time while somebody else has just written.
  const look = () => {
    looking = looking.then(renew)
  }
  const lookAt = (object: V1Secret) => {
    const kept = readKept(object)
    if (kept === undefined || !isSame(kept.certificate, current)) look()
  }
  const watched = { namespace: secret.namespace, fieldSelector: `metadata.name=${secret.name}` }
  const informer = new Informer({ client, kind: Secret, clock, random, logger, ...watched })
  informer.addHandler({ onAdd: lookAt, onUpdate: lookAt, onDelete: look })
  informer.start()
  wait(first.renewAtMs - clock.now())
  return {
    first,
    [Symbol.dispose]() {
      isOver = true
      informer.stop()
      timer?.cancel()
    },
  }
}

const isSame = (one: WebhookCertificate, other: WebhookCertificate): boolean =>
  one.cert === other.cert && one.key === other.key && one.caBundle === other.caBundle

/** What the secret holds, or what is put there in its place. Of several replicas that find it wanting one writes, and all take that. */
async function currentCertificate(options: WebhookCertificatesOptions): Promise<WebhookCertificate> {
  const { client, secret: place } = options
  for (;;) {
    const secret = await client.get(Secret, place.namespace, place.name).catch(ignoreNotFound)
    const kept = secret && readKept(secret)
    if (kept !== undefined && isGood(kept, options)) return kept.certificate
    const { certificate, data } = issued(kept?.authority, options)
    try {
      if (secret === undefined) await client.create(Secret, { metadata: place, type: 'kubernetes.io/tls', data })
      else await client.update(Secret, { ...secret, data: { ...secret.data, ...data } })
      return certificate
    } catch (error) {
      if (!isAlreadyExists(error) && !isConflict(error)) throw error
    }
  }
}

type Kept = { certificate: WebhookCertificate; authority: Authority }

/** Undefined where it is not what we wrote: then it is written anew. */
function readKept({ data = {} }: V1Secret): Kept | undefined {
  const text = (name: string) => Buffer.from(data[name] ?? '', 'base64').toString('utf8')
  try {
    const authority = readAuthority('ca', text('ca.crt'), text('ca.key'))
    const served = new X509Certificate(text('tls.crt'))
    if (!served.verify(authority.certificate.publicKey)) return undefined
    const fromMs = Date.parse(served.validFrom)
    const renewAtMs = renewalOf(fromMs, Date.parse(served.validTo))
    return { authority, certificate: { cert: text('tls.crt'), key: text('tls.key'), caBundle: data['ca.crt'] ?? '', renewAtMs } }
  } catch {
    return undefined
  }
}

function isGood({ certificate, authority }: Kept, { clock, dnsNames, ipAddresses }: WebhookCertificatesOptions): boolean {
  const served = new X509Certificate(certificate.cert)
  const coversNames = dnsNames.every((name) => served.checkHost(name)) && ipAddresses.every((address) => served.checkIP(address))
  return coversNames && clock.now() < certificate.renewAtMs && clock.now() < renewalOf(authority.notBeforeMs, authority.notAfterMs)
}

function issued(old: Authority | undefined, { clock, random, dnsNames, ipAddresses }: WebhookCertificatesOptions) {
  const nowMs = clock.now()
  const { authority, key } = authorityFor(old, nowMs, random)
  const subjectAltNames = { dnsNames: [...dnsNames], ipAddresses: [...ipAddresses] }
  const { certificatePem, privateKeyPem, notBeforeMs, notAfterMs } = issueIdentity(
    { name: 'webhooks', signer: 'ca', subject: { commonName: dnsNames[0] ?? 'webhooks' }, usages: ['serverAuth'], subjectAltNames },
    authority,
    nowMs,
    random,
  )
  const encoded = (pem: string) => Buffer.from(pem).toString('base64')
  const caBundle = encoded(authority.certificatePem)
  const data = { 'ca.crt': caBundle, 'ca.key': encoded(key), 'tls.crt': encoded(certificatePem), 'tls.key': encoded(privateKeyPem) }
  return { data, certificate: { cert: certificatePem, key: privateKeyPem, caBundle, renewAtMs: renewalOf(notBeforeMs, notAfterMs) } }
}

/** An authority that comes of age keeps its key, so that those who trust its old certificate go on. */
function authorityFor(old: Authority | undefined, nowMs: number, random: Random): { authority: Authority; key: string } {
  if (old?.signer === undefined) {
    const { authority, privateKeyPem } = newAuthority('ca', nowMs, random)
    return { authority, key: privateKeyPem }
  }
  const authority = nowMs < renewalOf(old.notBeforeMs, old.notAfterMs) ? old : renewedAuthority(old, nowMs, random)
  return { authority, key: pemOf(old.signer.privateKey) }
}

const renewalOf = (fromMs: number, toMs: number): number => fromMs + ((toMs - fromMs) * 2) / 3
