import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { generateKeyPairSync, X509Certificate } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { encodePem } from '#wire/pem.ts'
import { type CertificateContent, encodedSubject, issueCertificate, keyIdentifier } from '#wire/x509/certificate.ts'
import { certificateIdentifier } from '#wire/x509/client-certificate.ts'
import { attributeTypes } from '#wire/x509/distinguished-name.ts'
import { ipAddressOctets, isIpAddress } from '#wire/x509/ip-address.ts'
import { readCertificate } from '#wire/x509/read-certificate.ts'

const directory = mkdtempSync(join(tmpdir(), 'x509-'))
after(() => rmSync(directory, { recursive: true }))

const hasOpenssl = spawnSync('openssl', ['version']).status === 0
const notBeforeMs = Date.parse('2026-01-01T00:00:00Z')
const notAfterMs = Date.parse('2052-01-01T00:00:00Z')

function keysOf(type: string) {
  if (type === 'rsa') return generateKeyPairSync('rsa', { modulusLength: 2048 })
  if (type === 'ed25519') return generateKeyPairSync('ed25519')
  return generateKeyPairSync('ec', { namedCurve: type })
}

function issue(type: string, content: Partial<CertificateContent> = {}) {
  const authority = keysOf(type)
  const subject = encodedSubject({ commonName: 'kubernetes' })
  const signer = { subject, privateKey: authority.privateKey, keyId: keyIdentifier(authority.publicKey) }
  const serialNumber = Uint8Array.of(0xff, 1, 2, 3)
  const ca = issueCertificate(
    { serialNumber, subject, publicKey: authority.publicKey, notBeforeMs, notAfterMs, isCa: true, keyUsages: ['keyCertSign'] },
    signer,
  )
  const keys = keysOf('P-256')
  const leaf = issueCertificate(
    {
      serialNumber,
      subject: { commonName: 'jane', organizations: ['devs', 'ops'] },
      publicKey: keys.publicKey,
      notBeforeMs,
      notAfterMs,
      keyUsages: ['digitalSignature'],
      extendedKeyUsages: ['clientAuth'],
      ...content,
    },
    signer,
  )
  return { ca, leaf }
}

for (const type of ['P-256', 'P-384', 'P-521', 'rsa', 'ed25519']) {
  test(`a certificate signed by a ${type} authority verifies, in Node and in openssl`, () => {
    const { ca, leaf } = issue(type)
    const authority = new X509Certificate(ca)
    const certificate = new X509Certificate(leaf)
    assert.equal(authority.ca, true)
    assert.equal(certificate.ca, false)
    assert.ok(certificate.checkIssued(authority))
    assert.ok(certificate.verify(authority.publicKey))
    assert.equal(certificate.serialNumber, '7F010203')
    assert.deepEqual(certificate.keyUsage, ['1.3.6.1.5.5.7.3.2'])
    if (!hasOpenssl) return
    writeFileSync(join(directory, 'ca.pem'), encodePem('CERTIFICATE', ca))
    writeFileSync(join(directory, 'leaf.pem'), encodePem('CERTIFICATE', leaf))
    const purpose = ['-x509_strict', '-purpose', 'sslclient', '-attime', String(notBeforeMs / 1000 + 1)]
    const result = spawnSync('openssl', ['verify', ...purpose, '-CAfile', join(directory, 'ca.pem'), join(directory, 'leaf.pem')])
    assert.equal(result.status, 0, String(result.stderr))
  })
}

test('subject alternative names come out as they went in', () => {
  const { leaf } = issue('P-256', {
    subjectAltNames: {
      dnsNames: ['kubernetes', 'kubernetes.default.svc'],
      ipAddresses: ['127.0.0.1', '::1', 'fd00:10::ffff:1.2.3.4'],
      uris: ['spiffe://x/y'],
      emailAddresses: ['a@b.c'],
    },
  })
  const { dnsNames, ipAddresses } = readCertificate(leaf)
  assert.deepEqual(dnsNames, ['kubernetes', 'kubernetes.default.svc'])
  assert.deepEqual(ipAddresses, ['127.0.0.1', '0:0:0:0:0:0:0:1', 'fd00:10:0:0:0:ffff:102:304'])
  assert.equal(
    new X509Certificate(leaf).subjectAltName,
    'DNS:kubernetes, DNS:kubernetes.default.svc, email:a@b.c, IP Address:127.0.0.1, IP Address:0:0:0:0:0:0:0:1, ' +
      'IP Address:FD00:10:0:0:0:FFFF:102:304, URI:spiffe://x/y',
  )
})

test('reading a certificate gives what was written', () => {
  const { ca, leaf } = issue('P-256', { subject: { commonName: 'jänner', organizations: ['b', 'a'], uid: 'u-1' } })
  const fields = readCertificate(leaf)
  const authority = readCertificate(ca)
  assert.deepEqual([fields.subject.commonName, fields.subject.organization], ['jänner', ['a', 'b']])
  assert.deepEqual(fields.subject.attributes.at(-1), { type: attributeTypes.kubernetesUid, value: 'u-1' })
  assert.equal(fields.serialNumber, 0x7f010203n)
  assert.deepEqual([fields.notBeforeMs, fields.notAfterMs], [notBeforeMs, notAfterMs])
  assert.deepEqual(fields.extendedKeyUsages, ['1.3.6.1.5.5.7.3.2'])
  assert.equal(fields.isCa, false)
  assert.equal(authority.isCa, true)
  assert.deepEqual(fields.authorityKeyId, authority.subjectKeyId)
  assert.deepEqual(fields.issuer, authority.encodedSubject)
})

test('IP addresses are told from other text', () => {
  const octets: [string, number[]][] = [
    ['10.96.0.1', [10, 96, 0, 1]],
    ['::', new Array(16).fill(0)],
    ['1:2:3:4:5:6:7:8', [0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0, 7, 0, 8]],
    ['fe80::1', [0xfe, 0x80, ...new Array(13).fill(0), 1]],
  ]
  for (const [text, expected] of octets) assert.deepEqual([...ipAddressOctets(text)], expected, text)
  for (const text of [
    '',
    'localhost',
    '1.2.3',
    '1.2.3.256',
    '1:2',
    ':::',
    '1::2::3',
    '::1.2.3',
    '1.2.3.4::',
    '12345::',
    '1:2:3:4:5:6:7:8::',
  ]) {
    assert.equal(isIpAddress(text), false, text)
  }
})

test('a serial number is told in decimal, but for one that no authority would give', () => {
  const shown = (serialNumber: Uint8Array) =>
    certificateIdentifier(new X509Certificate(issue('P-256', { serialNumber }).leaf)).split(',')[0]
  assert.equal(shown(Uint8Array.of(1, 2, 3)), 'SN=66051')
  assert.equal(shown(new Uint8Array(20).fill(0x7f)), `SN=${BigInt(`0x${'7f'.repeat(20)}`)}`)
  assert.equal(shown(new Uint8Array(90_000).fill(0x7f)), 'SN=too long to be shown')
})
