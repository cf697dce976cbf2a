import assert from 'node:assert/strict'
import { generateKeyPairSync, type KeyObject, X509Certificate } from 'node:crypto'
import { test } from 'node:test'
import { connect, createServer } from 'node:tls'
import { type Credentials, Unauthenticated } from '#apiserver/authn/authenticator.ts'
import { requestHeaderAuthenticator, standardRequestHeaders } from '#apiserver/authn/request-header.ts'
import { x509Authenticator } from '#apiserver/authn/x509.ts'
import { VirtualClock } from '#base/virtual-clock.ts'
import { encode, objectIdentifier, sequence, setOf, tags, utf8String } from '#wire/der.ts'
import { encodePem } from '#wire/pem.ts'
import { type CertificateContent, encodedSubject, issueCertificate, keyIdentifier } from '#wire/x509/certificate.ts'

const start = Date.parse('2026-01-01T00:00:00Z')
const dayMs = 24 * 3600 * 1000

type Authority = { subject: Uint8Array; privateKey: KeyObject; keyId: Uint8Array; certificate: X509Certificate }

function authority(commonName: string, signer?: Authority, content: Partial<CertificateContent> = {}): Authority {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const subject = encodedSubject({ commonName })
  const own = { subject, privateKey, keyId: keyIdentifier(publicKey) }
  const der = issueCertificate(
    {
      serialNumber: Uint8Array.of(1),
      subject,
      publicKey,
      notBeforeMs: start,
      notAfterMs: start + 1000 * dayMs,
      isCa: true,
      keyUsages: ['keyCertSign'],
      ...content,
    },
    signer ?? own,
  )
  return { ...own, certificate: new X509Certificate(der) }
}

function client(
  signer: Authority,
  content: Partial<CertificateContent> = {},
): { der: Uint8Array; certificate: X509Certificate; privateKey: KeyObject } {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const der = issueCertificate(
    {
      serialNumber: Uint8Array.of(7),
      subject: { commonName: 'jane', organizations: ['devs', 'ops'] },
      publicKey,
      notBeforeMs: start,
      notAfterMs: start + 365 * dayMs,
      keyUsages: ['digitalSignature'],
      extendedKeyUsages: ['clientAuth'],
      ...content,
    },
    signer,
  )
  return { der, certificate: new X509Certificate(der), privateKey }
}

const credentials = (clientCertificate?: X509Certificate, rawHeaders: string[] = []): Credentials => ({
  headers: Object.fromEntries(rawHeaders.flatMap((name, index) => (index % 2 === 0 ? [[name.toLowerCase(), rawHeaders[index + 1]]] : []))),
  rawHeaders,
  path: '/',
  remoteAddress: '127.0.0.1',
  clientCertificate,
})

const ca = authority('kubernetes')
const anchors = [ca.certificate]
const authenticator = (clock = new VirtualClock(start + dayMs)) => x509Authenticator(() => anchors, clock)

test('the common name is the user, organizations are the groups, and the fingerprint tells the credential', () => {
  const { certificate } = client(ca)
  const result = authenticator().authenticate(credentials(certificate))
  assert.ok(result !== undefined && !(result instanceof Promise))
  const { extra, ...user } = result.user
  assert.deepEqual(user, { name: 'jane', uid: undefined, groups: ['ops', 'devs'] })
  const fingerprint = certificate.fingerprint256.replaceAll(':', '').toLowerCase()
  assert.deepEqual(extra, { 'authentication.kubernetes.io/credential-id': [`X509SHA256=${fingerprint}`] })
})

test('without a certificate, without a common name, or without an authority to ask there is no opinion', () => {
  assert.equal(authenticator().authenticate(credentials()), undefined)
  assert.equal(
    authenticator().authenticate(credentials(client(ca, { subject: { organizations: ['system:masters'] } }).certificate)),
    undefined,
  )
  assert.equal(x509Authenticator(() => [], new VirtualClock(start)).authenticate(credentials(client(ca).certificate)), undefined)
})

test('a certificate of an intermediate authority is not believed when that is not sent along', () => {
  const middle = authority('middle', ca)
  assert.throws(() => authenticator().authenticate(credentials(client(middle).certificate)), /signed by unknown authority/)
})

const tampered = (() => {
  const der = Uint8Array.from(client(ca).der)
  const name = Buffer.from(der).indexOf('jane')
  der.set(Buffer.from('joan'), name)
  return new X509Certificate(der)
})()

const refused: [string, X509Certificate, RegExp][] = [
  [
    'expired',
    client(ca, { notAfterMs: start + dayMs / 2 }).certificate,
    /has expired or is not yet valid: current time 2026-01-02T00:00:00Z is after 2026-01-01T12:00:00Z/,
  ],
  [
    'not yet valid',
    client(ca, { notBeforeMs: start + 2 * dayMs }).certificate,
    /current time 2026-01-02T00:00:00Z is before 2026-01-03T00:00:00Z/,
  ],
  ['of another authority', client(authority('other')).certificate, /signed by unknown authority/],
  ['of another authority of the same name', client(authority('kubernetes')).certificate, /signed by unknown authority/],
  ['tampered with', tampered, /signed by unknown authority/],
  ['for servers only', client(ca, { extendedKeyUsages: ['serverAuth'] }).certificate, /incompatible key usage/],
  ['signed with itself', authority('jane').certificate, /signed by unknown authority/],
  ['with two uids', client(ca, { subject: subjectWithUids('a', 'b') }).certificate, /expected 1 UID, but found multiple: \[a b\]/],
  ['with an empty uid', client(ca, { subject: subjectWithUids('') }).certificate, /UID cannot be an empty string/],
]
for (const [what, certificate, message] of refused) {
  test(`a certificate that is ${what} is refused`, () => {
    assert.throws(
      () => authenticator().authenticate(credentials(certificate)),
      (error) => error instanceof Unauthenticated && message.test(error.message),
    )
  })
}

function subjectWithUids(...uids: string[]): Uint8Array {
  const attribute = (type: string, value: string) => setOf([sequence(objectIdentifier(type), utf8String(value))])
  return encode(tags.sequence, attribute('2.5.4.3', 'jane'), ...uids.map((uid) => attribute('1.3.6.1.4.1.57683.2', uid)))
}

test("one uid in the subject is the user's uid", () => {
  const result = authenticator().authenticate(credentials(client(ca, { subject: { commonName: 'jane', uid: 'u-1' } }).certificate))
  assert.ok(result !== undefined && !(result instanceof Promise))
  assert.equal(result.user.uid, 'u-1')
})

test('a certificate issued by an ordinary client of ours is refused', () => {
  const leaf = client(ca)
  const signer = {
    subject: encodedSubject({ commonName: 'jane', organizations: ['devs', 'ops'] }),
    privateKey: leaf.privateKey,
    keyId: Uint8Array.of(1),
  }
  const forged = client(
    { ...signer, certificate: leaf.certificate },
    { subject: { commonName: 'root', organizations: ['system:masters'] } },
  )
  assert.throws(() => authenticator().authenticate(credentials(forged.certificate)), /signed by unknown authority/)
})

test('what was found is remembered for the certificate, until its time or the authorities change', async () => {
  const clock = new VirtualClock(start + dayMs)
  const other = [authority('other').certificate]
  let current: readonly X509Certificate[] = anchors
  const remembering = x509Authenticator(() => current, clock)
  const { certificate } = client(ca, { notAfterMs: start + 3 * dayMs })
  const first = remembering.authenticate(credentials(certificate))
  assert.equal(remembering.authenticate(credentials(certificate)), first, 'the very same object')
  current = other
  assert.throws(() => remembering.authenticate(credentials(certificate)), /unknown authority/)
  current = anchors
  await clock.advance({ days: 3 })
  assert.throws(() => remembering.authenticate(credentials(certificate)), /has expired/)
})

test('over a real connection the chain that the client sends is followed, and a foreign one is not', async (t) => {
  const clock = new VirtualClock(Date.now())
  const now = { notBeforeMs: Date.now() - dayMs, notAfterMs: Date.now() + dayMs }
  const root = authority('root', undefined, now)
  const middle = authority('middle', root, now)
  const authorities = [root.certificate]
  const serving = client(root, { ...now, extendedKeyUsages: ['serverAuth'], subjectAltNames: { dnsNames: ['localhost'] } })
  const jane = client(middle, now)
  const mallory = client(authority('middle', authority('root', undefined, now), now), now)
  const outcomes: (string | undefined)[] = []
  const server = createServer(
    {
      cert: encodePem('CERTIFICATE', serving.der),
      key: serving.privateKey.export({ format: 'pem', type: 'pkcs8' }),
      ca: encodePem('CERTIFICATE', root.certificate.raw),
      requestCert: true,
      rejectUnauthorized: false,
    },
    async (socket) => {
      try {
        const outcome = await x509Authenticator(() => authorities, clock).authenticate(credentials(socket.getPeerX509Certificate()))
        outcomes.push(outcome?.user.name)
      } catch (error) {
        outcomes.push(String(error))
      }
      socket.end()
    },
  )
  t.after(() => server.close())
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  for (const one of [jane, mallory]) {
    const socket = connect({
      port,
      host: '127.0.0.1',
      servername: 'localhost',
      ca: encodePem('CERTIFICATE', root.certificate.raw),
      cert: encodePem('CERTIFICATE', one.der) + encodePem('CERTIFICATE', middle.certificate.raw),
      key: one.privateKey.export({ format: 'pem', type: 'pkcs8' }),
    })
    for await (const _ of socket);
  }
  assert.equal(outcomes[0], 'jane')
  assert.match(outcomes[1] ?? '', /signed by unknown authority/)
})

const proxyCa = authority('front-proxy-ca')
const proxyAnchors = [proxyCa.certificate]
const proxy = client(proxyCa, { subject: { commonName: 'front-proxy-client' } }).certificate
const requestHeader = requestHeaderAuthenticator({
  anchors: () => proxyAnchors,
  clock: new VirtualClock(start + dayMs),
  allowedNames: ['front-proxy-client'],
  ...standardRequestHeaders,
})
const remote = [
  'X-Remote-User',
  'jane',
  'X-Remote-Group',
  'a, b',
  'X-Remote-Group',
  'c',
  'X-Remote-Uid',
  'u',
  'X-Remote-Extra-Scopes%2Fx',
  's1',
  'x-remote-extra-scopes%2fx',
  's2',
]

test('the front proxy is believed: name, uid, each group header, extra keys decoded', () => {
  assert.deepEqual(requestHeader.authenticate(credentials(proxy, remote)), {
    user: { name: 'jane', uid: 'u', groups: ['a, b', 'c'], extra: { 'scopes/x': ['s1', 's2'] } },
  })
  assert.equal(requestHeader.authenticate(credentials(proxy, ['X-Remote-Group', 'system:masters'])), undefined)
})

const forged: [string, X509Certificate | undefined, RegExp | undefined][] = [
  ['without a certificate', undefined, undefined],
  ['with an ordinary client certificate', client(ca).certificate, /unknown authority/],
  [
    'with an expired proxy certificate',
    client(proxyCa, { subject: { commonName: 'front-proxy-client' }, notAfterMs: start + 1000 }).certificate,
    /has expired/,
  ],
  [
    'with another name of the proxy authority',
    client(proxyCa, { subject: { commonName: 'mallory' } }).certificate,
    /subject with cn=mallory is not in the allowed list/,
  ],
]
for (const [what, certificate, message] of forged) {
  test(`headers ${what} are not believed`, () => {
    const headers = ['X-Remote-User', 'root', 'X-Remote-Group', 'system:masters']
    if (message === undefined) assert.equal(requestHeader.authenticate(credentials(certificate, headers)), undefined)
    else assert.throws(() => requestHeader.authenticate(credentials(certificate, headers)), message)
  })
}
